import { describe, expect, test } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { admissionHandler } from "../../src/webhooks/admission.ts";
import { base64Data } from "../../src/webhooks/webhook-routes.ts";
import { posted, anonymousClient, fakeAdmissionContext } from "../support/review-fixture.ts";

const canary = "canary!";

async function admitted(object: object, oldObject?: object): Promise<unknown> {
  const admission = { steps: [base64Data], onResult: () => {} };
  const handler = admissionHandler(admission, fakeAdmissionContext());
  const request = {
    uid: "r1",
    operation: oldObject === undefined ? "CREATE" : "UPDATE",
    userInfo: { username: "alice" },
    object,
    oldObject,
  };
  const { body } = await handler(
    posted({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }),
    anonymousClient,
  );
  expect(body).not.toContain(canary);
  return recordAt(JSON.parse(body), "response");
}

describe("a SharedSecret", () => {
  test.each<[string, object]>([
    ["db", { name: "db" }],
    ["db-", { generateName: "db-" }],
    ["", {}],
  ])(
    "with a value that is not base64 is rejected like by the schema: %s",
    async (name, metadata) => {
      const response = await admitted({
        kind: "SharedSecret",
        metadata,
        spec: { data: { password: canary } },
      });
      const message = expect.stringContaining("must be base64");
      expect(response).toMatchObject({
        allowed: false,
        status: {
          code: 422,
          reason: "Invalid",
          message: expect.stringContaining("spec.data.password: must be base64"),
          details: {
            name,
            group: "management.service",
            kind: "SharedSecret",
            causes: [{ reason: "FieldValueInvalid", field: "spec.data.password", message }],
          },
        },
      });
    },
  );

  test("with only base64 or already stored values is admitted unchanged", async () => {
    expect(await admitted({ spec: { data: { password: "Y2FuYXJ5" } } })).toEqual({
      uid: "r1",
      allowed: true,
    });
    expect(
      await admitted(
        { spec: { data: { password: canary } } },
        { spec: { data: { password: canary } } },
      ),
    ).toEqual({ uid: "r1", allowed: true });
  });
});
