import { describe, expect, inject, test } from "vitest";
import { dryApply, dryCreate, type KindName } from "../support/crd-requests.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { nearDigests } from "../support/near-digests.ts";
import { admin, ask } from "../support/policy-request.ts";

/** A secret value that must never be returned. */
const canary = "canary-7d1f0e";
const numericCanary = 314159265358;

interface Refusal {
  readonly rule: string;
  readonly kind: KindName;
  readonly spec: unknown;
  /** Texts of the message: always the field, and the fix if the rule is Latchkey's. */
  readonly says: readonly string[];
}

const controlPlane = inject("controlPlane");

describe("rejected, with a message that names the field and contains no secrets", () => {
  const keyRule = [
    "spec.key",
    "must be empty",
    "16 to 512 characters",
    'begins with "sha256:"',
    "bound to the user, team or subject",
    "run: kubectl latchkey keys digest --user=NAME < KEYFILE",
  ];
  const refusals: readonly Refusal[] = [
    ...["with space", "a/b", "ü", "a\n", ""].map((name) => ({
      rule: `a data key is made of letters, digits, '-', '_' and '.': ${JSON.stringify(name)}`,
      kind: "SharedSecret" as const,
      spec: { data: { [name]: "Y2FuYXJ5" } },
      says: [
        "spec.data",
        name.includes("\n") ? "data keys must" : `data key "${name}" must`,
        "letters, digits, '-', '_'",
        "rename the key",
      ],
    })),
    {
      rule: "data has at most 10,000 keys",
      kind: "SharedSecret" as const,
      spec: { data: Object.fromEntries(Array.from({ length: 10_001 }, (_, key) => [key, ""])) },
      says: ["spec.data: Too many: 10001: must have at most 10000 items"],
    },
    ...[
      "Y2FuYXJ5LTdk\n",
      "Y2FuYXJ5 LTdk",
      `${canary}!`,
      "Y2FuYX",
      "Y2FuYX=",
      "Y2Fu=YXJ",
      "Y2FuYXJ_LTd-",
      "====",
      "Y",
    ].map((value) => ({
      rule: `a data value is padded base64 of the standard alphabet: ${JSON.stringify(value)}`,
      kind: "SharedSecret" as const,
      spec: { data: { password: value } },
      says: ["spec.data.password"],
    })),
    ...[
      "short",
      `${canary} with spaces`,
      `${canary}-0123456789\n`,
      `${canary}:0123456789`,
      "x".repeat(15),
    ].map((key) => ({
      rule: `a plain key has 16 to 512 characters of its alphabet: ${JSON.stringify(key)}`,
      kind: "OwnedAccessKey" as const,
      spec: { key },
      says: keyRule,
    })),
    ...["a".repeat(64), "a".repeat(63), "A".repeat(64), ""].map((digest) => ({
      rule: `a digest is bound: ${JSON.stringify(digest)}`,
      kind: "OwnedAccessKey" as const,
      spec: { key: `sha256:${digest}` },
      says: keyRule,
    })),
    ...[
      `${"a".repeat(15)}.${"b".repeat(64)}`,
      `${"a".repeat(17)}.${"b".repeat(64)}`,
      `${"a".repeat(16)}.${"b".repeat(63)}`,
      `${"A".repeat(16)}.${"b".repeat(64)}`,
      `${"a".repeat(16)}:${"b".repeat(64)}`,
      `${"a".repeat(16)}.`,
      `.${"b".repeat(64)}`,
    ].map((digest) => ({
      rule: `a bound digest has an index of 16 and 64 lower-case hex digits: ${JSON.stringify(digest)}`,
      kind: "OwnedAccessKey" as const,
      spec: { key: `sha256:${digest}` },
      says: keyRule,
    })),
    ...nearDigests.map((key) => ({
      rule: `a plain key does not look like a digest: ${JSON.stringify(key)}`,
      kind: "OwnedAccessKey" as const,
      spec: { key },
      says: keyRule,
    })),
    {
      rule: "a key has no more than 512 characters",
      kind: "OwnedAccessKey",
      spec: { key: `${canary}${"x".repeat(512)}` },
      says: ["spec.key", "512"],
    },
    ...[
      { user: "alice", team: "devs" },
      { user: "alice", subject: "robot" },
      { team: "devs", subject: "robot" },
      { user: "alice", team: "devs", subject: "robot", key: `${canary}-0123456789` },
    ].map((spec) => ({
      rule: `a key acts as at most one: ${Object.keys(spec).join(", ")}`,
      kind: "OwnedAccessKey" as const,
      spec,
      says: ["spec", "at most one of user, team and subject"],
    })),
    ...(["OwnedAccessKey", "DirectClusterEndpointToken"] as const).flatMap((kind) =>
      [-1, 2147483648, 1.5, "3600"].map((ttl) => ({
        rule: `ttl is an integer from 0 to 2147483647: ${JSON.stringify(ttl)}`,
        kind,
        spec: { ttl },
        says: ["spec.ttl"],
      })),
    ),
    ...["yesterday", "2026-11-21", "", 1700000000, {}].map((identityRefresh) => ({
      rule: `identityRefresh is a timestamp: ${JSON.stringify(identityRefresh)}`,
      kind: "OwnedAccessKey" as const,
      spec: { identityRefresh },
      says: ["spec.identityRefresh", "date-time"],
    })),
    {
      rule: "lastRefresh is a timestamp",
      kind: "OwnedAccessKey",
      spec: { oidcLogin: { lastRefresh: "now", idToken: canary } },
      says: ["spec.oidcLogin.lastRefresh"],
    },
    {
      rule: "connectorData is never stored",
      kind: "OwnedAccessKey",
      spec: { identity: { connectorData: canary } },
      says: ["spec.identity.connectorData", "never stored", "remove it"],
    },
    {
      rule: "256 groups at most",
      kind: "OwnedAccessKey",
      spec: { groups: many(257, "g") },
      says: ["spec.groups", "256"],
    },
    {
      rule: "256 groups of the identity at most",
      kind: "OwnedAccessKey",
      spec: { identity: { groups: many(257, "g") } },
      says: ["spec.identity.groups", "256"],
    },
    {
      rule: "256 access rules at most",
      kind: "SharedSecret",
      spec: { access: many(257, { verbs: ["get"] }) },
      says: ["spec.access", "256"],
    },
    {
      rule: "1024 users of an access rule at most",
      kind: "SharedSecret",
      spec: { access: [{ users: many(1025, "u") }] },
      says: ["spec.access[0].users", "1024"],
    },
    {
      rule: "an unknown field is rejected",
      kind: "SharedSecret",
      spec: { date: { password: canary } },
      says: ['unknown field "spec.date"'],
    },
    ...(["OwnedAccessKey", "DirectClusterEndpointToken"] as const).flatMap(scopeRefusals),
  ];

  test.each(refusals)("$kind: $rule", async ({ kind, spec, says }) => {
    const answer = await ask(admin, dryCreate(kind, spec));
    expect([400, 422]).toContain(answer.code);
    for (const part of says) expect(answer.message).toContain(part);
    expect(JSON.stringify(answer)).not.toContain(canary);
  });
});

describe("a secret of the wrong type is rejected without being printed", () => {
  const mistaken: readonly Omit<Refusal, "rule">[] = [
    {
      kind: "SharedSecret",
      spec: { data: { password: numericCanary } },
      says: ["spec.data.password"],
    },
    { kind: "OwnedAccessKey", spec: { key: numericCanary }, says: ["spec.key"] },
    {
      kind: "OwnedAccessKey",
      spec: { identity: { connectorData: numericCanary } },
      says: ["spec.identity.connectorData"],
    },
    ...["idToken", "accessToken", "refreshToken"].map((field) => ({
      kind: "OwnedAccessKey" as const,
      spec: { oidcLogin: { [field]: numericCanary } },
      says: [`spec.oidcLogin.${field}`],
    })),
  ];

  test.each(mistaken)("a number at $says, created", async ({ kind, spec, says: [field] }) => {
    const answer = await ask(admin, dryCreate(kind, spec));
    expect(answer).toMatchObject({ code: 422, message: expect.stringContaining(`${field}`) });
    expect(JSON.stringify(answer)).not.toContain(`${numericCanary}`);
  });

  test.each(mistaken)(
    "a number at $says, applied server-side",
    async ({ kind, spec, says: [field] }) => {
      const answer = await ask(admin, dryApply(kind, spec));
      expect(answer).toMatchObject({ code: 422, message: expect.stringContaining(`${field}`) });
      expect(JSON.stringify(answer)).not.toContain(`${numericCanary}`);
    },
  );

  const structures = [[canary], [], { inner: canary }, true];
  const places: readonly {
    kind: KindName;
    field: string;
    specWith: (value: unknown) => unknown;
  }[] = [
    {
      kind: "SharedSecret",
      field: "spec.data",
      specWith: (data) => ({ data: Array.isArray(data) ? data : canary }),
    },
    {
      kind: "SharedSecret",
      field: "spec.data.password",
      specWith: (password) => ({ data: { password } }),
    },
    { kind: "OwnedAccessKey", field: "spec.key", specWith: (key) => ({ key }) },
    {
      kind: "OwnedAccessKey",
      field: "spec.identity.connectorData",
      specWith: (connectorData) => ({ identity: { connectorData } }),
    },
    {
      kind: "OwnedAccessKey",
      field: "spec.oidcLogin.idToken",
      specWith: (idToken) => ({ oidcLogin: { idToken } }),
    },
    {
      kind: "OwnedAccessKey",
      field: "spec.identityRefresh",
      specWith: (identityRefresh) => ({ identityRefresh }),
    },
  ];
  const structured = places.flatMap((place) =>
    structures.map((value) => ({ ...place, value, shown: JSON.stringify(value) })),
  );

  test.each(structured)("$shown at $field, created", async ({ kind, field, specWith, value }) => {
    const answer = await ask(admin, dryCreate(kind, specWith(value)));
    expect([400, 422]).toContain(answer.code);
    expect(answer.message).toContain(field);
    expect(JSON.stringify(answer)).not.toContain(canary);
  });

  test("kubectl apply --server-side prints the field and not the secret", async () => {
    const manifest = {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      metadata: { name: "refused" },
      spec: { data: { password: canary } },
    };
    const { code, stdout, stderr } = await tryKubectl(
      controlPlane,
      ["apply", "--server-side", "-f", "-"],
      { input: JSON.stringify(manifest) },
    );
    expect(code).toBe(1);
    expect(stderr).toContain("spec.data.password");
    expect(`${stdout}${stderr}`).not.toContain(canary);
  });
});

/** The rejected scopes, for a kind that has one. */
function scopeRefusals(kind: KindName): readonly Refusal[] {
  const lists = ["roles", "projects", "spaces", "virtualClusters", "clusters"];
  const urls = ["/healthz*", "/a/*/b", "/*/b", "**", "/**", "*/", "/a/*/*"];
  return [
    ...lists.map((list) => ({
      rule: `256 entries of scope.${list} at most`,
      kind,
      spec: { scope: { [list]: many(257, {}) } },
      says: [`spec.scope.${list}`, "256"],
    })),
    {
      rule: "64 entries of scope.rules at most",
      kind,
      spec: { scope: { rules: many(65, {}) } },
      says: ["spec.scope.rules", "64"],
    },
    ...[{ resourceNames: ["web"] }, { resourceNames: ["web"], resources: [] }].map((rule) => ({
      rule: `resourceNames requires resources: ${JSON.stringify(rule)}`,
      kind,
      spec: { scope: { rules: [{}, rule] } },
      says: [
        "spec.scope.rules[1].resourceNames",
        "resourceNames requires resources",
        "add the resources",
      ],
    })),
    ...urls.map((url) => ({
      rule: `* is allowed only as the last segment of a path: ${url}`,
      kind,
      spec: { scope: { rules: [{ nonResourceURLs: ["/version", url] }] } },
      says: [
        "spec.scope.rules[0].nonResourceURLs[1]",
        "must contain * only as the last segment of the path",
        "as in /healthz/*",
      ],
    })),
  ];
}

function many<T>(count: number, entry: T): readonly T[] {
  return Array.from({ length: count }, () => entry);
}
