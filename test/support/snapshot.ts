import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import {
  isRecord,
  listAt,
  parseConditions,
  recordAt,
  stringAt,
  stringsAt,
} from "../../src/api/parse.ts";
import type { DedicatedCluster } from "./dedicated-cluster.ts";
import { get } from "./cluster-connection.ts";
import { isNameOf } from "./visible-objects.ts";

const collections = [
  `/apis/${apiVersion}/sharedsecrets`,
  `/apis/${apiVersion}/ownedaccesskeys`,
  `/apis/${apiVersion}/directclusterendpointtokens`,
  "/api/v1/secrets",
  "/apis/rbac.authorization.k8s.io/v1/roles",
  "/apis/rbac.authorization.k8s.io/v1/rolebindings",
  `/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=${encodeURIComponent(labels.requesterHash)}`,
  `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?labelSelector=${encodeURIComponent(labels.requesterHash)}`,
  "/apis/events.k8s.io/v1/events",
];

/** The reason of Ready of each object, by namespace and name. */
export async function reasonsOf(
  cluster: DedicatedCluster,
  p: string,
): Promise<Readonly<Record<string, string>>> {
  const lists = await Promise.all(
    collections.slice(0, 3).map((path) => cluster.arrange(get(path))),
  );
  const items = lists
    .flatMap((list) =>
      listAt(list, "items").map((item) => [String(list.kind).replace(/List$/, ""), item] as const),
    )
    .filter(([, item]) => belongsTo(p, item));
  return Object.fromEntries(
    items.map(([kind, item]) => [
      `${kind} ${stringAt(recordAt(item, "metadata"), "name")?.replace(`${p}-`, "")}`,
      reasonOf(item),
    ]),
  );
}

function reasonOf(item: unknown): string {
  const ready = parseConditions(recordAt(item, "status")).find(({ type }) => type === "Ready");
  return ready?.reason ?? "";
}

/**
 * Objects without the differences between two runs of one scenario, as JSON text with two spaces.
 */
export type Snapshot = readonly string[];

/**
 * All objects that Latchkey has created or whose status it has written, with names that begin with
 * `p`, sorted.
 */
export async function snapshotOf(
  cluster: Pick<DedicatedCluster, "arrange">,
  p: string,
): Promise<Snapshot> {
  const lists = await Promise.all(collections.map((path) => cluster.arrange(get(path))));
  const objects = lists
    .flatMap((list) => listAt(list, "items").map((item) => ({ kind: list.kind, item })))
    .filter(({ item }) => belongsTo(p, item));
  // The source of an entry of an outbox may exist, or not any more.
  const aliases = new Map(
    [entryAliasesOf, aliasesOf].flatMap((of) => objects.flatMap(({ item }) => of(item))),
  );
  const texts = objects
    .filter(({ kind, item }) => kind !== "EventList" || stringAt(item, "reason") === "Expired")
    .map(({ kind, item }) => textOf({ ...essence(item), kind }));
  return texts.map((text) => anonymous(text, p, aliases)).sort();
}

function belongsTo(p: string, item: unknown): boolean {
  const metadata = recordAt(item, "metadata");
  const names = [
    stringAt(metadata, "namespace"),
    stringAt(metadata, "name"),
    stringAt(recordAt(metadata, "annotations"), annotations.requester),
  ];
  return names.some((name) => isNameOf(`${p}-`, name));
}

/**
 * Values that are random or derived from random values, and their aliases: uids, and names that
 * contain a hash of one.
 */
function aliasesOf(item: unknown): readonly (readonly [string, string])[] {
  const metadata = recordAt(item, "metadata");
  const name = stringAt(metadata, "name") ?? "";
  const requester = stringAt(recordAt(metadata, "annotations"), annotations.requester);
  const hash = stringAt(recordAt(metadata, "labels"), labels.requesterHash);
  const uid = [stringAt(metadata, "uid") ?? "", `uid of ${name}`] as const;
  if (hash !== undefined) return [uid, [hash, `hash of ${requester}`]];
  const source = stringAt(recordAt(metadata, "annotations"), annotations.source);
  const copyOf = stringAt(recordAt(metadata, "annotations"), annotations.copyOf);
  if (copyOf !== undefined && name.startsWith("latchkey-data-"))
    return [uid, [name, `data of ${copyOf.replace(/ ->.*/s, "").split("/")[1]}`]];
  const [rule] = listAt(item, "rules");
  if (source === undefined || rule === undefined) return [uid];
  return [
    uid,
    [
      name,
      `role for ${source} to ${stringsAt(rule, "verbs").join(" ")} ${stringsAt(rule, "resources").join(" ")}`,
    ],
  ];
}

/** The name of an entry of an outbox, a hash, and the uid of its source. */
function entryAliasesOf(item: unknown): readonly (readonly [string, string])[] {
  const metadata = recordAt(item, "metadata");
  const uid = stringAt(recordAt(metadata, "labels"), labels.outboxUid);
  const source = stringAt(recordAt(metadata, "annotations"), annotations.source);
  if (uid === undefined || source === undefined) return [];
  return [
    [uid, `uid of a former ${source}`],
    [stringAt(metadata, "name") ?? "", `entry of ${source}`],
  ];
}

function essence(item: unknown): Readonly<Record<string, unknown>> {
  const { metadata: _, status, ...rest } = isRecord(item) ? item : {};
  if (rest.reason === "Expired" && rest.regarding !== undefined)
    return { regarding: stringAt(recordAt(rest, "regarding"), "name"), reason: "Expired" };
  const {
    namespace,
    name,
    labels: marked,
    annotations: annotated,
    finalizers,
    ownerReferences,
    deletionTimestamp,
    generation,
  } = recordAt(item, "metadata");
  const metadata = {
    namespace,
    name,
    marked,
    annotated,
    finalizers,
    ownerReferences,
    deletionTimestamp,
  };
  return {
    ...rest,
    ...specOf(rest),
    metadata,
    ...(isRecord(status) && { status: statusOf(status, generation) }),
  };
}

/** Keys differ between all runs. */
function specOf({ spec }: Readonly<Record<string, unknown>>): object {
  return isRecord(spec) && "key" in spec ? { spec: { ...spec, key: "a key" } } : {};
}

/** Tokens differ between all runs, so only their existence counts. */
function statusOf(
  { token, ...status }: Readonly<Record<string, unknown>>,
  generation: unknown,
): unknown {
  const conditions = listAt(status, "conditions")
    .filter(isRecord)
    .map((condition) => ({
      ...condition,
      lastTransitionTime: "",
      observedGeneration: condition.observedGeneration === generation,
    }));
  return {
    ...status,
    conditions,
    observedGeneration: status.observedGeneration === generation,
    hasToken: token !== undefined,
  };
}

function textOf(object: unknown): string {
  return JSON.stringify(object, sortFields, 2);
}

function sortFields(_field: string, value: unknown): unknown {
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
}

function anonymous(text: string, p: string, aliases: ReadonlyMap<string, string>): string {
  const known = [...aliases].reduce((rest, [name, alias]) => rest.replaceAll(name, alias), text);
  return known.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "some time").replaceAll(`${p}-`, "the-");
}
