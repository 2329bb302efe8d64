import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion, labels } from "../../src/api/names.ts";
import { recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { becomes } from "../support/becomes.ts";
import { collectionOf, objectOf } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import { managementPath } from "../support/gateway-address.ts";
import { askGateway } from "../support/gateway-request.ts";
import { full } from "../support/full-specs.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { viewIn, viewOf } from "../support/keys-and-tokens.ts";
import {
  api,
  arrange,
  as,
  bind,
  type Caller,
  latchkeyAccount,
  unique,
} from "../support/policy-request.ts";
import { scopedObjects } from "../support/scope-table.ts";
import {
  askDirectly,
  askThroughGateway,
  type KeyedRequest,
  selfReview,
} from "../support/ways-in.ts";

type Spec = Readonly<Record<string, unknown>>;

const admins = unique("admins");
const names = { web: unique("web"), pay: unique("pay"), other: unique("other") };
const { web, pay } = names;

const ways = [
  ["kube-apiserver", askDirectly, () => ({ prefix: "", server: inject("controlPlane") })],
  ["gateway", askThroughGateway, () => ({ prefix: managementPath })],
] as const;

/** The answers at kube-apiserver and at the gateway. */
async function everywhere(
  key: Pick<KnownKey, "key">,
  request: KeyedRequest,
): Promise<readonly number[]> {
  return Promise.all(ways.map(async ([, ask]) => (await ask(key, request)).code));
}

const refusals: readonly unknown[] = [401, 403];

/** A key that every way in knows; an earlier attempt would be refused for a while. */
async function knownKey(spec: Spec): Promise<KnownKey> {
  const key = await makeKey({ spec: { user: "alice", groups: [admins], ...spec } });
  await becomes(`${key.name} to be active`, () => viewOf(key), {
    conditions: { Active: { status: "True" } },
  });
  await becomesAccepted(key);
  return key;
}

/** A key of 12 s that works while most of them are left; a busy machine gets several attempts. */
async function shortKey(spec: Spec = {}): Promise<KnownKey> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const key = await makeKey({ spec: { user: "alice", ttl: 12, ...spec } });
    const isLate = () => Date.now() > key.createdAt + 5_000;
    const isActive = async () => (await viewOf(key)).conditions["Active"]?.status === "True";
    const isAccepted = async () =>
      (await everywhere(key, selfReview)).every((code) => code === 201);
    for (const isReady of [isActive, isAccepted])
      await eventually(async () => isLate() || (await isReady()), { what: "the key", every: 250 });
    if (!isLate()) return key;
  }
  throw new Error("no key of 12 s works within 5 s of its creation");
}

const becomesAccepted = (key: Pick<KnownKey, "name" | "key">): Promise<void> =>
  becomes(`${key.name} to work`, () => everywhere(key, selfReview), [201, 201]);

const instant = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** The account that writes the last use of a key, with the rights of an administrator. */
const webhook: Caller = { ...latchkeyAccount("latchkey-webhook"), groups: ["system:masters"] };

async function lastActivity({ path }: KnownKey): Promise<number> {
  return Date.parse(stringAt((await api.get(path)).status, "lastActivity") ?? "");
}

const core = `/api/v1/namespaces/${web}`;
const apps = `/apis/apps/v1/namespaces/${web}`;
const management = `/apis/${apiVersion}`;

/** What a rule can tell apart, as requests of a user who may do everything; dry runs only. */
const requests = {
  list: { path: `${core}/configmaps` },
  get: { path: `${core}/configmaps/one` },
  "get another": { path: `${core}/configmaps/two` },
  "list by name": { path: `${core}/configmaps?fieldSelector=metadata.name%3Done` },
  create: {
    method: "POST",
    path: `${core}/configmaps?dryRun=All`,
    body: { metadata: { generateName: "new-" } },
  },
  delete: { method: "DELETE", path: `${core}/configmaps/one?dryRun=All` },
  elsewhere: { path: `/api/v1/namespaces/${pay}/configmaps` },
  "no project": { path: `/api/v1/namespaces/${names.other}/configmaps` },
  everywhere: { path: "/api/v1/configmaps" },
  pod: { path: `${core}/pods/none` },
  log: { path: `${core}/pods/none/log` },
  deployments: { path: `${apps}/deployments` },
  scale: { path: `${apps}/deployments/none/scale` },
  node: { path: "/api/v1/nodes/none" },
  secrets: { path: `${core}/secrets` },
  guarded: { path: "/api/v1/namespaces/kube-system/configmaps" },
  keys: { path: `${management}/ownedaccesskeys` },
  shared: { path: `${management}/namespaces/${web}/sharedsecrets` },
  path: { path: "/openid/v1/jwks" },
  "another path": { path: "/.well-known/openid-configuration" },
} as const satisfies Readonly<Record<string, KeyedRequest>>;

type RequestName = keyof typeof requests;

const all = Object.keys(requests).filter((name): name is RequestName => name in requests);
const without = (...left: readonly RequestName[]): readonly RequestName[] =>
  all.filter((name) => !left.includes(name));
/** What yields credentials: a rule has to list the resource, or the namespace, by name. */
const escapes = ["secrets", "guarded", "keys"] as const;
const paths = ["path", "another path"] as const;
/** What each of the first requests, about ConfigMaps of one namespace, asks. */
const configMaps = [
  ...(["list", "get", "get another", "list by name", "create", "delete"] as const),
] as const;
const inWeb = [
  ...configMaps,
  ...(["pod", "log", "deployments", "scale", "shared"] as const),
] as const;

const of = (group: string, ...resources: readonly string[]) => ({
  resources: [{ group, resources }],
});
const rule = (fields: object) => ({ rules: [fields] });

/** The sentence, the scope, and what it covers of the requests. */
const scopes: readonly (readonly [string, object, readonly RequestName[]])[] = [
  [
    "verbs are those of the rule",
    rule({ verbs: ["get"], ...of("", "configmaps") }),
    ["get", "get another"],
  ],
  [
    "an empty list of verbs is every verb",
    rule({ verbs: [], ...of("", "configmaps") }),
    [...configMaps, "elsewhere", "no project", "everywhere"],
  ],
  [
    "a group is the API group, and the empty string the core group",
    rule(of("apps", "deployments", "configmaps")),
    ["deployments"],
  ],
  ["a resource is without its subresources", rule(of("", "pods")), ["pod"]],
  ["a subresource is without its resource", rule(of("", "pods/log")), ["log"]],
  ["a resource and a wildcard are its subresources", rule(of("", "pods/*")), ["log"]],
  [
    "a wildcard and a subresource are that of all resources",
    rule(of("apps", "*/scale")),
    ["scale"],
  ],
  [
    "a wildcard is every resource and subresource of the group, without Secrets",
    rule(of("", "*")),
    [...configMaps, "elsewhere", "no project", "everywhere", "pod", "log", "node"],
  ],
  [
    "an empty list in a group is everything in the group",
    rule(of("apps")),
    ["deployments", "scale"],
  ],
  [
    "an empty list of resources is everything, without what has to be named",
    rule({ resources: [] }),
    without(...escapes),
  ],
  [
    "what has to be named is covered by its name",
    {
      rules: [
        { ...of("", "secrets"), namespaces: [web] },
        { ...of("", "configmaps"), namespaces: ["kube-system"] },
        of("management.service", "ownedaccesskeys"),
      ],
    },
    escapes,
  ],
  [
    "resourceNames are the objects of the rule",
    rule({ ...of("", "configmaps"), resourceNames: ["one"] }),
    ["get", "list by name", "delete"],
  ],
  [
    "an empty list of resourceNames is every object",
    rule({ ...of("", "configmaps"), resourceNames: [], namespaces: [web] }),
    configMaps,
  ],
  ["namespaces are those of the rule", rule({ namespaces: [pay] }), ["elsewhere"]],
  ["the empty string in namespaces is what has no namespace", rule({ namespaces: [""] }), ["node"]],
  [
    "an empty list of namespaces is every namespace, without guarded ones",
    rule({ ...of("", "configmaps"), verbs: ["list"], namespaces: [] }),
    ["list", "list by name", "elsewhere", "no project", "everywhere"],
  ],
  [
    "nonResourceURLs are the paths of the rule",
    rule({ nonResourceURLs: [requests.path.path] }),
    ["path"],
  ],
  [
    "a wildcard in nonResourceURLs is every path below",
    rule({ nonResourceURLs: ["/openid/*"] }),
    ["path"],
  ],
  ["a path is without those below it", rule({ nonResourceURLs: ["/openid", "/openid/v1"] }), []],
  ["a wildcard alone in nonResourceURLs is every path", rule({ nonResourceURLs: ["*"] }), paths],
  ["requestTargets are those of the rule", rule({ requestTargets: ["Cluster"] }), []],
  [
    "the target Management is the central cluster",
    rule({ requestTargets: ["Management"] }),
    without(...escapes),
  ],
  ["a rule with cluster is for that cluster alone", rule({ cluster: "east" }), []],
  ["a rule with virtualClusters is for these alone", rule({ virtualClusters: [{}] }), []],
  [
    "projects are those of the scope, with their Secrets",
    { projects: [{ project: web }] },
    [...inWeb, "secrets"],
  ],
  [
    "a wildcard in projects is every project",
    { projects: [{ project: "*" }] },
    [...inWeb, "secrets", "elsewhere"],
  ],
  [
    "spaces are those of the scope",
    {
      spaces: [
        { project: web, space: "dev" },
        { project: pay, space: "prod" },
      ],
    },
    [...inWeb, "secrets"],
  ],
  [
    "a wildcard in spaces is every space of the project",
    { spaces: [{ project: pay, space: "*" }] },
    ["elsewhere"],
  ],
  [
    "virtualClusters are those of the scope",
    {
      virtualClusters: [
        { project: web, virtualCluster: "v1" },
        { project: pay, virtualCluster: "v2" },
      ],
    },
    [...inWeb, "secrets"],
  ],
  [
    "a wildcard in virtualClusters is every one of the project",
    { virtualClusters: [{ project: pay, virtualCluster: "*" }] },
    ["elsewhere"],
  ],
  ["clusters are connected ones", { clusters: [{ cluster: "*" }] }, []],
  [
    "a role is a bundle of permissions",
    { roles: [{ role: web }] },
    ["list", "get", "get another", "list by name", "elsewhere", "no project", "everywhere"],
  ],
  ["the projects of a role narrow it", { roles: [{ role: web, projects: [pay] }] }, ["elsewhere"]],
  [
    "the virtual clusters of a role narrow it",
    { roles: [{ role: web, virtualClusters: ["v2"] }] },
    [],
  ],
  [
    "the projects and the virtual clusters of a role narrow it together",
    { roles: [{ role: web, projects: [pay], virtualClusters: ["v1"] }] },
    ["elsewhere"],
  ],
  ["the role serviceCLI reads SharedSecrets", { roles: [{ role: "serviceCLI" }] }, ["shared"]],
  ["allowServiceCli is the role serviceCLI", { allowServiceCli: true }, ["shared"]],
];

describe.skipIf(inject("webhook") === undefined)("at both ways in", { concurrent: true }, () => {
  beforeAll(async () => {
    await bind({ kind: "Group", name: admins }, "cluster-admin");
    for (const request of scopedObjects(names)) await arrange(request);
    // The role and the labels arrive through watches.
    const scope = {
      roles: [{ role: web, projects: [pay] }],
      projects: [{ project: web }],
    };
    const key = await knownKey({ scope });
    for (const name of ["list", "elsewhere"] as const)
      await becomes(
        `the ${labels.project} of ${name}`,
        () => everywhere(key, requests[name]),
        [200, 200],
      );
  });

  describe("a key", () => {
    it.each(ways)(
      "with a ttl works for it, and not longer, although it is used: %s",
      async (_way, ask) => {
        const key = await shortKey();
        const status = { lastActivity: instant(key.createdAt + 3_600_000) };
        expect(await as(webhook).merge(`${key.path}/status`, { status })).toMatchObject({ status });
        const refused = await eventually(
          async () => {
            const { code } = await ask(key, selfReview);
            return code !== 201 && { code, at: Date.now() };
          },
          { what: "the end of the key", every: 1_000 },
        );
        expect(refusals).toContain(refused.code);
        expect(refused.at).toBeGreaterThanOrEqual(key.createdAt + 12_000);
      },
    );

    it.each(ways)(
      "with ttlAfterLastActivity works while it is used, and a ttl after the last use, which is in its status: %s",
      async (_way, ask) => {
        const key = await shortKey({ ttlAfterLastActivity: true });
        let usedAt = 0;
        // Each pause is a quarter of the ttl.
        while (usedAt < key.createdAt + 16_000) {
          await pause(3_000);
          usedAt = Date.now();
          expect((await ask(key, selfReview)).code).toBe(201);
        }
        // A use is written at most once a second, in whole seconds.
        const isRecorded = async () => (await lastActivity(key)) >= usedAt - 2_000;
        await eventually(isRecorded, { what: "the last use in the status" });
        const used = await lastActivity(key);
        expect(used).toBeLessThanOrEqual(Date.now());
        await becomes(`${key.name} to expire`, () => viewOf(key), {
          conditions: { Expired: { status: "True" } },
        });
        expect(Date.now()).toBeGreaterThanOrEqual(used + 12_000);
        expect(refusals).toContain((await ask(key, selfReview)).code);
      },
    );

    it.each([{ ttl: 0 }, { ttlAfterLastActivity: true }])("has no end with %j", async (spec) => {
      const key = await knownKey(spec);
      expect((await viewOf(key)).expiresAt).toBeUndefined();
    });

    it.each<[string, Spec, string, readonly string[]]>([
      ["user", { user: "alice", groups: ["devs"] }, "alice", ["devs"]],
      ["team", { team: "web" }, "management.service:team:web", ["web"]],
      ["subject", { subject: "robot" }, "robot", []],
      ["identity", { user: "alice", identity: { groups: ["staff"] } }, "alice", ["staff"]],
    ])("acts as its %s", async (_field, spec, username, groups) => {
      const key = await makeKey({ spec });
      await becomesAccepted(key);
      const { method, path, body } = selfReview;
      const headers = { "content-type": "application/json" };
      for (const [, , way] of ways) {
        const { prefix, ...server } = way();
        const asked = { method, headers, key: key.key, body: JSON.stringify(body) };
        const { text } = await askGateway({ ...asked, ...server, path: prefix + path });
        const { userInfo } = recordAt(JSON.parse(text), "status");
        expect(userInfo).toMatchObject({ username });
        expect(new Set(stringsAt(userInfo, "groups"))).toEqual(
          new Set([...groups, "system:authenticated"]),
        );
      }
    });

    it("that was never used ends a ttl after its creation, also with ttlAfterLastActivity", async () => {
      const spec = { user: "alice", ttl: 3, ttlAfterLastActivity: true };
      const key = await makeKey({ spec });
      await becomes(`${key.name} to expire`, () => viewOf(key), {
        conditions: { Expired: { status: "True" } },
      });
      expect(Date.now()).toBeGreaterThanOrEqual(key.createdAt + 3_000);
      // What knows a newer key knows this one.
      await knownKey({});
      expect(await everywhere(key, selfReview)).toEqual([401, 401]);
      expect(await lastActivity(key)).toBeNaN();
    });

    it("that is disabled exists, is refused whatever it asks, and works again when it is enabled", async () => {
      const key = await knownKey({});
      await api.merge(key.path, { spec: { disabled: true } });
      await becomesRefused(key);
      expect(await api.get(key.path)).toMatchObject({ code: 200, spec: { disabled: true } });
      for (const name of ["get", "create", "delete", "path"] as const)
        for (const code of await everywhere(key, requests[name])) expect(refusals).toContain(code);
      await api.merge(key.path, { spec: { disabled: false } });
      await becomesAccepted(key);
    });

    it("that is deleted is refused, and its object is gone", async () => {
      const key = await knownKey({});
      await api.delete(key.path);
      await becomesRefused(key);
      await becomes("the object to be gone", () => api.find(key.path), { code: 404 });
    });
  });

  describe("of a scope", () => {
    it.each(scopes)("%s", async (_sentence, scope, covered) => {
      const key = await knownKey({ scope });
      for (const [way, ask] of ways) {
        const found: RequestName[] = [];
        for (const name of all) {
          const { code, message } = await ask(key, requests[name]);
          const isRefused = code === 403 && message.includes("the scope of this credential");
          expect([way, name, isRefused || [200, 201, 404].includes(code)]).toEqual([
            way,
            name,
            true,
          ]);
          if (!isRefused) found.push(name);
        }
        expect([way, found]).toEqual([way, all.filter((name) => covered.includes(name))]);
      }
    });
  });

  /** Waits until both ways in refuse a key. */
  async function becomesRefused(key: KnownKey): Promise<void> {
    const isRefused = async () =>
      (await everywhere(key, selfReview)).every((code) => refusals.includes(code));
    await eventually(isRefused, { what: `${key.name} to be refused` });
  }

  it.each(full)(
    "every field of a $kind is as it was sent after controller and webhook have seen it",
    async ({ kind, spec }) => {
      const isKey = kind === "OwnedAccessKey";
      const { connectorData: _, ...identity } = recordAt(spec, "identity");
      const key = unique("lk.a-plain-key");
      const kept = isKey ? { ...spec, identity, key, disabled: false } : spec;
      // The webhook takes it away, and nothing else.
      const hidden = isKey ? { identity: { ...identity, connectorData: "of the login" } } : {};
      const name = unique("kept");
      const path = `${collectionOf(kind)}/${name}`;
      await api.create(collectionOf(kind), objectOf(kind, name, { ...kept, ...hidden }));
      const isReady = () =>
        becomes(`${name} to be ready`, async () => viewIn(await api.get(path)), {
          settled: true,
          conditions: { Ready: { status: "True" } },
        });
      await isReady();
      // Its use writes the status of a key, and a finalizer is written by now.
      if (isKey) await becomesAccepted({ name, key });
      await api.merge(path, { metadata: { labels: { team: "a" } } });
      await isReady();
      expect((await api.get(path)).spec).toEqual(kept);
    },
  );
});
