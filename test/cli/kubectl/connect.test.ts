import { describe, expect, test } from "vitest";
import { warningText } from "../../../src/cli/kubectl/connect.ts";

describe("a warning is the sentence of its policy", () => {
  test.each([
    [
      "Validation failed for ValidatingAdmissionPolicy 'latchkey-warn-scope' with binding 'latchkey-warn-scope': spec.scope: is\nempty",
      "spec.scope: is\nempty (policy latchkey-warn-scope)",
    ],
    ['unknown field "spec.a"', 'unknown field "spec.a"'],
  ])("%j", (text, warning) => {
    expect(warningText(text)).toBe(warning);
  });
});
