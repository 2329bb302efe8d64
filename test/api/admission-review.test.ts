import { describe, expect, test } from "vitest";
import { parseAdmissionReview } from "../../src/api/admission-review.ts";

const request = {
  uid: "r1",
  operation: "CREATE",
  resource: { resource: "ownedaccesskeys" },
  userInfo: { username: "alice" },
  dryRun: true,
  object: { spec: {} },
  oldObject: null,
};
const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };

test("parses a create", () => {
  const user = { username: "alice", uid: "", groups: [], extra: {} };
  expect(parseAdmissionReview(review)).toEqual({
    uid: "r1",
    user,
    isDryRun: true,
    namespace: "",
    object: { spec: {} },
    oldObject: undefined,
  });
});

test("parses the user, including extras", () => {
  const userInfo = {
    username: "alice",
    uid: "u",
    groups: ["devs"],
    extra: { "example.com/a": ["b"] },
  };
  expect(
    parseAdmissionReview({
      ...review,
      request: { ...request, userInfo, namespace: "ns", dryRun: false },
    }),
  ).toMatchObject({ user: userInfo, namespace: "ns", isDryRun: false });
});

test("parses an update with the stored object", () => {
  expect(
    parseAdmissionReview({
      ...review,
      request: { ...request, operation: "UPDATE", oldObject: { spec: { ttl: 1 } } },
    }),
  ).toMatchObject({ oldObject: { spec: { ttl: 1 } } });
});

describe("returns undefined for", () => {
  test.each<[string, unknown]>([
    ["another version", { ...review, apiVersion: "admission.k8s.io/v1beta1" }],
    ["another kind", { ...review, kind: "TokenReview" }],
    ["a delete", { ...review, request: { ...request, operation: "DELETE" } }],
    ["a request without an object", { ...review, request: { ...request, object: null } }],
    ["a request without a uid", { ...review, request: { ...request, uid: undefined } }],
    ["no input", undefined],
  ])("%s", (_what, raw) => {
    expect(parseAdmissionReview(raw)).toBeUndefined();
  });
});
