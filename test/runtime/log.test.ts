import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import type { LogLevel } from "../../src/runtime/config-values.ts";
import { aboutServer, createLogger, type LogFields, saidOnce } from "../../src/runtime/log.ts";
import { recordingLog } from "../support/recording-log.ts";

const canary = "canary-8f3a";

/** Fields of any name: a name is no protection. */
type AnyFields = Readonly<Record<string, unknown>>;

function logged(fields: AnyFields, level: LogLevel = "debug"): string {
  let out = "";
  createLogger({ level, destination: { write: (line) => (out += line) } }).info(
    fields,
    "something happened",
  );
  return out;
}

test("a line is JSON with time, level, message and fields", () => {
  const line: unknown = JSON.parse(
    logged({ controller: "shared-secret", object: "a/b", count: 3 }),
  );
  expect(line).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    level: "info",
    message: "something happened",
    controller: "shared-secret",
    object: "a/b",
    count: 3,
  });
});

test("half of a surrogate pair is logged as a character that every reader takes", () => {
  const parsed: unknown = JSON.parse(logged({ text: "a\ud800b\udc00", whole: "\ud83d\ude00" }));
  expect(parsed).toMatchObject({ text: "a\ufffdb\ufffd", whole: "\ud83d\ude00" });
});

test("lines below the level are not written", () => {
  expect(logged({}, "warn")).toBe("");
});

test("an error of several addresses, which has no message, has their reasons", () => {
  const error = new AggregateError([
    Object.assign(new Error(""), { code: "EHOSTUNREACH" }),
    Object.assign(new Error(""), { code: "ETIMEDOUT" }),
  ]);
  const parsed: unknown = JSON.parse(logged({ error }));
  expect(parsed).toMatchObject({ error: { message: "EHOSTUNREACH, ETIMEDOUT" } });
});

class Circular {
  readonly self = this;
}

describe("does not print a secret", () => {
  const jwt = `eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.${canary}`;
  const withExtras = Object.assign(new Error("request failed", { cause: new Error(canary) }), {
    code: "ECONNRESET",
    response: { body: canary },
  });
  test.for<[string, AnyFields]>([
    ["a SecretText", { value: new SecretText(canary) }],
    ["a SecretText deep inside", { a: { b: [{ c: new SecretText(canary) }] } }],
    [
      "fields of a secret's name",
      {
        token: canary,
        key: canary,
        data: { a: canary },
        Authorization: canary,
        "set-cookie": [canary],
      },
    ],
    [
      "such fields at a deeper level",
      { a: { b: { c: [{ access_token: canary, clientKeyData: canary }] } } },
    ],
    ["bytes", { payload: Buffer.from(canary), view: new TextEncoder().encode(canary) }],
    ["maps and sets", { map: new Map([["a", canary]]), set: new Set([canary]) }],
    ["extras and cause of an error", { error: withExtras }],
    ["an error nested in a field", { outcome: { error: withExtras } }],
    ["a JWT within a text", { text: `got ${jwt}!` }],
    ["a JWT behind a word with a dot", { text: `a.b-eyJ.${jwt}!` }],
    ["an encrypted JWT", { text: `${jwt}.a.${canary}` }],
    ["a generated access key within a text", { text: `lk_abc_${canary.replace("-", "")}` }],
    [
      "a bearer header within an error's message",
      { error: new Error(`Authorization: Bearer ${canary}`) },
    ],
    [
      "a PEM key",
      { text: `-----BEGIN EC PRIVATE KEY-----\n${canary}\n-----END EC PRIVATE KEY-----` },
    ],
    ["text that JSON.parse quotes", { error: parseError(`{"a": ${canary}}`) }],
  ])("%s", ([, fields]) => {
    const line = logged(fields);
    expect(line).toContain("something happened");
    expect(line).not.toContain("canary");
  });
});

test.each(["", "0123456789abcdef."])("does not print a digest of a key: sha256:%s...", (index) => {
  expect(logged({ text: `spec.key is sha256:${index}${"ca4a".repeat(16)}` })).not.toContain("ca4a");
});

test("logs only name, code, message and stack of an error", () => {
  const error = Object.assign(new TypeError("no such thing"), { code: "E_NO", extra: 1 });
  const line: unknown = JSON.parse(logged({ error }));
  expect(line).toMatchObject({
    error: {
      name: "TypeError",
      code: "E_NO",
      message: "no such thing",
      stack: expect.stringMatching(/^at /),
    },
  });
  expect(line).not.toHaveProperty("error.extra");
});

test("logs the line even if a field cannot be written as JSON", () => {
  const line: unknown = JSON.parse(
    logged({ circle: new Circular(), big: 12n, nothing: undefined }),
  );
  expect(line).toMatchObject({ message: "something happened", big: "12" });
});

describe("a log of another server", () => {
  const [network, forbidden] = [{ code: "Network" }, { code: "Forbidden" }] as const;

  test("names it in warnings", () => {
    const log = recordingLog();
    const about = aboutServer(log, "https://east");
    about.warn(network, "watch interrupted");
    about.warn({ server: "https://west" }, "watch interrupted");
    about.info({}, "heard");
    expect(log.lines.map(({ fields }) => fields)).toEqual([
      { server: "https://east", code: "Network" },
      { server: "https://west" },
      {},
    ]);
  });

  test.for<[string, readonly (readonly [LogFields, string])[], number]>([
    [
      "the same code",
      [
        [network, "a"],
        [network, "a"],
      ],
      1,
    ],
    [
      "another code",
      [
        [network, "a"],
        [forbidden, "a"],
        [network, "a"],
      ],
      3,
    ],
    [
      "the same code in another message",
      [
        [network, "a"],
        [forbidden, "b"],
        [network, "a"],
      ],
      2,
    ],
    [
      "no code",
      [
        [{}, "a"],
        [{}, "a"],
      ],
      2,
    ],
  ])("says %s as often as it is news", ([, warnings, count]) => {
    const log = recordingLog();
    const once = saidOnce(log);
    for (const [fields, message] of warnings) once.warn(fields, message);
    expect(log.lines).toHaveLength(count);
  });
});

function parseError(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}
