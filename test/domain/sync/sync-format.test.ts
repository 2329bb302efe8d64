import { parse } from "dotenv";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { parseEnvFile } from "../../../src/client/secrets/env-file.ts";
import {
  syncFormatOf,
  typeOf,
  derivedText,
  type SyncFormat,
} from "../../../src/domain/sync/sync-format.ts";
import { runs } from "../../support/property-runs.ts";
import { hostileTexts, sourcedByShell } from "../../support/sourced-by-shell.ts";
import { isMissing, orMissing } from "../../support/prepared.ts";
import { startTextReaders } from "../../support/text-readers.ts";

const { syncFormat, syncFormatFrom, syncFormatKey, syncSecretType } = annotations;

describe("the option sync-format", () => {
  test.for<[string, Readonly<Record<string, string>>, object | undefined, string?]>([
    ["is not set", {}, undefined],
    ["dotenv", { [syncFormat]: "dotenv" }, { kind: "dotenv", key: ".env", from: [] }, "Opaque"],
    ["json", { [syncFormat]: "json" }, { kind: "json", key: "data.json", from: [] }, "Opaque"],
    [
      "dockerconfigjson",
      { [syncFormat]: "dockerconfigjson" },
      { kind: "dockerconfigjson", key: ".dockerconfigjson", from: [] },
      "kubernetes.io/dockerconfigjson",
    ],
    [
      "dockerconfigjson of another type, with another key",
      {
        [syncFormat]: "dockerconfigjson",
        [syncSecretType]: "Opaque",
        [syncFormatKey]: "config.json",
      },
      { kind: "dockerconfigjson", key: "config.json", from: [] },
      "kubernetes.io/dockerconfigjson",
    ],
    [
      "dotenv with names",
      { [syncFormat]: "dotenv", [syncFormatFrom]: "KEY=tls.key, USER\n", [syncFormatKey]: "a.env" },
      {
        kind: "dotenv",
        key: "a.env",
        from: [
          { name: "KEY", dataKey: "tls.key" },
          { name: "USER", dataKey: "USER" },
        ],
      },
      "Opaque",
    ],
  ])("%s", ([, given, format, type]) => {
    const option = syncFormatOf(given);
    expect(option).toEqual({ kind: "format", ...(format && { format }) });
    expect(option.kind === "format" && typeOf(option.format)).toBe(type);
  });

  const dotenv = { [syncFormat]: "dotenv" };
  test.for<[string, Readonly<Record<string, string>>, string]>([
    ["an unknown form", { [syncFormat]: "yaml" }, `${syncFormat}: "yaml" is not supported`],
    ["an inherited name", { [syncFormat]: "constructor" }, `${syncFormat}: "constructor" is not`],
    ["a key alone", { [syncFormatKey]: "x" }, `${syncFormatKey}: has no effect without`],
    ["names alone", { [syncFormatFrom]: "x" }, `${syncFormatFrom}: has no effect without`],
    ["a key with a slash", { ...dotenv, [syncFormatKey]: "a/b" }, `${syncFormatKey}: "a/b" is`],
    ["a key of two dots", { ...dotenv, [syncFormatKey]: ".." }, `${syncFormatKey}: ".." is`],
    ["an empty key", { ...dotenv, [syncFormatKey]: "" }, `${syncFormatKey}: "" is invalid`],
    [
      "another key for the type of registries",
      { [syncFormat]: "dockerconfigjson", [syncFormatKey]: "x" },
      'needs the key ".dockerconfigjson"',
    ],
    [
      "a name that begins with a digit",
      { ...dotenv, [syncFormatFrom]: "1A=b" },
      '"1A=b" is invalid',
    ],
    [
      "a name of no login",
      { [syncFormat]: "dockerconfigjson", [syncFormatFrom]: "user=b" },
      "one of",
    ],
    ["a name without a data key", { ...dotenv, [syncFormatFrom]: "A=" }, "<name>=<data key>"],
    ["a name twice", { ...dotenv, [syncFormatFrom]: "A=b,A=c" }, 'has the key "A" twice'],
    [
      "too many names",
      { ...dotenv, [syncFormatFrom]: Array.from({ length: 65 }, (_, at) => `A${at}`).join() },
      "has 65 items; must have at most 64",
    ],
  ])("is refused with %s, which names the annotation", ([, given, why]) => {
    expect(syncFormatOf(given)).toMatchObject({
      kind: "refused",
      why: expect.stringContaining(why),
    });
  });
});

type Values = Readonly<Record<string, string | Uint8Array>>;

/** Without Go, only the parsers of Node are compared. */
const go = await orMissing(startTextReaders(() => {}));
afterAll(() => isMissing(go) || go.stop());

function derive(kind: SyncFormat["kind"], values: Values, from: SyncFormat["from"] = []) {
  return derivedText({ kind, key: "x", from }, Object.keys(values), (key) => {
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    return typeof value === "string" ? Buffer.from(value) : value;
  });
}

/** Why data cannot be derived; empty if it can. */
function reasonOf(derived: ReturnType<typeof derive>): string {
  return derived.kind === "refused" ? derived.why : "";
}

/** What each Go parser reads. */
async function readByGo(form: string, text: string): Promise<readonly unknown[]> {
  const [answers = []] = isMissing(go) ? [] : await go.ask([{ form, text }]);
  return Array.isArray(answers) ? answers : [];
}

const units = [
  ...Array.from("ab=# '\"`$\\\n\r\t-{}(:éAB"),
  "😀",
  "\u0000",
  "\u0085",
  "\u00a0",
  "\u2028",
  "\ufeff",
  "---\n",
  "\\n",
  "$A",
];
const texts = fc.oneof(
  fc.string({ unit: fc.constantFrom(...units), maxLength: 8 }),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const bytes = fc.oneof(
  texts.map((text): Uint8Array => Buffer.from(text)),
  fc.uint8Array({ maxLength: 12 }),
);

describe("dotenv", () => {
  const variables = fc.dictionary(fc.constantFrom("A", "B", "_c1", "export", "toString"), bytes);

  test("is read back by four parsers, or refused with the data key and no value", async () => {
    const often = runs(750);
    let written = 0;
    await fc.assert(
      fc.asyncProperty(variables, async (values) => {
        const derived = derive("dotenv", values);
        expect(reasonOf(derived)).toMatch(
          /^$|^management.service\/sync-format: key "\w+" of spec.data has a value (that|with|whose) [^=]+$/,
        );
        if (derived.kind === "refused") return;
        written += 1;
        const expected = Object.fromEntries(
          Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString()]),
        );
        expect({ ...parse(derived.text) }).toEqual(expected);
        expect({ ...parse(derived.text, { fast: true }) }).toEqual(expected);
        for (const read of await readByGo("dotenv", derived.text))
          expect(read).toMatchObject({ values: expected });
      }),
      often,
    );
    expect(written).toBeGreaterThan(often.numRuns / 10);
  });

  test("runs nothing in a shell that sources it, and set --from-env-file reads it", () => {
    fc.assert(
      fc.property(hostileTexts, (value) => {
        const derived = derive("dotenv", { A: value, B: "last" });
        if (derived.kind === "refused") return;
        const escaped = value.replaceAll("\n", String.raw`\n`).replaceAll("\r", String.raw`\r`);
        expect([value, escaped]).toContain(sourcedByShell(derived.text));
        const read = parseEnvFile(Buffer.from(derived.text), "x.env");
        expect(Object.fromEntries(read)).toEqual({ A: value, B: "last" });
      }),
      { ...runs(75), examples: [["it's `:>ran`"], [`a'";:>ran;'"`]] },
    );
  });

  test.for<[string, string, string]>([
    ["a plain password", "s3cret!", "A='s3cret!'\n"],
    ["an empty value", "", "A=''\n"],
    ["dollars, quotes and backslashes", 'a$B"c\\d e', "A='a$B\"c\\d e'\n"],
    ["a single quote", "it's", 'A="it\'s"\n'],
    ["a certificate", "-----BEGIN-----\nx\n", String.raw`A="-----BEGIN-----\nx\n"` + "\n"],
    ["lines of JSON", '{\n"a": 1}', "A='{\n\"a\": 1}'\n"],
    ["a backtick", "a`b`", "A='a`b`'\n"],
    ["a leading equals sign", "=a", "A='=a'\n"],
  ])("holds %s", ([, value, text]) => {
    expect(derive("dotenv", { A: value })).toEqual({ kind: "text", text });
  });

  test.for<[string, Values, string]>([
    ["a NUL byte", { A: "a\0b" }, 'key "A" of spec.data has a value with a NUL byte'],
    ["bytes that are not UTF-8", { A: Uint8Array.of(255) }, "has a value that is not UTF-8"],
    ["a quote and a dollar sign", { A: "it's $5" }, "use the form json"],
    ["a quote and a double quote", { A: `it's "x"` }, "use the form json"],
    ["a quote and a backtick", { A: "it's `x`" }, "use the form json"],
    ["a backslash at the end", { A: "a\nb\\" }, "use the form json"],
    ["a data key that is no variable", { "tls.crt": "x" }, ": NAME=tls.crt"],
  ])("cannot hold %s", ([, values, why]) => {
    expect(derive("dotenv", values)).toMatchObject({
      kind: "refused",
      why: expect.stringContaining(why),
    });
  });

  test("has the named keys alone, sorted by name", () => {
    const from = [
      { name: "USER", dataKey: "user.name" },
      { name: "KEY", dataKey: "password" },
    ];
    const values = { "user.name": "u", password: "p", other: "o" };
    expect(derive("dotenv", values, from)).toEqual({ kind: "text", text: "KEY='p'\nUSER='u'\n" });
    expect(derive("dotenv", { password: "p" }, from)).toMatchObject({
      why: expect.stringContaining('key "user.name" of spec.data does not exist'),
    });
  });
});

describe("json", () => {
  const names = fc.constantFrom("a", "tls.crt", "__proto__", "constructor", "1");
  test("is read back by two parsers, or refused with the data key and no value", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(names, bytes), { selector: ([name]) => name }),
        async (entries) => {
          const values: Values = Object.fromEntries(entries);
          const derived = derive("json", values);
          expect(reasonOf(derived)).toMatch(/^$|has a value that is not UTF-8/);
          if (derived.kind === "refused") return;
          const expected = Object.fromEntries(
            entries.map(([name, value]) => [name, Buffer.from(value).toString()]),
          );
          expect(JSON.parse(derived.text)).toEqual(expected);
          for (const read of await readByGo("json", derived.text))
            expect(read).toEqual({ parser: "encoding/json", values: expected });
        },
      ),
      runs(500),
    );
  });
});

describe("dockerconfigjson", () => {
  const login = fc.record({
    server: fc.oneof(fc.constantFrom("images.example.com:5000/x", "__proto__"), texts),
    username: texts,
    password: texts,
    email: texts,
  });
  test("is read as kubelet reads it, or refused with the data key and no value", async () => {
    await fc.assert(
      fc.asyncProperty(login, async (values) => {
        const derived = derive("dockerconfigjson", values);
        expect(reasonOf(derived)).toMatch(/^$|key "(server|username|password)" of spec.data must/);
        if (derived.kind === "refused") return;
        const { server, username, password, email } = values;
        const auth = Buffer.from(`${username}:${password}`).toString("base64");
        const entry = { username, password, email, auth };
        expect(JSON.parse(derived.text)).toEqual({ auths: Object.fromEntries([[server, entry]]) });
        for (const read of await readByGo("dockerconfigjson", derived.text))
          expect(read).toMatchObject({
            values: { ...values, authUser: username, authPassword: password },
          });
      }),
      runs(250),
    );
  });

  test.for<[string, Values, string]>([
    ["no server", { username: "u", password: "p" }, 'key "server" of spec.data does not exist'],
    ["a line break in the server", { server: "a\n", username: "", password: "" }, 'key "server"'],
    ["a colon in the user name", { server: "a", username: "u:", password: "" }, 'key "username"'],
    ["a NUL byte", { server: "a", username: "u", password: "\0" }, 'key "password"'],
  ])("is refused with %s", ([, values, why]) => {
    expect(derive("dockerconfigjson", values)).toMatchObject({
      why: expect.stringContaining(why),
    });
  });

  test("takes names from other data keys", () => {
    const from = [{ name: "password", dataKey: "token" }];
    const values = { server: "a", username: "u", token: "t" };
    expect(derive("dockerconfigjson", values, from)).toEqual({
      kind: "text",
      text: '{"auths":{"a":{"username":"u","password":"t","auth":"dTp0"}}}',
    });
  });
});
