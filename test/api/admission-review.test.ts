import { describe, expect, test } from "vitest";
import { parseAdmissionReview } from "../../src/api/admission-review.ts";

const request = { uid: "r1", operation: "CREATE", resource: { resource: "ownedaccesskeys" }, userInfo: { username: "alice" }, dryRun: true, object: { spec: {} }, oldObject: null };
const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };

test("a create is read", () => {
  expect(parseAdmissionReview(review)).toEqual({ uid: "r1", object: { spec: {} }, oldObject: undefined });
});

test("an update is read with what is stored", () => {
  expect(parseAdmissionReview({ ...review, request: { ...request, operation: "UPDATE", oldObject: { spec: { ttl: 1 } } } })).toMatchObject({ oldObject: { spec: { ttl: 1 } } });
});

describe("what cannot be answered is no review", () => {
  test.each<[string, unknown]>([
    ["another version", { ...review, apiVersion: "admission.k8s.io/v1beta1" }],
    ["another kind", { ...review, kind: "TokenReview" }],
    ["a delete", { ...review, request: { ...request, operation: "DELETE" } }],
    ["no object", { ...review, request: { ...request, object: null } }],
    ["no uid", { ...review, request: { ...request, uid: undefined } }],
    ["nothing", undefined],
  ])("%s", (_what, raw) => {
    expect(parseAdmissionReview(raw)).toBeUndefined();
  });
});
