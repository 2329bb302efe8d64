import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { loadAll } from "js-yaml";
import { excessIn } from "../../src/api/bounded-json.ts";
import { isRecord } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { parseManifests } from "../../src/client/explain/plan-manifests.ts";
import { forwardedHeaders, unforwardableName } from "../../src/domain/gateway/forwarded-headers.ts";
import { completedBody } from "../../src/domain/gateway/object-defaults.ts";
import { mostInputBytes } from "../../src/runtime/read-text-file.ts";
import { UsageError } from "../../src/runtime/config-values.ts";
import { storedDigest } from "../../src/tokens/access-key.ts";
import { repository } from "../support/install.ts";
import { weighted } from "../support/weighted.ts";
import { hostileValue, hostileWord } from "./hostile.ts";
import type { Target } from "./target.ts";

const own = { apiVersion: "management.service/v1", kind: "SharedSecret" };

/** A member that may be one of those that are completed, in each spelling of JSON. */
const member = fc.tuple(
  weighted(
    [3, fc.constantFrom('"kind"', '"apiVersion"', '"\\u006bind"', '"Kind"', '"kind "')],
    [2, hostileWord.map((word) => JSON.stringify(word))],
  ),
  weighted(
    [3, fc.constantFrom('"Secret"', "null", "{}", '{"kind":"a"}', "1e400", '"\\""')],
    [2, hostileValue.map((value) => JSON.stringify(value) ?? "null")],
  ),
);
const blanks = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 3 });
const jsonObject = fc
  .tuple(blanks, fc.array(member, { maxLength: 4 }), blanks)
  .map(
    ([before, members, after]) =>
      `${before}{${members.map(([name, value]) => `${after}${name}:${value}`).join()}}${after}`,
  );
/** With a part removed, doubled or of another text. */
const jsonText = fc
  .tuple(
    weighted([5, jsonObject], [1, hostileValue.map((value) => JSON.stringify(value) ?? "")]),
    fc.nat(),
    fc.nat(9),
    hostileWord,
  )
  .map(([text, place, how, word]) => {
    const at = place % (text.length + 1);
    if (how === 0) return text.slice(0, at) + text.slice(at + 1);
    if (how === 1) return text.slice(0, at) + word + text.slice(at);
    return how === 2 ? text.slice(0, at) + text.slice(at >> 1) : text;
  });

function parsed(parse: () => unknown): { readonly value: unknown } | undefined {
  try {
    return { value: parse() };
  } catch {
    return undefined;
  }
}

/** What a body means before and after it is completed: the same, with what it lacked. */
function expectCompleted(text: string, format: "json" | "yaml", parse: (text: string) => unknown) {
  const completed = completedBody(text, { format, kind: own.kind });
  const before = parsed(() => parse(text));
  if (completed.kind === "malformed") {
    assert.ok(before === undefined || !isRecord(before.value), "a good body is refused");
    return;
  }
  if (completed.text === text) return;
  const after = parsed(() => parse(completed.text));
  // One that YAML refuses may become a comment.
  if (before === undefined) return void (format === "json" && assert.equal(after, undefined));
  if (!isRecord(before.value) && (before.value ?? null) !== null) return;
  // A YAML text may have no object; with what is added it has one.
  const object = isRecord(before.value) ? before.value : {};
  assert.ok(isRecord(after?.value), "a good body is broken");
  const [found, given] = [
    { ...own, ...after.value },
    { ...own, ...object },
  ];
  // A key with an escape may be one that is not filled in then.
  assert.deepEqual(found, given);
  for (const name of Object.keys(after.value))
    assert.ok(Object.hasOwn(object, name) || Object.hasOwn(own, name));
}

function oneDocument(text: string): unknown {
  const [document, ...others] = loadAll(text);
  assert.equal(others.length, 0);
  return document;
}

/** Lines and inner parts of a YAML mapping. */
const yamlText = fc
  .array(
    fc.constantFrom(
      ...["kind: Secret\n", "apiVersion: v1\n", '"kind": a\n', "spec:\n  kind: a\n", "a: b\n"],
      ...["---\n", "# kind: a\n", "%YAML 1.1\n", "\r\n", "\ufeff", "a: 'kind: b'\n", "x: |\n  a\n"],
      ...["!!str kind: a\n", "&b kind: a\n", '"\\x6bind": a\n', "*b : a\n", "kind:\n  a\n"],
      ...[
        "{",
        "}",
        "kind: a, ",
        '"\\x6bind": a, ',
        "!!str kind: a, ",
        "kind, ",
        "a: {kind: b}\n",
        "? kind\n: a\n",
        "'kind' : a\n",
      ],
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(""));

/** A YAML text with anchors and aliases, each of which may repeat the one before. */
const aliases = fc
  .array(
    fc.record({ times: fc.integer({ min: 0, max: 12 }), isMap: fc.boolean(), self: fc.boolean() }),
    { maxLength: 12 },
  )
  .map((levels) =>
    levels
      .map(({ times, isMap, self }, level) => {
        const named = self ? level : Math.max(0, level - 1);
        const items = Array.from({ length: times }, (_, item) =>
          isMap ? `k${item}: *a${named}` : `*a${named}`,
        ).join(", ");
        const inner = level === 0 && !self ? '"xxxxxxxx"' : isMap ? `{${items}}` : `[${items}]`;
        return `k${level}: &a${level} ${inner}\n`;
      })
      .join(""),
  );

const user = fc.record({
  username: hostileWord,
  groups: fc.array(hostileWord, { maxLength: 2 }),
  extra: fc.constant({}),
});

const oneOf = (characters: string) => fc.constantFrom(...characters.split(""));
const hex = (length: number) =>
  fc.string({
    unit: oneOf("0123456789abcdefABCDEF"),
    minLength: length,
    maxLength: length,
  });
const separator = fc.string({ unit: oneOf("-._~+/="), minLength: 1, maxLength: 3 });

/** A bound digest as somebody may write it in the alphabet of a plain key. */
const nearDigest = fc
  .tuple(
    fc.constantFrom("", "sha256", "SHA256", "Sha-256", "sha_256", "sha512", "SHA.1", "digest"),
    separator,
    fc.integer({ min: 15, max: 17 }).chain(hex),
    separator,
    fc.integer({ min: 60, max: 66 }).chain(hex),
    fc.constantFrom("", "=", "-", "."),
  )
  .map((parts) => parts.join(""));

/** The patterns that the schema has for `spec.key`: a digest, a plain key, and what looks like one. */
const [digestForm, plainForm, nearForm] = [
  ...readFileSync(join(repository, "crds", "ownedaccesskeys.yaml"), "utf8").matchAll(
    /self\.key\.matches\('([^']+)'\)/g,
  ),
].map(([, pattern = ""]) => new RegExp(pattern));

/** Whether the schema takes a key of at least 16 characters as a plain one. */
function isPlainBySchema(text: string): boolean {
  assert.ok(digestForm !== undefined && plainForm !== undefined && nearForm !== undefined);
  return !digestForm.test(text) && plainForm.test(text) && !nearForm.test(text);
}

/** What is around the rights of a request: bodies, manifests and names. */
export const edgeTargets: readonly Target[] = [
  {
    name: "bodies: a completed JSON body means what it meant, with what it certainly lacked",
    property: () => fc.property(jsonText, (text) => expectCompleted(text, "json", JSON.parse)),
  },
  {
    name: "bodies: a completed YAML body means what it meant, with what it certainly lacked",
    property: () => fc.property(yamlText, (text) => expectCompleted(text, "yaml", oneDocument)),
  },
  {
    name: "bounds: a JSON text within the bounds of a reader has as many values, and is as deep",
    property: () =>
      fc.property(jsonText, fc.integer({ min: 1, max: 40 }), (text, most) => {
        const found = parsed(() => JSON.parse(text));
        if (found === undefined || excessIn(text, { values: most, depth: most }) !== undefined)
          return;
        const [values, depth] = sizeOf(found.value);
        assert.ok(values <= most && depth <= most, `${values} values, ${depth} levels of ${most}`);
      }),
  },
  {
    name: "aliases: a manifest of plan is expanded within a bound, or refused with words",
    property: () =>
      fc.property(aliases, (labels) => {
        const text = `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n${labels}`;
        try {
          const { manifests } = parseManifests([{ file: "a.yaml", text }], "default");
          for (const { manifest } of manifests)
            assert.ok(JSON.stringify(manifest).length <= 2 * mostInputBytes);
        } catch (error) {
          assert.ok(error instanceof UsageError, "an unexpected error");
        }
      }),
  },
  {
    name: "digests: what looks like a digest is no plain key, for the schema and for the process",
    property: () =>
      fc.property(
        weighted(
          [3, nearDigest.map((text) => [text, true] as const)],
          [
            1,
            fc
              .string({
                unit: oneOf("sha256-._~+/=0fgZ"),
                minLength: 16,
                maxLength: 90,
              })
              .map((text) => [text, false] as const),
          ],
        ),
        ([text, isNear]) => {
          const isPlain = isPlainBySchema(text);
          assert.ok(!(isNear && isPlain), "the schema takes it");
          assert.equal(storedDigest(new SecretText(text)) !== undefined, isPlain);
        },
      ),
  },
  {
    name: "names: kube-apiserver reads the user and the groups that the gateway means, or none",
    property: () =>
      fc.property(user, (given) => {
        if (unforwardableName(given) !== undefined) return;
        const headers = forwardedHeaders(
          {
            ...{ method: "GET", target: "/api", httpVersion: "1.1", isUpgrade: false },
            ...{ rawHeaders: [], peerAddress: "192.0.2.1" },
          },
          { user: given, request: { verb: "get" }, subprotocols: undefined },
        );
        const read = (name: string): readonly string[] =>
          headers.flatMap((value, at) =>
            at % 2 === 1 && headers[at - 1] === name ? [asReadByServer(value)] : [],
          );
        assert.deepEqual(
          [read("impersonate-user"), read("impersonate-group")],
          [[given.username], given.groups],
        );
      }),
  },
];

/** Values of a parsed JSON text with all in it, and its levels; equal names count once. */
function sizeOf(value: unknown): readonly [values: number, depth: number] {
  if (typeof value !== "object" || value === null) return [1, 0];
  const inner = Object.values(value).map(sizeOf);
  return [
    Math.max(
      1,
      inner.reduce((sum, [values]) => sum + values, 0),
    ),
    1 + Math.max(0, ...inner.map(([, depth]) => depth)),
  ];
}

/** A field value as an HTTP server reads it: without blanks around, its bytes as UTF-8. */
function asReadByServer(value: string): string {
  const trimmed = value.replaceAll(/^[ \t]+|[ \t]+$/g, "");
  return Buffer.from(trimmed, "latin1").toString("utf8");
}
