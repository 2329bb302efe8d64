import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { bodyForUser } from "../../src/kube/responses.ts";
import { warningsIn } from "../../src/kube/user-connection.ts";

describe("the warnings of an answer", () => {
  test.each([
    [undefined, []],
    ['299 - "one \\"quoted\\""', ['one "quoted"']],
    ['299 - "one", 299 kube "two, three"', ["one", "two, three"]],
    [
      ['299 - "one"', '299 - "two"'],
      ["one", "two"],
    ],
    ["garbage", []],
  ])("%j", (header, texts) => {
    expect(warningsIn(header)).toEqual(texts);
  });
});

test("a user gets the message for a patch, without what the patch had", () => {
  const message = "the value s3cret-value is refused";
  const call = {
    method: "PATCH",
    path: "/x",
    body: { a: new SecretText(Buffer.from("s3cret-value").toString("base64")) },
  } as const;
  const answer = { status: 422, text: JSON.stringify({ message, reason: "Invalid" }) };
  expect(() => bodyForUser(call, answer)).toThrow("the value [secret] is refused");
  expect(bodyForUser(call, { status: 200, text: '{"a":1}' })).toEqual({ a: 1 });
});
