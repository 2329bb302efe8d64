import { annotations, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringsAt } from "../../src/api/parse.ts";
import {
  type BareClient,
  type BareRequest,
  patch,
  post,
  put,
  remove,
} from "../support/bare-client.ts";
import {
  createRequest,
  dataOf,
  home,
  metadataOf,
  type OwnPlural,
  ownPath,
  plainKeyOf,
  secretPath,
  sharedSecretPath,
} from "../support/bench-objects.ts";
import { stageLabel, valueOf } from "./admission-stages.ts";
import type { BenchFixture, Running } from "./bench-fixture.ts";
import type { Load } from "./processor-costs.ts";

/** What the loads need: clients of two users who may create and patch objects, and get one Secret. */
export interface LoadDeps {
  readonly fixture: BenchFixture;
  readonly users: readonly (readonly [name: string, client: BareClient])[];
}

const kinds = {
  ownedaccesskeys: { kind: "OwnedAccessKey", prefix: "key" },
  directclusterendpointtokens: { kind: "DirectClusterEndpointToken", prefix: "token" },
} as const;

/** The name of a load: what is created, and the stage. */
export function loadName(plural: OwnPlural, stage: string): string {
  return `${kinds[plural].prefix}, ${stage}`;
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** The Secret that SharedSecrets follow; a policy asks who may get it, and it need not exist. */
const followed = "followed";

/** Lets all users create keys, tokens, and what is in the namespace of the bench, Pods too. */
export async function allowUsers({ admin }: BenchFixture): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  const subjects = [{ kind: "Group", name: "system:authenticated", apiGroup }];
  const metadata = { name: "bench-admission" };
  const roleRef = (kind: string, name: string): object => ({ apiGroup, kind, name });
  const rules = [
    { apiGroups: [""], resources: ["configmaps", "secrets", "pods"], verbs: ["create"] },
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
    { apiGroups: [""], resources: ["secrets"], resourceNames: [followed], verbs: ["get"] },
    {
      apiGroups: ["management.service"],
      resources: ["sharedsecrets"],
      verbs: ["create", "patch", "delete"],
    },
  ];
  const ofAll = { metadata, subjects, roleRef: roleRef("ClusterRole", "latchkey-requester") };
  const inHome = { metadata, subjects, roleRef: roleRef("Role", metadata.name) };
  await admin.send(post(`${rbac}/clusterrolebindings`, ofAll));
  await admin.send(post(`${rbac}/namespaces/${home}/roles`, { metadata, rules }));
  await admin.send(post(`${rbac}/namespaces/${home}/rolebindings`, inHome));
}

/** What others write, and what the controller writes into the namespaces of projects. */
const foreign = {
  ConfigMap: {
    path: `/api/v1/namespaces/${home}/configmaps`,
    rest: { data: { text: "a text that is as long as the spec of a key or token" } },
  },
  Secret: { path: secretPath(home), rest: { data: dataOf("foreign") } },
  Pod: {
    path: `/api/v1/namespaces/${home}/pods`,
    rest: { spec: { containers: [{ name: "one", image: "image.example/one" }] } },
  },
  Lease: {
    path: `/apis/coordination.k8s.io/v1/namespaces/${home}/leases`,
    rest: { spec: { holderIdentity: "somebody" } },
  },
  copy: { path: secretPath(home), rest: { type: "Opaque", data: dataOf("copy") } },
} as const;

/** Names of {@link foreignLoad}. */
export const foreignKinds = Object.keys(foreign) as readonly (keyof typeof foreign)[];

/** Tries to create objects of others with a user's account, or copies with the controller's. */
export function foreignLoad(
  { fixture, users }: LoadDeps,
  kind: keyof typeof foreign,
  stage: string,
): Load {
  const { path, rest } = foreign[kind];
  const value = valueOf(stage);
  const ofCopy = kind === "copy" ? { [labels.sourceUid]: "00000000-0000-4000-8000-00000000" } : {};
  return {
    name: `${kind}, ${stage}`,
    async run(count, round) {
      const client = kind === "copy" ? fixture.account : clientOf(users, round);
      await client.pour(count, (index) => {
        const name = `bench-${kind.toLowerCase()}-${value}-${round}-${index}`;
        return post(path, {
          metadata: { name, labels: { [stageLabel]: value, ...ofCopy } },
          ...rest,
        });
      });
      return count;
    },
    clean: () => removeAll(fixture, path, stage),
  };
}

/** Tries to create keys or tokens that only the policies and webhooks of a stage see. */
export function createLoad({ users }: LoadDeps, plural: OwnPlural, stage: string): Load {
  return {
    name: loadName(plural, stage),
    async run(count, round) {
      const user = userOf(users, round);
      await clientOf(users, round).pour(count, (index) =>
        tried(ownRequest(plural, { name: `${valueOf(stage)}-${round}-${index}`, user, stage })),
      );
      return count;
    },
  };
}

/**
 * The request as a dry run, which policies and webhooks see as any other: a write, and the deletion
 * after it, cost the API server more than they differ by, and at other times.
 */
function tried(request: BareRequest): BareRequest {
  return { ...request, path: `${request.path}?dryRun=All` };
}

/** What is measured of SharedSecrets that follow a Secret. */
export const followingWork = ["create", "label", "add a user", "take a user out"] as const;

const readers = Array.from({ length: 100 }, (_, at) => `reader-${at}`);
const accessOf = (users: readonly string[]) => ({
  spec: { access: [{ verbs: ["get", "list", "watch"], users }] },
});
const changeOf = {
  label: { metadata: { labels: { changed: "true" } } },
  "add a user": accessOf([...readers, "another"]),
  "take a user out": accessOf(readers.slice(1)),
} as const;

/** Creates or changes SharedSecrets that follow a Secret, and that 100 users read. */
export function followingLoad(
  { fixture, users }: LoadDeps,
  work: (typeof followingWork)[number],
  stage: string,
): Load {
  const nameOf = (index: number, round: number): string =>
    `${work.replaceAll(" ", "-")}-${stage}-${round}-${index}`;
  const create = (count: number, round: number): Promise<number> =>
    clientOf(users, round).pour(count, (index) => {
      const metadata = {
        name: nameOf(index, round),
        labels: { [stageLabel]: stage },
        annotations: { [annotations.dataFrom]: followed },
      };
      return createRequest("SharedSecret", metadata, accessOf(readers).spec);
    });
  return {
    name: `SharedSecret with data-from, ${work}, ${stage}`,
    async prepare(count, round) {
      if (work !== "create") await create(count, round);
    },
    async run(count, round) {
      if (work === "create") await create(count, round);
      else
        await clientOf(users, round).pour(count, (index) =>
          patch(sharedSecretPath(home, nameOf(index, round)), changeOf[work]),
        );
      return count;
    },
    clean: () => removeAll(fixture, sharedSecretPath(home), stage),
  };
}

/** The stage of objects that everything sees, while the controller runs. */
export const allInStage = "all in";

/** Creates keys or tokens that all see; they stay. The note counts the controller's writes. */
export function allInLoad(
  { users }: LoadDeps,
  { plural, running, stage }: { plural: OwnPlural; running: Running; stage: string },
): Load {
  let items = 0;
  const writes = new Map<string, number>();
  return {
    name: loadName(plural, stage),
    async run(count, round) {
      const end = await running.readings.begin();
      const user = userOf(users, round);
      await clientOf(users, round).pour(count, (index) =>
        ownRequest(plural, { name: `${valueOf(stage)}-${round}-${index}`, user, stage }),
      );
      await running.readings.settled();
      const { requests } = await end();
      for (const [method, sent] of Object.entries(requests))
        writes.set(method, (writes.get(method) ?? 0) + sent);
      items += count;
      return count;
    },
    note: () => [...writes].map(([method, sent]) => `${method} ${(sent / items).toFixed(2)}`),
  };
}

/** Writes the status of keys or tokens with the account of the controller. */
export function statusLoad({ fixture, users }: LoadDeps, plural: OwnPlural, stage: string): Load {
  const nameOf = (index: number, round: number): string => `status-${stage}-${round}-${index}`;
  return {
    name: loadName(plural, `status, ${stage}`),
    async prepare(count, round) {
      const user = userOf(users, round);
      await clientOf(users, round).pour(count, (index) =>
        ownRequest(plural, { name: nameOf(index, round), user, stage }),
      );
    },
    async run(count, round) {
      await fixture.account.pour(count, (index) =>
        patch(`${ownPath(plural, nameOf(index, round))}/status`, { status: statusOf(plural) }),
      );
      return count;
    },
    clean: () => removeOwn(fixture, plural, stage),
  };
}

/** Roles that are written at the same time. */
const roles = 16;

/** Adds a name to ClusterRoles that grant `size` names, with the account of the controller. */
export function grantLoad(
  { fixture }: LoadDeps,
  { size, stage }: { readonly size: number; readonly stage: string },
): Load {
  const path = `${rbac}/clusterroles`;
  const nameOf = (role: number): string => `latchkey-requester-${hashOf(role)}-0`;
  const rulesOf = (added: number): object => ({
    apiGroups: ["management.service"],
    resources: ["directclusterendpointtokens"],
    verbs: ["get", "list", "watch", "delete"],
    resourceNames: [
      ...Array.from({ length: size - 1 }, (_, index) => `granted-token-${index}`),
      `added-${added}`,
    ],
  });
  const roleOf = (role: number, added: number): object => ({
    metadata: {
      name: nameOf(role),
      labels: { [stageLabel]: stage, [labels.requesterHash]: hashOf(role) },
      annotations: { [annotations.requester]: "bench" },
    },
    rules: [rulesOf(added)],
  });
  return {
    name: `grant of ${size} names, ${stage}`,
    async prepare() {
      await fixture.account.pour(roles, (role) => post(path, roleOf(role, 0)));
    },
    async run() {
      for (const added of [1, 2])
        await fixture.account.pour(roles, (role) =>
          put(`${path}/${nameOf(role)}`, roleOf(role, added)),
        );
      return 2 * roles;
    },
    clean: () => removeAll(fixture, path, stage),
  };
}

const hashOf = (role: number): string => role.toString(16).padStart(32, "0");

function ownRequest(
  plural: OwnPlural,
  { name, user, stage }: { readonly name: string; readonly user: string; readonly stage: string },
): BareRequest {
  const spec =
    plural === "ownedaccesskeys" ? { user, key: plainKeyOf(name), ttl: 86_400 } : { ttl: 3600 };
  const labelled = { labels: { [stageLabel]: valueOf(stage) } };
  return createRequest(kinds[plural].kind, { name, ...labelled }, spec);
}

function statusOf(plural: OwnPlural): object {
  const common = {
    lastTransitionTime: "2026-01-01T00:00:00Z",
    message: "as long as such a text is",
  };
  return {
    observedGeneration: 1,
    conditions: ["Ready", "Active", "Expired"].map((type) => ({
      type,
      status: "True",
      reason: "Active",
      observedGeneration: 1,
      ...common,
    })),
    expiresAt: "2027-01-01T00:00:00Z",
    keyID: "0123456789abcdef",
    ...(plural === "ownedaccesskeys" ? {} : { token: "x".repeat(600) }),
  };
}

async function removeOwn(fixture: BenchFixture, plural: OwnPlural, stage: string): Promise<void> {
  const { admin } = fixture;
  const listed = listAt(await admin.get(`${ownPath(plural)}?${selected(stage)}`), "items");
  const finalized = listed.filter(
    (object) => stringsAt(recordAt(object, "metadata"), "finalizers").length > 0,
  );
  await admin.pour(finalized.length, (index) =>
    patch(ownPath(plural, metadataOf(finalized[index]).name), { metadata: { finalizers: null } }),
  );
  await removeAll(fixture, ownPath(plural), stage);
}

async function removeAll({ admin }: BenchFixture, path: string, stage: string): Promise<void> {
  await admin.send(remove(`${path}?${selected(stage)}`));
}

const selected = (stage: string): string =>
  `labelSelector=${encodeURIComponent(`${stageLabel}=${valueOf(stage)}`)}`;

function entryOf(users: LoadDeps["users"], round: number): LoadDeps["users"][number] {
  const entry = users[round % users.length];
  if (entry === undefined) throw new Error("there are no users");
  return entry;
}

const userOf = (users: LoadDeps["users"], round: number): string => entryOf(users, round)[0];
const clientOf = (users: LoadDeps["users"], round: number): BareClient => entryOf(users, round)[1];
