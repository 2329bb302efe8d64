import { describe, expect, test } from "vitest";
import { parseAccessReview, soleExtra } from "../../src/api/access-review.ts";

const review = (spec: object): object => ({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  spec,
});

describe("parseAccessReview", () => {
  test("returns resource attributes, with empty strings for absent fields", () => {
    const resourceAttributes = {
      verb: "get",
      group: "apps",
      resource: "deployments",
      subresource: "scale",
      namespace: "web",
      name: "a",
    };
    expect(parseAccessReview(review({ resourceAttributes, extra: { a: ["b"] } }))).toEqual({
      extra: { a: ["b"] },
      request: { kind: "resource", ...resourceAttributes },
    });
    expect(parseAccessReview(review({ resourceAttributes: {} }))?.request).toEqual({
      kind: "resource",
      verb: "",
      group: "",
      resource: "",
      subresource: "",
      namespace: "",
      name: "",
    });
  });

  test("returns non-resource attributes", () => {
    expect(
      parseAccessReview(review({ nonResourceAttributes: { verb: "get", path: "/healthz" } })),
    ).toEqual({ extra: {}, request: { kind: "path", verb: "get", path: "/healthz" } });
  });

  test.each([
    review({}),
    { ...review({ resourceAttributes: {} }), kind: "TokenReview" },
    { ...review({ resourceAttributes: {} }), apiVersion: "authorization.k8s.io/v1beta1" },
    undefined,
  ])("returns undefined for %j", (raw) => {
    expect(parseAccessReview(raw)).toBeUndefined();
  });
});

test("soleExtra returns a value only if the extra has exactly one", () => {
  const values = [["a"], [], ["a", "b"], undefined, "a"];
  expect(values.map((key) => soleExtra({ extra: { key } }, "key"))).toEqual([
    "a",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
