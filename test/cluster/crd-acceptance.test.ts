import { describe, expect, test } from "vitest";
import { isRecord } from "../../src/api/parse.ts";
import { fieldsOf, schemaOf } from "../support/crd-schema.ts";
import { dryApply, dryCreate, type KindName, kinds } from "../support/crd-requests.ts";
import { full } from "../support/full-specs.ts";
import { plainKeysLikeDigests } from "../support/near-digests.ts";
import { admin, ask } from "../support/policy-request.ts";

describe("every field of the specification", () => {
  test.each(full)(
    "of $kind is in the object that the next two tests send",
    async ({ kind, spec }) => {
      const specified = fieldsOf(await schemaOf(kinds[kind].plural))
        .map(({ path }) => path)
        .filter((path) => path.startsWith("spec."));
      expect(pathsOf(spec)).toEqual(expect.arrayContaining(specified));
    },
  );

  test.each(full)("of $kind is returned by a create as it was sent", async ({ kind, spec }) => {
    expect((await ask(admin, dryCreate(kind, spec))).spec).toEqual(spec);
  });

  test.each(full)(
    "of $kind is returned by a server-side apply as it was sent",
    async ({ kind, spec }) => {
      expect((await ask(admin, dryApply(kind, spec))).spec).toEqual(spec);
    },
  );
});

describe("accepted", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/=-";
  const scoped = (rule: unknown) => ({ scope: { rules: [rule] } });
  const accepted: readonly { sentence: string; kind: KindName; spec: unknown }[] = [
    ...Object.keys(kinds)
      .filter(isKind)
      .flatMap((kind) => [
        { sentence: "no spec", kind, spec: undefined },
        { sentence: "an empty spec", kind, spec: {} },
      ]),
    { sentence: "an empty key, to be generated", kind: "OwnedAccessKey", spec: { key: "" } },
    {
      sentence: "a bound digest",
      kind: "OwnedAccessKey",
      spec: { key: `sha256:0123456789abcdef.${"0123456789abcdef".repeat(4)}` },
    },
    { sentence: "a key of 16 characters", kind: "OwnedAccessKey", spec: { key: "x".repeat(16) } },
    { sentence: "a key of 512 characters", kind: "OwnedAccessKey", spec: { key: "x".repeat(512) } },
    {
      sentence: "a key of every character of the alphabet",
      kind: "OwnedAccessKey",
      spec: { key: alphabet },
    },
    {
      sentence: "a team and an empty user",
      kind: "OwnedAccessKey",
      spec: { user: "", team: "devs" },
    },
    { sentence: "a subject without a user", kind: "OwnedAccessKey", spec: { subject: "robot" } },
    { sentence: "a type not in the example", kind: "OwnedAccessKey", spec: { type: "System" } },
    ...[0, 1, 2147483647].flatMap((ttl) => [
      { sentence: `a ttl of ${ttl}`, kind: "OwnedAccessKey" as const, spec: { ttl } },
      { sentence: `a ttl of ${ttl}`, kind: "DirectClusterEndpointToken" as const, spec: { ttl } },
    ]),
    ...plainKeysLikeDigests.map((key) => ({
      sentence: `a plain key that is no digest: ${key}`,
      kind: "OwnedAccessKey" as const,
      spec: { key },
    })),
    { sentence: "256 groups", kind: "OwnedAccessKey", spec: { groups: many(256, "g") } },
    {
      sentence: "64 scope rules",
      kind: "OwnedAccessKey",
      spec: { scope: { rules: many(64, {}) } },
    },
    {
      sentence: "256 access rules",
      kind: "SharedSecret",
      spec: { access: many(256, { verbs: ["get"] }) },
    },
    {
      sentence: "an access rule with errors that only conditions report",
      kind: "SharedSecret",
      spec: { access: [{}, { verbs: ["create"] }] },
    },
    {
      sentence: "2,000 data keys",
      kind: "SharedSecret",
      spec: { data: Object.fromEntries(many(2000, "").map((value, i) => [`key-${i}`, value])) },
    },
    {
      sentence: "a data value of a megabyte",
      kind: "SharedSecret",
      spec: { data: { big: "A".repeat(2 ** 20) } },
    },
    {
      sentence: "empty lists in a scope",
      kind: "DirectClusterEndpointToken",
      spec: { scope: { roles: [], projects: [], rules: [] } },
    },
    {
      sentence: "resourceNames with resources",
      kind: "OwnedAccessKey",
      spec: scoped({ resources: [{}], resourceNames: ["a"] }),
    },
    {
      sentence: "an empty resourceNames without resources",
      kind: "OwnedAccessKey",
      spec: scoped({ resourceNames: [] }),
    },
  ];

  test.each(accepted)("$kind: $sentence", async ({ kind, spec }) => {
    expect(await ask(admin, dryCreate(kind, spec))).toMatchObject({ code: 201 });
  });
});

function isKind(name: string): name is KindName {
  return name in kinds;
}

/** The paths of the fields of an object, in the notation of a schema. */
function pathsOf(value: unknown, path = "spec"): readonly string[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((entry) => pathsOf(entry, `${path}[]`))];
  const inner = isRecord(value) ? Object.entries(value) : [];
  return [path, ...inner.flatMap(([name, field]) => pathsOf(field, `${path}.${name}`))];
}

function many<T>(count: number, entry: T): readonly T[] {
  return Array.from({ length: count }, () => entry);
}
