import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dataValueProblem } from "../../../src/domain/shared-secret/data-values.ts";

const canary = "canary!";
const objectWith = (data: unknown): object => ({ spec: { data } });

describe("a value of spec.data", () => {
  test.for<[string, unknown, string]>([
    [
      "in another alphabet",
      { password: canary },
      "spec.data.password must be base64 (RFC 4648 section 4, with padding); encode",
    ],
    [
      "with a line break",
      { password: "Y2FuYXJ5\nY2FuYXJ5" },
      "spec.data.password must be base64 without line breaks",
    ],
    ["as a number", { port: 5432 }, "spec.data.port must be a base64-encoded string; quote it"],
    ["as a list", { hosts: [canary] }, "spec.data.hosts must be a base64-encoded string; quote it"],
    [
      "without padding",
      { a: "QQ==", b: "QQ" },
      "spec.data.b must be base64 (RFC 4648 section 4, with padding)",
    ],
    ["the first by key", { z: canary, a: canary }, "spec.data.a must"],
    ["with one other", { a: canary, b: canary }, "1 more value of spec.data is not base64"],
    [
      "with two others",
      { a: canary, b: canary, c: 5 },
      "2 more values of spec.data are not base64",
    ],
    ["with a long key", { ["k".repeat(300)]: canary }, `spec.data.${"k".repeat(253)} must`],
  ])("is rejected by key, without the value: %s", ([, data, sentence]) => {
    const problem = dataValueProblem(objectWith(data), undefined);
    expect(`${problem?.field} ${problem?.message}`).toContain(sentence);
    expect(JSON.stringify(problem)).not.toContain(canary);
  });

  test.for<[string, unknown, unknown]>([
    ["that is base64", { password: "Y2FuYXJ5" }, undefined],
    ["that is empty", { password: "" }, undefined],
    ["that is already stored", { password: canary }, { password: canary }],
    ["without data", undefined, undefined],
    ["in data that is not an object", canary, undefined],
  ])("is admitted %s", ([, data, stored]) => {
    expect(
      dataValueProblem(objectWith(data), stored === undefined ? undefined : objectWith(stored)),
    ).toBeUndefined();
  });

  test("is checked like in the schema, for any key", () => {
    const schema = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
    const texts = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.string({ unit: fc.constantFrom("A", "b", "+", "/", "=", "\n", "-") }),
    );
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor")),
        texts,
        (key, value) => {
          const data: unknown = JSON.parse(`{${JSON.stringify(key)}: ${JSON.stringify(value)}}`);
          expect(dataValueProblem(objectWith(data), objectWith({})) === undefined).toBe(
            schema.test(value),
          );
        },
      ),
    );
  });
});
