import { annotations, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { make } from "../support/keys-and-tokens.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import { runCli } from "../support/run-cli.ts";
import {
  sharedSecretPath,
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
  /** Annotations of the SharedSecret; undefined removes one. */
  readonly options?: Readonly<Record<string, string | undefined>>;
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
  const options = { [annotations.syncToProjects]: project, ...changes.options };
  await makeSharedSecret({
    namespace: home,
    name: "db",
    annotations: Object.fromEntries(
      Object.entries(options).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
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
const atHome = ({ home }: SyncedPlaces): readonly string[] => ["shsec/db", "-n", home];
const aboutPlaceholder = ({ target }: SyncedPlaces) => ["secret/asking", "-n", target];
const sourceIn = ({ home }: SyncedPlaces) => ({
  kind: "SharedSecret",
  namespace: home,
  name: "db",
});
const namespaceIn = ({ target }: SyncedPlaces) => ({ kind: "Namespace", name: target });
const secretIn = ({ target }: SyncedPlaces) => ({ kind: "Secret", namespace: target, name: "db" });

const placeholderIn = ({ target }: SyncedPlaces) => ({
  kind: "Secret",
  namespace: target,
  name: "asking",
});
const clusterIn = ({ target }: SyncedPlaces) => ({
  kind: "Secret",
  namespace: "latchkey-clusters",
  name: target,
});
const quotaIn = ({ target }: SyncedPlaces) => ({
  kind: "ResourceQuota",
  namespace: target,
  name: "objects",
});

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

/** The reason, the object and the field of an answer, and the question if not about the copy. */
type SyncAnswer = readonly [
  reason: string,
  object: (places: SyncedPlaces) => Asked["object"],
  field: string,
  args?: (places: SyncedPlaces) => readonly string[],
];

/** Makes a sync with these changes, or as the function does, and the question about it. */
function sync(
  [reason, object, field, args = about]: SyncAnswer,
  given: Changes | (() => Promise<SyncedPlaces>),
): () => Promise<Asked & { readonly places: SyncedPlaces }> {
  return async () => {
    const places = typeof given === "function" ? await given() : await makeSync(given);
    return { args: args(places), reason, object: object(places), field, places };
  };
}

/** Makes a SharedSecret and its copy, and then what the function does. */
function afterCopy(follows: (places: SyncedPlaces) => Promise<unknown>) {
  return async (): Promise<SyncedPlaces> => {
    const places = await makeSync();
    await copied(places);
    await follows(places);
    return places;
  };
}

/** Makes a newer SharedSecret with the same target. */
async function makeNewer({ home, project }: SyncedPlaces): Promise<void> {
  const namespace = await makeNamespace();
  const { metadata } = await api.get(sharedSecretPath(home, "db"));
  const createdAt = Date.parse(String(metadata.creationTimestamp));
  await eventually(() => Date.now() > createdAt + 1_000, { what: "the next second" });
  const given = { [annotations.syncToProjects]: project };
  await makeSharedSecret({ namespace, name: "db", annotations: given });
}

/** A SharedSecret that is being deleted, and that a finalizer of another controller keeps. */
async function makeDeleting(): Promise<SyncedPlaces> {
  const places = await makeSync();
  const path = sharedSecretPath(places.home, "db");
  // Otherwise its status depends on what the controller sees first.
  await becomesReady({ namespace: places.home, name: "db", uid: "", path });
  const finalizers = ["example.com/held", "management.service/cleanup"];
  await api.merge(path, { metadata: { finalizers } });
  await api.delete(path);
  return places;
}

const own = { metadata: { name: "db" }, data: { own: base64(secretValue) } };
const foreign = ({ target }: SyncedPlaces) =>
  api.create(`/api/v1/namespaces/${target}/secrets`, own);
const pause = { [annotations.disableSync]: "true" };
const pauseCopy = ({ target }: SyncedPlaces) =>
  api.merge(secretPath(target, "db"), { metadata: { annotations: pause } });
const elsewhere = { [annotations.sync]: "enabled", [annotations.syncFrom]: "elsewhere" };
const ofAnother = { [annotations.syncToProjects]: "a-third" };
const project = `metadata.labels["${labels.project}"]`;
const [asksForCopies, toProjects, paused, secretType] = [
  annotation(annotations.sync),
  annotation(annotations.syncToProjects),
  annotation(annotations.disableSync),
  annotation(annotations.syncSecretType),
] as const;

const toProject = "management.service/sync-to-project";
const unnamed = { [annotations.syncToProjects]: undefined };

/** A SharedSecret whose list of projects is what the function returns. */
function naming(listFor: (places: SyncedPlaces) => string) {
  return async (): Promise<SyncedPlaces> => {
    const places = await makeSync({ options: unnamed });
    const given = { [annotations.syncToProjects]: listFor(places) };
    await api.merge(sharedSecretPath(places.home, "db"), { metadata: { annotations: given } });
    return places;
  };
}

async function withLabel(): Promise<SyncedPlaces> {
  const places = await makeSync({ options: unnamed });
  const given = { [annotations.syncToProjects]: places.project };
  await api.merge(sharedSecretPath(places.home, "db"), { metadata: { labels: given } });
  return places;
}

/** Makes a Secret that is meant to be a placeholder. */
function makeMislabelled({ target }: SyncedPlaces): Promise<unknown> {
  const metadata = { name: "asking", labels: { "management.service/sharedsecret": "db" } };
  return api.create(`/api/v1/namespaces/${target}/secrets`, { metadata });
}

/** Mistakes in the sync of SharedSecrets, by title. */
export const syncMistakes: Readonly<Record<string, ReturnType<typeof sync>>> = {
  "An annotation of the SharedSecret has a typing mistake": sync(
    ["UnknownAnnotation", sourceIn, annotation(toProject), atHome],
    { options: { ...unnamed, [toProject]: "web" } },
  ),
  "An annotation of the SharedSecret is written as a label": sync(
    ["UnknownAnnotation", sourceIn, `metadata.labels["${annotations.syncToProjects}"]`, atHome],
    withLabel,
  ),
  "The SharedSecret names a namespace instead of its project": sync(
    ["ProjectWithoutNamespace", sourceIn, toProjects, atHome],
    naming(({ target }) => target),
  ),
  "The name of the project has a typing mistake": sync(
    ["ProjectWithoutNamespace", sourceIn, toProjects, atHome],
    naming(({ project: name }) => `${name}s`),
  ),
  "The SharedSecret names a cluster and no project": sync(
    ["NotRequested", sourceIn, toProjects, atHome],
    { options: { ...unnamed, [annotations.syncToClusters]: "*" } },
  ),
  "The annotation of the namespace is written as a label": sync(
    ["UnknownAnnotation", namespaceIn, `metadata.labels["${annotations.sync}"]`],
    async () => {
      const places = await makeSync({ annotations: {} });
      const metadata = { labels: { [annotations.sync]: "enabled" } };
      await api.merge(`/api/v1/namespaces/${places.target}`, { metadata });
      return places;
    },
  ),
  "The label of the namespace is written as an annotation": sync(
    ["UnknownAnnotation", namespaceIn, annotation(labels.project)],
    { labels: {}, annotations: { [annotations.sync]: "enabled", [labels.project]: "web" } },
  ),
  "A placeholder has a label with a typing mistake": sync(
    [
      "UnknownAnnotation",
      placeholderIn,
      'metadata.labels["management.service/sharedsecret"]',
      aboutPlaceholder,
    ],
    { before: makeMislabelled },
  ),
  "The namespace has no project label": sync(["NoProject", namespaceIn, project], { labels: {} }),
  "The SharedSecret does not name the project": sync(["ProjectNotNamed", sourceIn, toProjects], {
    labels: { [labels.project]: "another" },
  }),
  "No namespace belongs to the project": sync(
    ["ProjectWithoutNamespace", sourceIn, toProjects, atHome],
    { labels: {} },
  ),
  "The namespace does not ask for copies": sync(["SyncNotEnabled", namespaceIn, asksForCopies], {
    annotations: {},
  }),
  'The namespace says "true" instead of "enabled"': sync(
    ["SyncNotEnabled", namespaceIn, asksForCopies, atHome],
    { annotations: { [annotations.sync]: "true" } },
  ),
  "The namespace accepts copies from other namespaces only": sync(
    ["SyncFromExcludes", namespaceIn, annotation(annotations.syncFrom)],
    { annotations: elsewhere },
  ),
  "Another Secret has the name of the copy": sync(
    ["NotManaged", secretIn, `metadata.labels["${labels.sourceUid}"]`],
    { before: foreign },
  ),
  "The name of the copy is invalid": sync(
    ["InvalidSyncOption", sourceIn, annotation(annotations.syncSecretName)],
    { options: { [annotations.syncSecretName]: "My_DB" } },
  ),
  "The type of the copy is not allowed": sync(["InvalidSyncOption", sourceIn, secretType], {
    options: { [annotations.syncSecretType]: "helm.sh/release.v1" },
  }),
  "A data key is not valid in a Secret": sync(["InvalidKey", sourceIn, "spec.data", atHome], {
    spec: { data: { "..password": base64(secretValue) } },
  }),
  "Sync is paused on the SharedSecret": sync(["SourcePaused", sourceIn, paused], {
    options: pause,
  }),
  "Sync is paused on the copy": sync(["CopyPaused", secretIn, paused], afterCopy(pauseCopy)),
  "Two SharedSecrets have the same target": sync(
    ["OlderSource", sourceIn, "metadata.creationTimestamp"],
    afterCopy(makeNewer),
  ),
  "A placeholder asks for a SharedSecret of another project": sync(
    ["ProjectNotNamed", sourceIn, toProjects, aboutPlaceholder],
    { options: ofAnother, before: (where) => makePlaceholder(where, "password") },
  ),
  "A placeholder picks a data key that does not exist": sync(
    ["InvalidPlaceholder", placeholderIn, annotation(annotations.syncKeys), aboutPlaceholder],
    { before: (where) => makePlaceholder(where, "A=none") },
  ),
  "A quota of the namespace is used up": sync(["Rejected", quotaIn, "spec.hard"], {
    before: exhaustQuota,
  }),
  "Another controller writes the same Secret": sync(
    ["Contested", secretIn, "metadata.managedFields"],
    afterCopy(contest),
  ),
  "A Secret stays after its consent is gone": sync(
    ["RemovalBlocked", secretIn, "metadata.finalizers"],
    afterCopy(holdAndWithdraw),
  ),
  "An access rule is invalid": sync(
    ["InvalidAccessRule", sourceIn, "spec.access[0].verbs[0]", atHome],
    { spec: { access: [{ verbs: ["create"], users: ["bob"] }] } },
  ),
  "The SharedSecret is being deleted": sync(
    ["SourceTerminating", sourceIn, "metadata.deletionTimestamp"],
    makeDeleting,
  ),
  "The SharedSecret names a cluster that is not connected": sync(
    ["ClusterUnknown", sourceIn, annotation(annotations.syncToClusters), atHome],
    { options: { [annotations.syncToClusters]: "nowhere" } },
  ),
  "The connected cluster does not let the project in": sync(
    ["ProjectNotLetIn", clusterIn, annotation(annotations.projects), atHome],
    afterCopy(shareWithClosed),
  ),
};

/** Shares the SharedSecret with a connected cluster, with the name of the target, that lets no project in. */
async function shareWithClosed({ home, target }: SyncedPlaces): Promise<void> {
  const { code } = await runCli(["cluster", "connect", target, "--projects=other"]);
  if (code !== 0) throw new Error(`cluster connect ended with ${code}`);
  const shared = { annotations: { [annotations.syncToClusters]: target } };
  await api.merge(sharedSecretPath(home, "db"), { metadata: shared });
}

/** Writes the copy as another controller, until the SharedSecret says so. */
async function contest({ home, target }: SyncedPlaces): Promise<void> {
  const copy = `${secretPath(target, "db")}?fieldManager=other-controller`;
  const isReported = async (): Promise<boolean> => {
    await api.merge(copy, { data: { password: base64("theirs") } });
    const { status } = await api.get(sharedSecretPath(home, "db"));
    return JSON.stringify(status).includes("Contested");
  };
  await eventually(isReported, { what: "the copy to be contested" });
}

/** Keeps the copy by a finalizer, and withdraws the consent of its namespace. */
async function holdAndWithdraw({ target }: SyncedPlaces): Promise<void> {
  await api.merge(secretPath(target, "db"), { metadata: { finalizers: ["example.com/hold"] } });
  const withdrawn = { annotations: { [annotations.sync]: null } };
  await api.merge(`/api/v1/namespaces/${target}`, { metadata: withdrawn });
}

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
          reason: "OutsideScope",
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
          reason: "OutsideScope",
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
      const asked = await keyQuestion({ user }, { reason: "RBACDenies", field: "RBAC", words });
      return { ...asked, object: { kind: "User", name: user } };
    },
  },
];

/** Every mistake, in the order of docs/troubleshooting.md. */
export const mistakes: readonly Mistake[] = [
  ...Object.entries(syncMistakes).map(([title, make]) => ({ title, make })),
  ...keyMistakes,
];

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
  const path = sharedSecretPath(places.home, "db");
  await becomesReady({ namespace: places.home, name: "db", uid: "", path });
  return question(places);
}

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
