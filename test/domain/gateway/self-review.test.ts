import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../../src/api/access-review.ts";
import {
  acceptsJson,
  deniedReview,
  incompleteRules,
  readReview,
  reviewFormat,
  reviewText,
  selfReviewOf,
  unaskable,
} from "../../../src/domain/gateway/self-review.ts";
import { enveloped, specOf } from "./review-protobuf.ts";

const group = "authorization.k8s.io";
const apiVersion = `${group}/v1`;
const kind = "SelfSubjectAccessReview";
const create: ReviewedRequest = {
  kind: "resource",
  verb: "create",
  group,
  resource: "selfsubjectaccessreviews",
  subresource: "",
  name: "",
  namespace: "",
};
const attributes = { namespace: "web", verb: "get", resource: "pods", version: "v1" };
const asked = { spec: { resourceAttributes: attributes } };
const request: ReviewedRequest = {
  kind: "resource",
  verb: "get",
  group: "",
  resource: "pods",
  subresource: "",
  name: "",
  namespace: "web",
};

describe("a question about own rights", () => {
  it.each<[string, Partial<typeof create>, ReturnType<typeof selfReviewOf>]>([
    ["one request", {}, "access"],
    ["one request, at a path with a name", { name: "x", namespace: "y" }, "access"],
    ["rules", { resource: "selfsubjectrulesreviews" }, "rules"],
    ["nothing, with another verb", { verb: "update" }, undefined],
    ["nothing, below a review", { subresource: "status" }, undefined],
    ["another user", { resource: "subjectaccessreviews" }, undefined],
    ["nothing, in another group", { group: "authorization.openshift.io" }, undefined],
  ])("is about %s", (_what, changes, expected) => {
    expect(selfReviewOf({ ...create, ...changes })).toBe(expected);
  });

  it("is never a path", () => {
    expect(selfReviewOf({ kind: "path", verb: "create", path: "/" })).toBeUndefined();
  });

  it.each([
    [undefined, "json"],
    ["application/json", "json"],
    ["Application/JSON; charset=utf-8", "json"],
    ["application/yaml", "yaml"],
    ["application/vnd.kubernetes.protobuf", "protobuf"],
    ["application/vnd.kubernetes.protobuf;type=review", "protobuf"],
    ["application/cbor", undefined],
    ["text/plain", undefined],
    ["application/json, application/yaml", undefined],
    ["", undefined],
  ])("of the media type %s has the format %s", (type, format) => {
    expect(reviewFormat(type)).toBe(format);
  });

  it.each<[readonly string[], boolean]>([
    [[], true],
    [[""], true],
    [["application/json"], true],
    [["*/*"], true],
    [["application/*;q=0.1"], true],
    [["application/vnd.kubernetes.protobuf,application/json"], true],
    [["application/vnd.kubernetes.protobuf", "application/json"], true],
    [["application/json;as=Table;v=v1;g=meta.k8s.io, application/json"], true],
    [["application/vnd.kubernetes.protobuf"], false],
    [["application/json;as=Table;v=v1;g=meta.k8s.io"], false],
    [["application/json;q=0, application/yaml"], false],
    [["application/json;q=0.00"], false],
    [["text/*"], false],
  ])("with Accept %j gets JSON: %s", (values, expected) => {
    expect(acceptsJson(values)).toBe(expected);
  });

  it.each<[string, unknown, ReviewedRequest]>([
    ["JSON", { apiVersion, kind, metadata: {}, ...asked }, request],
    ["JSON without a kind", asked, request],
    ["protobuf", enveloped({ 2: specOf(attributes) }), request],
    [
      "JSON about a path",
      { spec: { nonResourceAttributes: { verb: "get", path: "/logs" } } },
      { kind: "path", verb: "get", path: "/logs" },
    ],
  ])("is read in %s", (_what, raw, expected) => {
    expect(readReview(raw)).toMatchObject({ kind: "review", request: expected });
  });

  const both = { ...asked.spec, nonResourceAttributes: { verb: "get", path: "/logs" } };
  it.each<[string, unknown, string]>([
    [
      "another kind",
      { ...asked, kind: "SubjectAccessReview" },
      "must be a SelfSubjectAccessReview",
    ],
    ["another version", { ...asked, apiVersion: `${group}/v1beta1` }, `of ${apiVersion}`],
    ["no attributes", { spec: {} }, "either resourceAttributes or nonResourceAttributes"],
    ["no spec", { apiVersion, kind }, "either resourceAttributes or nonResourceAttributes"],
    ["both attributes", { spec: both }, "either resourceAttributes or nonResourceAttributes"],
    ["an unknown field", { ...asked, more: 1 }, "the review has a field that is not known"],
    ["no object", undefined, "the review must be an object"],
    ["another kind in protobuf", enveloped({ 2: specOf(attributes) }, { 1: { 2: "Pod" } }), kind],
  ])("with %s is malformed", (_what, raw, reason) => {
    expect(readReview(raw)).toEqual({ kind: "malformed", reason: expect.stringContaining(reason) });
  });

  it.each([
    ["/api/v1/pods", false],
    ["/apis/apps/v1/deployments", false],
    ["/api/v1/*", false],
    ["/apis/apps/v1", true],
    ["/api/*", true],
    ["/healthz", true],
    ["*", true],
  ])("about the path %s can be asked: %s", (path, expected) => {
    const reason = unaskable({ kind: "path", verb: "get", path });
    expect(reason === undefined).toBe(expected);
  });

  const review = readReview({ apiVersion, kind, metadata: { name: "x" }, ...asked });
  if (review.kind === "malformed") throw new Error(review.reason);

  it("is sent on as what was read, in the namespace of the request itself", () => {
    expect(JSON.parse(reviewText(review, { ...request, namespace: "" }))).toEqual({
      apiVersion,
      kind,
      metadata: {},
      spec: { resourceAttributes: { ...attributes, namespace: "" } },
    });
  });

  it("is denied with the question and the reason", () => {
    expect(JSON.parse(deniedReview(review, "why"))).toEqual({
      apiVersion,
      kind,
      metadata: {},
      ...asked,
      status: { allowed: false, denied: true, reason: "why" },
    });
  });
});

describe("rules of the API server", () => {
  const rules = { apiVersion, kind: "SelfSubjectRulesReview", metadata: {}, spec: {} };
  const resourceRules = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }];
  const ofStatus = (status: object) => incompleteRules(JSON.stringify({ ...rules, status }));
  const why = "the credential narrows these rules";

  it.each([
    ["without an error", {}, why],
    ["with an error of its own", { evaluationError: "one", incomplete: true }, `one; ${why}`],
  ])("%s are incomplete", (_what, status, reason) => {
    expect(JSON.parse(ofStatus({ resourceRules, incomplete: false, ...status }) ?? "")).toEqual({
      ...rules,
      status: { resourceRules, incomplete: true, evaluationError: expect.stringContaining(reason) },
    });
  });

  it.each([
    ["no JSON", "<html>"],
    ["null", "null"],
    ["another kind", JSON.stringify({ ...rules, kind: "Status" })],
    ["too many values", JSON.stringify({ ...rules, status: { more: Array(100_001).fill(0) } })],
    ["too long", JSON.stringify({ ...rules, status: { more: "x".repeat(2 ** 20) } })],
    ["too many levels", `{"a":${"[".repeat(20)}${"]".repeat(20)}}`],
  ])("are not %s", (_what, text) => {
    expect(incompleteRules(text)).toBeUndefined();
  });
});
