import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { numberAt, parseConditions, recordAt } from "../../src/api/parse.ts";
import { requesterHash } from "../../src/domain/grants/granted-names.ts";
import { derivedName } from "../../src/domain/shared-secret/derived-role.ts";
import { collectionOf, kinds, objectOf, type KindName } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import { startHealthScripts, shippedScripts } from "../support/health-scripts.ts";
import { allowRequesters, changesIn, make, type OwnKind } from "../support/keys-and-tokens.ts";
import { becomes } from "../support/becomes.ts";
import {
  api,
  admin,
  makeNamespace,
  replace,
  unique,
  type Caller,
} from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  makeTarget,
  rbacPath,
  sharedSecretPath,
  type Place,
} from "../support/shared-secret-requests.ts";
import { isMissing, orMissing, present } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { isRefusedByDead, putDeadWebhook, type WebhookScope } from "./foreign-webhook.ts";
import { dataOf, makeSecret, makeSynced, to } from "./sync-fixture.ts";

const report = (line: string) => void process.stderr.write(`Argo CD health: ${line}\n`);
const scripts = await orMissing(startHealthScripts(report));

const requesters = unique("requesters");
const alice: Caller = { user: "alice", groups: ["devs", requesters] };
const holder = "test.example/hold";
const cleanUps: (() => Promise<unknown>)[] = [];

beforeAll(() => allowRequesters(requesters));

afterAll(async () => {
  if (!isMissing(scripts)) scripts.stop();
  for (const cleanUp of cleanUps) await cleanUp();
  expectNoTrouble();
});

/** What Argo CD shows for an object from the API server. */
async function healthOf(object: unknown): Promise<unknown> {
  return present(scripts).healthOf(object);
}

const readyOf = (object: unknown) =>
  parseConditions(recordAt(object, "status")).find(({ type }) => type === "Ready");

/** Waits until Ready has a reason, and returns the object. */
async function reaches(path: string, reason: string): Promise<unknown> {
  return eventually(
    async () => {
      const object = await api.find(path);
      return readyOf(object)?.reason === reason && object;
    },
    { what: `${path} to be ${reason}` },
  );
}

/** A state of an object in the cluster, and what Argo CD shows for it. */
interface Case {
  readonly reason: string;
  readonly status: "Healthy" | "Progressing" | "Degraded" | "Suspended";
  /** Brings about the state; returns the path of the object. */
  readonly arrange: () => Promise<string>;
}

async function sharedSecret(spec: Record<string, unknown>, given = {}): Promise<string> {
  const namespace = await makeNamespace();
  return (await makeSharedSecret({ namespace, spec, annotations: given })).path;
}

const readers = [{ users: ["carol"], verbs: ["get"] }];

/** Puts a dead webhook before creates until the tests are done, and waits for its effect. */
async function breaks({
  body,
  path,
  ...scope
}: WebhookScope & { readonly body: object; readonly path: string }): Promise<void> {
  cleanUps.push(await putDeadWebhook(scope));
  await eventually(() => isRefusedByDead(path, body), { what: "the webhook to be in the way" });
}

/** A SharedSecret whose RoleBinding the API server cannot create. */
async function withFailedWrites(): Promise<string> {
  const namespace = await makeNamespace();
  await breaks({
    group: "rbac.authorization.k8s.io",
    resources: ["rolebindings"],
    operations: ["CREATE"],
    namespace,
    body: {
      metadata: { name: "try" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "x" },
      subjects: [],
    },
    path: rbacPath("rolebindings", namespace),
  });
  return (await makeSharedSecret({ namespace, spec: { access: readers } })).path;
}

/** A SharedSecret with grants, of which a foreign Role takes the name of the first. */
async function withNameConflict(): Promise<string> {
  const place: Place = await makeSharedSecret({ namespace: await makeNamespace() });
  await becomesReady(place);
  const name = derivedName(place, { verbs: ["get"], status: false });
  const path = rbacPath("roles", place.namespace);
  await api.create(path, { metadata: { name }, rules: [] });
  await api.merge(place.path, { spec: { access: readers } });
  return place.path;
}

/** A SharedSecret in a namespace whose quota allows no Roles. */
async function withRefusedRole(): Promise<string> {
  const namespace = await makeNamespace();
  const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
  const hard = { "count/roles.rbac.authorization.k8s.io": "0" };
  await api.create(quotas, { metadata: { name: "none" }, spec: { hard } });
  await becomes("the quota to count", () => api.find(`${quotas}/none`), { status: { hard } });
  return (await makeSharedSecret({ namespace, spec: { access: readers } })).path;
}

/** A SharedSecret whose only target has a foreign Secret of its name. */
async function withConflict(): Promise<string> {
  const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
  await makeSecret(await makeTarget(project, namespace), name);
  const spec = { data: dataOf("first") };
  return (await makeSharedSecret({ namespace, name, annotations: to(project), spec })).path;
}

/** An object that is being deleted, and that a finalizer of another controller keeps. */
async function terminating(kind: KindName, spec: object): Promise<string> {
  const collection = collectionOf(kind);
  const name = unique("held");
  const object = { ...objectOf(kind, name, spec), metadata: { name, finalizers: [holder] } };
  const path = `${collection}/${name}`;
  await api.create(collection, object);
  await eventually(async () => readyOf(await api.find(path))?.status === "True", {
    what: `${name} to be ready`,
  });
  await api.delete(path);
  cleanUps.push(() =>
    replace(admin, path, (object) => {
      const { finalizers = [], ...metadata } = object.metadata;
      const others = finalizers.filter((name) => name !== holder);
      return { ...object, metadata: { ...metadata, finalizers: others } };
    }),
  );
  return path;
}

const sharedSecrets: readonly Case[] = [
  { reason: "Ready", status: "Healthy", arrange: async () => (await makeSynced()).source.path },
  { reason: "Ready", status: "Healthy", arrange: withConflict },
  {
    reason: "InvalidAccessRule",
    status: "Degraded",
    arrange: () => sharedSecret({ access: [{ users: ["carol"], verbs: ["fly"] }] }),
  },
  {
    reason: "InvalidSyncOption",
    status: "Degraded",
    arrange: () => sharedSecret({}, to("web", { "management.service/copy-labels": "a b=c" })),
  },
  {
    reason: "InvalidKey",
    status: "Degraded",
    arrange: () => sharedSecret({ data: { "..wrong": base64("x") } }, to("web")),
  },
  {
    reason: "TooLarge",
    status: "Degraded",
    arrange: () => sharedSecret({ data: { large: base64("x".repeat(1_060_000)) } }, to("web")),
  },
  { reason: "AccessRejected", status: "Degraded", arrange: withRefusedRole },
  { reason: "NameConflict", status: "Degraded", arrange: withNameConflict },
  {
    reason: "ApplyFailed",
    status: "Progressing",
    arrange: withFailedWrites,
  },
  {
    reason: "Terminating",
    status: "Progressing",
    arrange: () => terminating("SharedSecret", {}),
  },
];

const noKey: Caller = { ...alice, extra: { "management.service/key-id": ["k-17"] } };

const own = async (kind: OwnKind, wanted: Parameters<typeof make>[1]) =>
  (await make(kind, { ...wanted, withoutWebhook: true })).path;
const key = (spec: Record<string, unknown>) => own("OwnedAccessKey", { spec });
const newKey = () => unique("lk.plain");

async function duplicateKey(): Promise<string> {
  const value = newKey();
  await key({ user: "alice", key: value });
  const second = { user: "bob", key: value };
  // The names decide only within the same second, so the first object is older for sure.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return key(second);
}

const accessKeys: readonly Case[] = [
  { reason: "Active", status: "Healthy", arrange: () => key({ user: "alice", key: newKey() }) },
  {
    reason: "Disabled",
    status: "Suspended",
    arrange: () => key({ user: "alice", key: newKey(), disabled: true }),
  },
  {
    reason: "Expired",
    status: "Degraded",
    arrange: () => key({ user: "alice", key: newKey(), ttl: 1 }),
  },
  { reason: "MissingKey", status: "Degraded", arrange: () => key({ user: "alice" }) },
  { reason: "MissingSubject", status: "Degraded", arrange: () => key({ key: newKey() }) },
  { reason: "DuplicateKey", status: "Degraded", arrange: duplicateKey },
  {
    reason: "ParentKeyInvalid",
    status: "Degraded",
    arrange: () => own("OwnedAccessKey", { by: noKey, spec: { user: "alice", key: newKey() } }),
  },
  {
    reason: "InvalidScope",
    status: "Degraded",
    arrange: () => key({ user: "alice", key: newKey(), scope: { roles: [{ role: "unknown" }] } }),
  },
  {
    reason: "Terminating",
    status: "Progressing",
    arrange: () => terminating("OwnedAccessKey", { user: "alice", key: newKey() }),
  },
];

const kind = "DirectClusterEndpointToken";
const account: Caller = {
  user: "system:serviceaccount:default:ci",
  groups: ["system:serviceaccounts", requesters],
};
const longScope = {
  clusters: Array.from({ length: 250 }, (_, at) => ({ cluster: `production-cluster-${at}` })),
};

const tokens: readonly Case[] = [
  { reason: "Minted", status: "Healthy", arrange: () => own(kind, { by: alice }) },
  {
    reason: "Expired",
    status: "Degraded",
    arrange: () => own(kind, { by: alice, spec: { ttl: 2 } }),
  },
  { reason: "ParentKeyInvalid", status: "Degraded", arrange: () => own(kind, { by: noKey }) },
  {
    reason: "UnsupportedRequester",
    status: "Degraded",
    arrange: () => own(kind, { by: account }),
  },
  {
    reason: "TokenTooLarge",
    status: "Degraded",
    arrange: () => own(kind, { by: alice, spec: { scope: longScope } }),
  },
  { reason: "Terminating", status: "Progressing", arrange: () => terminating(kind, {}) },
];

const sentence = (status: string) => ({ status, message: expect.stringMatching(/\S/) });

async function showsReady({ reason, status, arrange: bringAbout }: Case): Promise<void> {
  const object = await reaches(await bringAbout(), reason);
  expect(await healthOf(object)).toEqual({ status, message: readyOf(object)?.message });
}

describe("in Argo CD", { concurrent: true, ...skippedWithout(scripts) }, () => {
  it("every kind has a script, and there is no other script", () => {
    expect(Object.keys(shippedScripts()).sort()).toEqual(
      Object.keys(kinds)
        .map((name) => `resource.customizations.health.management.service_${name}`)
        .sort(),
    );
  });

  it.each(Object.keys(kinds) as KindName[])(
    "an object of the kind %s that no controller has seen is Progressing",
    async (name) => {
      const object = objectOf(name, unique("new"), {});
      const created = await api.create(collectionOf(name), object);
      expect(numberAt(recordAt(created, "status"), "observedGeneration")).toBe(-1);
      expect(await healthOf(created)).toEqual(sentence("Progressing"));
    },
  );

  it("a SharedSecret whose status is of an older generation is Progressing", async () => {
    const { source } = await makeSynced();
    const changed = await api.merge(source.path, { spec: { data: dataOf("third") } });
    const { observedGeneration } = recordAt(changed, "status");
    expect(observedGeneration).toBeLessThan(Number(changed.metadata.generation));
    expect(await healthOf(changed)).toEqual(sentence("Progressing"));
    await becomesReady(source);
    expect(await healthOf(await api.find(source.path))).toEqual(sentence("Healthy"));
  });

  it("a SharedSecret is Healthy only from the moment that all copies exist", async () => {
    const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
    const target = await makeTarget(project, namespace);
    const path = sharedSecretPath(namespace);
    const given = { name, annotations: to(project) };
    const created = await api.create(path, {
      apiVersion,
      kind: "SharedSecret",
      metadata: given,
      spec: { data: dataOf("first") },
    });
    await becomesReady({ namespace, name, uid: "", path: `${path}/${name}` });
    const copy = await api.find(`/api/v1/namespaces/${target}/secrets/${name}`);
    const changes = await changesIn(path, {
      fieldSelector: `metadata.name=${name}`,
      resourceVersion: String(created.metadata.resourceVersion),
    });
    const healths = await Promise.all(
      changes.map(async ({ object }) => ({
        health: await healthOf(object),
        copied: Number(object.metadata.resourceVersion) > Number(copy.metadata.resourceVersion),
      })),
    );
    const statuses = healths.map(({ health }) => recordAt({ health }, "health").status);
    expect(statuses.at(-1)).toBe("Healthy");
    expect(statuses.filter((status) => status !== "Progressing" && status !== "Healthy")).toEqual(
      [],
    );
    expect(
      healths.filter(
        ({ health, copied }) => recordAt({ health }, "health").status === "Healthy" && !copied,
      ),
    ).toEqual([]);
  });

  it.each(sharedSecrets)("a SharedSecret with the reason $reason is $status", showsReady);
});

describe.skipIf(!inject("hasPolicies"))(
  "in Argo CD, with the policies that record requesters",
  { concurrent: true, ...skippedWithout(scripts) },
  () => {
    it.each(accessKeys)("an OwnedAccessKey with the reason $reason is $status", showsReady);

    it.each(tokens)("a DirectClusterEndpointToken with the reason $reason is $status", showsReady);

    it("a key and a token whose grant the API server cannot write are Progressing", async () => {
      const user = unique("waiting");
      const by = { user, groups: ["system:masters"] };
      const role = `latchkey-requester-${requesterHash(user)}`;
      await breaks({
        group: "rbac.authorization.k8s.io",
        resources: ["clusterroles"],
        operations: ["CREATE"],
        expression: `object.metadata.name.startsWith("${role}")`,
        body: { metadata: { name: `${role}-9` } },
        path: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      });
      const paths = [
        await own("OwnedAccessKey", { by, spec: { user, key: newKey() } }),
        await own(kind, { by }),
      ];
      for (const path of paths) {
        const object = await reaches(path, "ApplyFailed");
        expect(await healthOf(object)).toEqual(sentence("Progressing"));
      }
    });
  },
);
