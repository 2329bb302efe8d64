import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { stringAt } from "../../src/api/parse.ts";
import { boundDigest } from "../support/bound-digest.ts";
import { eventually, nextSecond } from "../support/eventually.ts";
import {
  type KnownKey,
  askWith,
  kubectlWith,
  makeKey,
  refusalOf,
  whoIs,
  worksAs,
} from "../support/key-request.ts";
import { allowRequesters, make, viewOf } from "../support/keys-and-tokens.ts";
import { api, request, bind, unique } from "../support/policy-request.ts";

type Spec = Readonly<Record<string, unknown>>;

const devs = unique("devs");
const secrets = request.get("/api/v1/namespaces/default/secrets");

function merge(path: string, body: object) {
  return api.merge(path, body);
}

describe.skipIf(inject("webhook") === undefined)("an access key", () => {
  beforeAll(async () => {
    await allowRequesters(devs);
    await bind({ kind: "Group", name: devs }, "view");
  });

  it.each<[string, Spec, string, readonly string[]]>([
    ["user, with its groups", { user: "alice", groups: ["devs", "ops"] }, "alice", ["devs", "ops"]],
    ["team, with the team's group", { team: "web" }, "management.service:team:web", ["web"]],
    ["subject", { subject: "robot" }, "robot", []],
    [
      "user, with the groups of its identity",
      { user: "alice", identity: { groups: ["sso-devs"] } },
      "alice",
      ["sso-devs"],
    ],
  ])("acts as its %s", async (_what, spec, username, groups) => {
    const key = await makeKey({ spec });
    const who = await worksAs(key);
    expect(who).toMatchObject({ username, extra: { "management.service/key-id": [key.uid] } });
    expect(new Set(who.groups)).toEqual(new Set([...groups, "system:authenticated"]));
  });

  it("shows its user in kubectl auth whoami", async () => {
    const key = await makeKey({ spec: { user: "alice", groups: ["devs"] } });
    await worksAs(key);
    const { stdout } = await kubectlWith(key.key, ["auth", "whoami"]);
    expect(stdout).toMatch(/Username +alice/);
    expect(stdout).toContain(key.uid);
  });

  it("works when only its digest is stored, as in a manifest in Git", async () => {
    const plain = randomBytes(24).toString("base64url");
    const digest = boundDigest(plain, "user:alice");
    await make("OwnedAccessKey", { spec: { user: "alice", key: digest } });
    expect(await worksAs({ key: plain })).toMatchObject({ username: "alice" });
    expect(await whoIs(digest)).toBeUndefined();
  });

  it("has the permissions of its user and no others", async () => {
    const key = await makeKey({ spec: { user: "alice", groups: [devs] } });
    await worksAs(key);
    expect(
      await askWith(key.key, request.get("/api/v1/namespaces/default/configmaps")),
    ).toMatchObject({ code: 200 });
    expect(await askWith(key.key, secrets)).toMatchObject({ code: 403 });
  });

  it.each<[string, Spec]>([
    ["without user, team and subject", {}],
    ["that is disabled", { user: "alice", disabled: true }],
  ])("%s does not work", async (_what, spec) => {
    const [lame, sound] = [await makeKey({ spec }), await makeKey({ spec: { user: "alice" } })];
    await worksAs(sound);
    expect(await whoIs(lame.key)).toBeUndefined();
  });

  it("of a newer object with the same value does not work, and the older one continues to work", async () => {
    const older = await makeKey({ spec: { user: "alice" } });
    await worksAs(older);
    await nextSecond();
    // Admission does not disclose that the key is in use: mallory may not read the object that has
    // it.
    const mallory = { user: unique("mallory"), groups: [devs] };
    const younger = await make("OwnedAccessKey", {
      by: mallory,
      spec: { user: mallory.user, key: older.key },
    });
    await eventually(
      async () => (await viewOf(younger)).conditions["Active"]?.reason === "DuplicateKey",
      { what: "the younger key to be seen as a duplicate" },
    );
    expect(await worksAs(older)).toMatchObject({ username: "alice" });
  });

  it("records its last use", async () => {
    const key = await makeKey({ spec: { user: "alice" } });
    await worksAs(key);
    const lastActivity = async () => stringAt((await api.get(key.path)).status, "lastActivity");
    const used = await eventually(lastActivity, { what: "status.lastActivity to be written" });
    expect(Date.parse(used)).toBeGreaterThanOrEqual(key.createdAt);
  });
});

describe.skipIf(inject("webhook") === undefined)("a key that has worked is rejected", () => {
  const worker = unique("worker");
  beforeAll(() => bind({ kind: "User", name: worker }, "cluster-admin"));

  async function working(spec: Spec): Promise<KnownKey> {
    const key = await makeKey({ spec: { user: worker, ...spec } });
    await worksAs(key);
    expect(await askWith(key.key, secrets)).toMatchObject({ code: 200 });
    return key;
  }

  it.each<[string, Spec, readonly number[], (key: KnownKey) => Promise<unknown>]>([
    ["when it is disabled", {}, [403], ({ path }) => merge(path, { spec: { disabled: true } })],
    [
      "when its scope is narrowed",
      {},
      [403],
      ({ path }) => merge(path, { spec: { scope: { projects: [{ project: "web" }] } } }),
    ],
    [
      "when its ttl is set to a time that is over",
      { ttl: 3600 },
      [403],
      ({ path }) => merge(path, { spec: { ttl: 1 } }),
    ],
    // Its object is valid: the former plain key is rejected only when the cached TokenReview
    // expires.
    [
      "when its spec.key changes",
      {},
      [401],
      ({ path }) => merge(path, { spec: { key: randomBytes(24).toString("base64url") } }),
    ],
    ["when its object is deleted", {}, [403], ({ path }) => api.delete(path)],
    // The cached TokenReview may expire first.
    ["when it expires", { ttl: 12 }, [401, 403], async () => {}],
    [
      "when it was not used for its ttl",
      { ttl: 12, ttlAfterLastActivity: true },
      [401, 403],
      () => new Promise((resolve) => setTimeout(resolve, 14_000)),
    ],
  ])("%s", async (what, spec, expected, change) => {
    const key = await working(spec);
    await change(key);
    const { code, ms } = await refusalOf(key, secrets);
    expect(expected).toContain(code);
    process.stderr.write(`webhook: a key is refused ${what}: ${code} after ${ms} ms\n`);
  });
});
