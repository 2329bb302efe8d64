import { annotations, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { make } from "../support/keys-and-tokens.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import { runCli } from "../support/run-cli.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  secretPath,
} from "../support/shared-secret-requests.ts";

/** A question to `why`, and the object and the field that its answer names. */
export interface Asked {
  readonly args: readonly string[];
  readonly reason: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly field: string;
}

/** A mistake that people make: a heading of docs/troubleshooting.md. */
export interface Mistake {
  readonly title: string;
  /** Makes the mistake with the real objects. */
  readonly make: () => Promise<Asked>;
}

/** The value that no output may have. */
export const secretValue = "canary-why-value";

/** The names of a SharedSecret and of a namespace that accepts its copy. */
export interface SyncedPlaces {
  readonly home: string;
  readonly target: string;
  readonly project: string;
}

interface Changes {
  /** Metadata of the target namespace. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Annotations of the SharedSecret. */
  readonly options?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Before the SharedSecret exists. */
  readonly before?: (places: SyncedPlaces) => Promise<unknown>;
}

/** Makes a SharedSecret `db` and a namespace that accepts it, but for the changes. */
export async function makeSync(changes: Changes = {}): Promise<SyncedPlaces> {
  const [home, target, project] = [await makeNamespace(), unique("target"), unique("project")];
  const metadata = {
    name: target,
    labels: changes.labels ?? { [labels.project]: project },
    annotations: changes.annotations ?? { [annotations.sync]: "enabled" },
  };
  await api.create("/api/v1/namespaces", { metadata });
  const places = { home, target, project };
  await changes.before?.(places);
  await makeSharedSecret({
    namespace: home,
    name: "db",
    annotations: { [annotations.syncToProjects]: project, ...changes.options },
    spec: { data: { password: base64(secretValue) }, ...changes.spec },
  });
  return places;
}

/** Makes the Secret `asking`, a placeholder for the SharedSecret `db`. */
function makePlaceholder({ home, target }: SyncedPlaces, keys: string): Promise<unknown> {
  const metadata = {
    name: "asking",
    labels: { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: home },
    annotations: { [annotations.syncKeys]: keys },
  };
  const path = `/api/v1/namespaces/${target}/secrets`;
  return api.create(path, { metadata });
}

/** Waits until the copy exists. */
export function copied({ target }: SyncedPlaces): Promise<unknown> {
  const path = secretPath(target, "db");
  return eventually(() => api.get(path).catch(() => undefined), { what: path });
}

const annotation = (name: string): string => `metadata.annotations["${name}"]`;
const about = ({ target }: SyncedPlaces): readonly string[] => ["secret/db", "-n", target];
const sourceIn = ({ home }: SyncedPlaces) => ({
  kind: "SharedSecret",
  namespace: home,
  name: "db",
});
const namespaceIn = ({ target }: SyncedPlaces) => ({ kind: "Namespace", name: target });
const secretIn = ({ target }: SyncedPlaces) => ({ kind: "Secret", namespace: target, name: "db" });

const onlyKeys = { verbs: ["get"], resources: [{ group: "", resources: ["configmaps"] }] };

/** Makes a key of alice and the question about it. */
async function keyQuestion(
  spec: Readonly<Record<string, unknown>>,
  answer: { readonly reason: string; readonly field: string; readonly words?: readonly string[] },
): Promise<Asked> {
  const { name } = await make("OwnedAccessKey", { spec });
  const { reason, field, words = [] } = answer;
  return {
    args: [`oak/${name}`, ...words],
    reason,
    object: { kind: "OwnedAccessKey", name },
    field,
  };
}

/** Mistakes in the sync of SharedSecrets. */
const syncMistakes: readonly Mistake[] = [
  {
    title: "The namespace has no project label",
    async make() {
      const places = await makeSync({ labels: {} });
      const field = `metadata.labels["${labels.project}"]`;
      return { args: about(places), reason: "no-project", object: namespaceIn(places), field };
    },
  },
  {
    title: "The SharedSecret does not name the project",
    async make() {
      const places = await makeSync({ labels: { [labels.project]: "another" } });
      const field = annotation(annotations.syncToProjects);
      return { args: about(places), reason: "project-not-named", object: sourceIn(places), field };
    },
  },
  {
    title: "No namespace belongs to the project",
    async make() {
      const places = await makeSync({ labels: {} });
      const args = ["shsec/db", "-n", places.home];
      const field = annotation(annotations.syncToProjects);
      return { args, reason: "project-without-namespace", object: sourceIn(places), field };
    },
  },
  {
    title: "The namespace does not ask for copies",
    async make() {
      const places = await makeSync({ annotations: {} });
      const field = annotation(annotations.sync);
      return {
        args: about(places),
        reason: "sync-not-enabled",
        object: namespaceIn(places),
        field,
      };
    },
  },
  {
    title: 'The namespace says "true" instead of "enabled"',
    async make() {
      const places = await makeSync({ annotations: { [annotations.sync]: "true" } });
      const object = namespaceIn(places);
      const field = annotation(annotations.sync);
      const args = ["shsec/db", "-n", places.home];
      return { args, reason: "sync-not-enabled", object, field };
    },
  },
  {
    title: "The namespace accepts copies from other namespaces only",
    async make() {
      const places = await makeSync({
        annotations: { [annotations.sync]: "enabled", [annotations.syncFrom]: "elsewhere" },
      });
      const field = annotation(annotations.syncFrom);
      return {
        args: about(places),
        reason: "sync-from-excludes",
        object: namespaceIn(places),
        field,
      };
    },
  },
  {
    title: "Another Secret has the name of the copy",
    async make() {
      const places = await makeSync({
        before: ({ target }) =>
          api.create(`/api/v1/namespaces/${target}/secrets`, {
            metadata: { name: "db" },
            data: { own: base64(secretValue) },
          }),
      });
      const field = `metadata.labels["${labels.sourceUid}"]`;
      return { args: about(places), reason: "not-managed", object: secretIn(places), field };
    },
  },
  {
    title: "The name of the copy is invalid",
    async make() {
      const places = await makeSync({ options: { [annotations.syncSecretName]: "My_DB" } });
      const field = annotation(annotations.syncSecretName);
      return { args: about(places), reason: "invalid-option", object: sourceIn(places), field };
    },
  },
  {
    title: "The type of the copy is not allowed",
    async make() {
      const places = await makeSync({
        options: { [annotations.syncSecretType]: "helm.sh/release.v1" },
      });
      const field = annotation(annotations.syncSecretType);
      return { args: about(places), reason: "refused-type", object: sourceIn(places), field };
    },
  },
  {
    title: "A data key is not valid in a Secret",
    async make() {
      const places = await makeSync({ spec: { data: { "..password": base64(secretValue) } } });
      const args = ["shsec/db", "-n", places.home];
      return { args, reason: "invalid-key", object: sourceIn(places), field: "spec.data" };
    },
  },
  {
    title: "Sync is paused on the SharedSecret",
    async make() {
      const places = await makeSync({ options: { [annotations.disableSync]: "true" } });
      const field = annotation(annotations.disableSync);
      return { args: about(places), reason: "source-paused", object: sourceIn(places), field };
    },
  },
  {
    title: "Sync is paused on the copy",
    async make() {
      const places = await makeSync();
      await copied(places);
      await api.merge(secretPath(places.target, "db"), {
        metadata: { annotations: { [annotations.disableSync]: "true" } },
      });
      const field = annotation(annotations.disableSync);
      return { args: about(places), reason: "copy-paused", object: secretIn(places), field };
    },
  },
  {
    title: "Two SharedSecrets have the same target",
    async make() {
      const places = await makeSync();
      await copied(places);
      const newer = await makeNamespace();
      const { metadata } = await api.get(
        `/apis/management.service/v1/namespaces/${places.home}/sharedsecrets/db`,
      );
      const createdAt = Date.parse(String(metadata.creationTimestamp));
      await eventually(() => Date.now() > createdAt + 1_000, { what: "the next second" });
      await makeSharedSecret({
        namespace: newer,
        name: "db",
        annotations: { [annotations.syncToProjects]: places.project },
      });
      const field = "metadata.creationTimestamp";
      return { args: about(places), reason: "older-source", object: sourceIn(places), field };
    },
  },
  {
    title: "A placeholder asks for a SharedSecret of another project",
    async make() {
      const places = await makeSync({
        options: { [annotations.syncToProjects]: "another" },
        before: (where) => makePlaceholder(where, "password"),
      });
      const field = annotation(annotations.syncToProjects);
      const args = ["secret/asking", "-n", places.target];
      return { args, reason: "project-not-named", object: sourceIn(places), field };
    },
  },
  {
    title: "A placeholder picks a data key that does not exist",
    async make() {
      const places = await makeSync({ before: (where) => makePlaceholder(where, "A=none") });
      const object = { kind: "Secret", namespace: places.target, name: "asking" };
      const field = annotation(annotations.syncKeys);
      const args = ["secret/asking", "-n", places.target];
      return { args, reason: "unfillable", object, field };
    },
  },
  {
    title: "A quota of the namespace is used up",
    async make() {
      const places = await makeSync({ before: exhaustQuota });
      const object = { kind: "ResourceQuota", namespace: places.target, name: "objects" };
      return { args: about(places), reason: "refused", object, field: "spec.hard" };
    },
  },
  {
    title: "An access rule is invalid",
    async make() {
      const access = [{ verbs: ["create"], users: ["bob"] }];
      const places = await makeSync({ spec: { access } });
      const args = ["shsec/db", "-n", places.home];
      const field = "spec.access[0].verbs[0]";
      return { args, reason: "invalid-access-rule", object: sourceIn(places), field };
    },
  },
  {
    title: "The SharedSecret is being deleted",
    async make() {
      const places = await makeSync();
      const path = `/apis/management.service/v1/namespaces/${places.home}/sharedsecrets/db`;
      const finalizers = ["example.com/held", "management.service/cleanup"];
      await api.merge(path, { metadata: { finalizers } });
      await api.delete(path);
      const field = "metadata.deletionTimestamp";
      return { args: about(places), reason: "source-deleting", object: sourceIn(places), field };
    },
  },
];

async function exhaustQuota({ target }: SyncedPlaces): Promise<void> {
  const path = `/api/v1/namespaces/${target}/resourcequotas`;
  const spec = { hard: { "count/secrets": "0" } };
  await api.create(path, { metadata: { name: "objects" }, spec });
  const isCounted = async (): Promise<boolean> => {
    const { status } = await api.get(`${path}/objects`);
    return "count/secrets" in recordAt(recordAt({ status }, "status"), "hard");
  };
  await eventually(isCounted, { what: "the quota to be counted" });
}

/** Mistakes with access keys. */
const keyMistakes: readonly Mistake[] = [
  {
    title: "The key is disabled",
    make: () =>
      keyQuestion(
        { user: "alice", disabled: true },
        { reason: "Disabled", field: "spec.disabled" },
      ),
  },
  {
    title: "The key has expired",
    make: () => keyQuestion({ user: "alice", ttl: 1 }, { reason: "Expired", field: "spec.ttl" }),
  },
  {
    title: "The key has no user, team or subject",
    make: () => keyQuestion({}, { reason: "MissingSubject", field: "spec.user" }),
  },
  {
    title: "Two objects have the same key",
    async make() {
      const key = unique("key-of-two-objects");
      const older = await make("OwnedAccessKey", { spec: { user: "alice", key } });
      await eventually(() => Date.now() >= older.createdAt + 1_000, { what: "the next second" });
      const mallory = { user: unique("mallory"), groups: ["devs"] };
      const { name } = await make("OwnedAccessKey", {
        by: mallory,
        spec: { user: mallory.user, key },
      });
      const object = { kind: "OwnedAccessKey", name };
      return { args: [`oak/${name}`], reason: "DuplicateKey", object, field: "spec.key" };
    },
  },
  {
    title: "The parent key was deleted",
    async make() {
      const [parent, name] = [unique("parent"), unique("child")];
      const create = ["keys", "create", parent, "--user=alice", "--group=devs"];
      const { stdout: key, stderr } = await runCli(create);
      if (key === "") throw new Error(stderr);
      const child = ["keys", "create", name, "--user=alice", "--token", key.trim()];
      const { code, stderr: said } = await runCli(child);
      if (code !== 0) throw new Error(said);
      await api.delete(`/apis/management.service/v1/ownedaccesskeys/${parent}`);
      const object = { kind: "OwnedAccessKey", name };
      const field = annotation(annotations.requesterKeyId);
      return { args: [`oak/${name}`], reason: "ParentKeyInvalid", object, field };
    },
  },
  {
    title: "The scope names a role that does not exist",
    make: () =>
      keyQuestion(
        { user: "alice", scope: { roles: [{ role: "deployer" }] } },
        { reason: "InvalidScope", field: "spec.scope.roles[0].role" },
      ),
  },
  {
    title: "The scope does not list the verb",
    make: () =>
      keyQuestion(
        { user: "alice", scope: { rules: [onlyKeys] } },
        {
          reason: "outside-scope",
          field: "spec.scope.rules[0].verbs",
          words: ["delete", "configmaps"],
        },
      ),
  },
  {
    title: "The scope does not list the namespace",
    make: () =>
      keyQuestion(
        { user: "alice", scope: { rules: [{ ...onlyKeys, namespaces: ["web-dev"] }] } },
        {
          reason: "outside-scope",
          field: "spec.scope.rules[0].namespaces",
          words: ["get", "configmaps", "-n", "default"],
        },
      ),
  },
  {
    title: "RBAC does not allow the request to the user of the key",
    async make() {
      const user = unique("nobody");
      const words = ["get", "configmaps", "-n", "default"];
      const asked = await keyQuestion({ user }, { reason: "rbac-denies", field: "RBAC", words });
      return { ...asked, object: { kind: "User", name: user } };
    },
  },
];

/** Every mistake, in the order of docs/troubleshooting.md. */
export const mistakes: readonly Mistake[] = [...syncMistakes, ...keyMistakes];

/** Objects for which `why` must find nothing wrong. */
export interface Healthy {
  readonly title: string;
  readonly make: () => Promise<readonly string[]>;
}

async function syncedWith(
  changes: Changes,
  question: (places: SyncedPlaces) => readonly string[],
): Promise<readonly string[]> {
  const places = await makeSync(changes);
  await copied(places);
  const path = `/apis/management.service/v1/namespaces/${places.home}/sharedsecrets/db`;
  await becomesReady({ namespace: places.home, name: "db", uid: "", path });
  return question(places);
}

const atHome = ({ home }: SyncedPlaces): readonly string[] => ["shsec/db", "-n", home];

async function keyWith(
  spec: Readonly<Record<string, unknown>>,
  ...words: readonly string[]
): Promise<readonly string[]> {
  const { name } = await make("OwnedAccessKey", { spec });
  return [`oak/${name}`, ...words];
}

/** Objects of many kinds with which nothing is wrong. */
export const healthy: readonly Healthy[] = [
  { title: "a copy", make: () => syncedWith({}, about) },
  { title: "its SharedSecret", make: () => syncedWith({}, atHome) },
  {
    title: "a copy with another name",
    make: () =>
      syncedWith(
        {
          options: { [annotations.syncSecretType]: "example.com/db" },
          annotations: { [annotations.sync]: "enabled", [annotations.allowCopyKeys]: "" },
        },
        about,
      ),
  },
  {
    title: "a copy in a namespace that lists the source",
    make: async () => {
      const places = await makeSync({ annotations: {} });
      await api.merge(`/api/v1/namespaces/${places.target}`, {
        metadata: {
          annotations: {
            [annotations.sync]: "enabled",
            [annotations.syncFrom]: `other, ${places.home}`,
          },
        },
      });
      await copied(places);
      return about(places);
    },
  },
  {
    title: "a copy while another SharedSecret of its name is for another project",
    make: async () => {
      const places = await makeSync();
      await copied(places);
      await makeSync();
      return about(places);
    },
  },
  {
    title: "a placeholder",
    make: async () => {
      const places = await makeSync({
        annotations: {},
        before: (where) => makePlaceholder(where, "PASS=password"),
      });
      return ["secret/asking", "-n", places.target];
    },
  },
  {
    title: "a SharedSecret with access rules",
    make: () =>
      syncedWith({ spec: { access: [{ name: "devs", verbs: ["get"], teams: ["devs"] }] } }, atHome),
  },
  {
    title: "a SharedSecret with an owner",
    make: () => syncedWith({ spec: { owner: { user: "alice" } } }, atHome),
  },
  {
    title: "a SharedSecret that is not synced",
    make: async () => {
      const namespace = await makeNamespace();
      const place = await makeSharedSecret({ namespace, name: "db" });
      await becomesReady(place);
      return ["shsec/db", "-n", namespace];
    },
  },
  {
    title: "a SharedSecret with a second namespace that does not ask",
    make: () =>
      syncedWith(
        {
          before: ({ project }) =>
            api.create("/api/v1/namespaces", {
              metadata: { name: unique("silent"), labels: { [labels.project]: project } },
            }),
        },
        atHome,
      ),
  },
  {
    title: "a copy in a namespace with room in its quota",
    make: () =>
      syncedWith(
        {
          before: ({ target }) =>
            api.create(`/api/v1/namespaces/${target}/resourcequotas`, {
              metadata: { name: "objects" },
              spec: { hard: { "count/secrets": "9" } },
            }),
        },
        about,
      ),
  },
  { title: "a key of a user", make: () => keyWith({ user: "alice" }) },
  { title: "a key of a team", make: () => keyWith({ team: "devs" }) },
  { title: "a key of a subject", make: () => keyWith({ subject: "ci@example.com" }) },
  { title: "a key with a lifetime", make: () => keyWith({ user: "alice", ttl: 3600 }) },
  {
    title: "a key whose lifetime starts at its last use",
    make: () => keyWith({ user: "alice", ttl: 3600, ttlAfterLastActivity: true }),
  },
  {
    title: "a key with the role of the client",
    make: () => keyWith({ user: "alice", scope: { roles: [{ role: "serviceCLI" }] } }),
  },
  {
    title: "a request of a key without a scope",
    make: () => keyWith({ user: "root", groups: ["readers"] }, "get", "/healthz"),
  },
  {
    title: "a request within a rule",
    make: () =>
      keyWith(
        {
          user: "alice",
          scope: { rules: [{ verbs: ["create"], resources: [selfReviews] }] },
        },
        "create",
        "selfsubjectaccessreviews.authorization.k8s.io",
      ),
  },
  {
    title: "a request that every key may send",
    make: () => keyWith({ user: "alice", scope: {} }, "create", "selfsubjectreviews"),
  },
  {
    title: "a direct token",
    make: async () => {
      const { name } = await make("DirectClusterEndpointToken");
      return [`dcet/${name}`];
    },
  },
];

const selfReviews = { group: "authorization.k8s.io", resources: ["selfsubjectaccessreviews"] };
