import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../../src/api/secret-text.ts";
import { bodySize, encodeBody, redact } from "../../../src/kube/client/request-body.ts";

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64");

describe("encodeBody", () => {
  test("reveals SecretTexts at any depth, and encodes the rest like JSON.stringify", () => {
    const body = {
      a: new SecretText("one"),
      b: [{ c: new SecretText('two"\n') }, new SecretText("")],
      d: new Date(0),
      e: undefined,
      f: null,
    };
    expect(JSON.parse(encodeBody(body))).toEqual({
      a: "one",
      b: [{ c: 'two"\n' }, ""],
      d: "1970-01-01T00:00:00.000Z",
      f: null,
    });
  });

  test("encodes a SecretText", () => {
    expect(encodeBody(new SecretText("one"))).toBe('"one"');
  });

  test("has the size that bodySize estimates", () => {
    for (const body of [
      null,
      1,
      "text",
      { a: new SecretText("x".repeat(1000)), b: [{ c: "y".repeat(1000), d: true }] },
    ]) {
      const { length } = encodeBody(body);
      expect(bodySize(body)).toBeGreaterThanOrEqual(length - 20);
      expect(bodySize(body)).toBeLessThanOrEqual(length + 20);
    }
  });

  test("differs from JSON.stringify, which reveals nothing", () => {
    expect(JSON.stringify({ a: new SecretText("one") })).toBe('{"a":"[secret]"}');
  });
});

describe("redact", () => {
  const secrets = fc.string({
    minLength: 3,
    maxLength: 20,
    unit: fc.constantFrom("Q", "W", "7", "ü", "\n", '"', "\\", "$", "&"),
  });

  test("removes every secret: plain, in base64, decoded or quoted", () => {
    fc.assert(
      fc.property(
        fc.array(secrets, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (values, encoded) => {
          const sent = values.map((value) => (encoded ? base64(value) : value));
          const body = {
            data: Object.fromEntries(
              sent.map((value, index) => [`k${index}`, new SecretText(value)]),
            ),
            list: [sent[0]],
          };
          const forms = [...sent, ...values, ...values.map((value) => JSON.stringify(value))];
          const clean = redact(`Invalid value: ${forms.join(" ")}: must be other`, body);
          for (const form of [
            ...sent,
            ...values,
            ...values.map((value) => JSON.stringify(value).slice(1, -1)),
          ])
            expect(clean).not.toContain(form);
          expect(clean).toMatch(/^Invalid value: .*: must be other$/s);
        },
      ),
    );
  });

  test("removes every secret, whatever the text around it", () => {
    const any = fc.string({ maxLength: 12, unit: fc.constantFrom("Q", "W", "ü", '"') });
    fc.assert(
      fc.property(any, secrets, any, (before, secret, after) => {
        const clean = redact(`${before}${secret}${after}`, {
          a: new SecretText(secret),
          b: new SecretText(base64(secret)),
        });
        expect(clean).not.toContain(secret);
      }),
    );
  });

  const long = 'long "secret" value '.repeat(8);
  test.each([
    ["as it is sent", base64(long)],
    ["decoded", long],
    ["quoted", JSON.stringify(long)],
    ["in all forms", [base64(long), long, JSON.stringify(long)].join(" ")],
  ])("removes a secret of more than a line, %s", (_form, shown) => {
    const clean = redact(`Invalid value: ${shown}`, { a: new SecretText(base64(long)) });
    expect(clean).toMatch(/^Invalid value: [^l]*(?:\[secret\][^l]*)+$/);
  });

  test.for([
    // The word as a part of others stays.
    [`secrets "my-secret" is forbidden`, `secrets "my-secret" is forbidden`],
    [`sharedsecrets.management.service "a.secret" not found`, undefined],
    [`secret_1, secret1, 1secret and a-secret-b`, undefined],
    // The word alone, however it is quoted, is a value.
    [`Invalid value: "secret": must be`, `Invalid value: "[secret]": must be`],
    ["the value secret.", "the value [secret]."],
    ["'secret' (secret) =secret, `secret`", "'[secret]' ([secret]) =[secret], `[secret]`"],
    ["map[a:secret b:secret]", "map[a:[secret] b:[secret]]"],
    ["postgres://u:secret@db-1/secret", "postgres://u:[secret]@db-1/[secret]"],
    [String.raw`"{\"a\":\"secret\"}"`, String.raw`"{\"a\":\"[secret]\"}"`],
    [String.raw`"a:\nsecret\tb"`, String.raw`"a:\n[secret]\tb"`],
    [String.raw`"\u003csecret\u003e"`, String.raw`"\u003c[secret]\u003e"`],
    ["a=%20secret%20", "a=%20[secret]%20"],
    ["secret secret", "[secret] [secret]"],
    ["-secret- .secret.", "-[secret]- .[secret]."],
    // In base64, too, and next to another secret, whose replacement stays as it is.
    ["c2VjcmV0 hunter2 secrets", "[secret] [secret] secrets"],
    ["xhunter2y", "x[secret]y"],
    ["hunter2secret", "[secret]"],
  ])("replaces the value of a common word where it is one: %s", ([text = "", clean = text]) => {
    const body = { a: new SecretText(base64("secret")), b: new SecretText("hunter2") };
    expect(redact(text, body)).toBe(clean);
  });

  test("replaces secrets that overlap", () => {
    const body = { a: new SecretText("abcd-1"), b: new SecretText("cd-1ef") };
    expect(redact("xabcd-1efx", body)).toBe("x[secret]x");
  });

  describe("leaves the end of a text that is as long as a body", () => {
    const quoted = "q".repeat(9_000);
    test.for([
      [": must have at most 3 items", "must have at most 3 items"],
      [': spec.data.a: Invalid value: "hunter2": must be other', "must be other"],
      [": hunter2 must be other", "[secret] must be other"],
    ])("%s", ([end = "", left = ""]) => {
      const text = quoted + end;
      const body = { a: new SecretText("hunter2"), b: new SecretText(quoted) };
      expect(redact(text, body)).toBe(
        `[the end of a message of ${text.length} characters] ${left}`,
      );
    });

    test.for([
      ["without a colon", quoted],
      ["with an end of a line", `: ${quoted}`],
      ["with a secret that has the last colon", `${quoted}a: canary is refused`],
      ["with one in base64", `${quoted}b: canary`],
      ["with one that is cut", `${quoted}c: can`],
    ])("but not %s", ([, text = ""]) => {
      const body = {
        a: new SecretText("a: canary"),
        b: new SecretText(base64("b: canary")),
        c: [new SecretText("c: canary")],
      };
      expect(redact(text, body)).toBe(`[a message of ${text.length} characters]`);
    });
  });

  test("replaces a text that is as long as a body", () => {
    expect(redact("visible".repeat(2_000), { a: new SecretText("x") })).toBe(
      "[a message of 14000 characters]",
    );
  });

  test.for<[string, unknown, string]>([
    ["keeps a text if the body has no secret", { a: "visible" }, "visible is bad"],
    ["keeps a text if there is no body", undefined, "visible is bad"],
    [
      "keeps a text if a secret is too short to distinguish it from words",
      { a: new SecretText("is") },
      "visible is bad",
    ],
    [
      "replaces the longest secret first",
      { a: new SecretText("visible"), b: new SecretText("visible is") },
      "[secret] bad",
    ],
  ])("%s", ([, body, text]) => {
    expect(redact("visible is bad", body)).toBe(text);
  });
});
