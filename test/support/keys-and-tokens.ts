import { inject } from "vitest";
import type { Condition } from "../../src/api/conditions.ts";
import { labels } from "../../src/api/names.ts";
import {
  listAt,
  numberAt,
  parseConditions,
  recordAt,
  stringAt,
  stringsAt,
} from "../../src/api/parse.ts";
import { collectionOf, objectOf } from "./crd-requests.ts";
import { eventually } from "./eventually.ts";
import { kubectl } from "./kubectl.ts";
import { admin, api, as, bind, unique, type Answer, type Caller } from "./policy-request.ts";
import { withoutAdmission } from "./trust.ts";

/** A kind whose objects belong to their requesters. */
export type OwnKind = "OwnedAccessKey" | "DirectClusterEndpointToken";

/** A key or token that a test has created. */
export interface Own {
  readonly name: string;
  readonly uid: string;
  readonly path: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/**
 * The key or token that a test needs: created by the administrator with a unique name by default.
 */
export interface WantedOwn {
  readonly by?: Caller;
  readonly name?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  /** Whether the API server stores it without asking the webhook, as if there were none. */
  readonly withoutWebhook?: boolean;
}

/**
 * Allows the members of a group to create keys and tokens; the API server needs a moment to apply
 * it.
 */
export async function allowRequesters(group: string): Promise<void> {
  await bind({ kind: "Group", name: group }, "latchkey-requester");
  const member = as({ user: "somebody", groups: [group] });
  const path = `${collectionOf("OwnedAccessKey")}?dryRun=All`;
  const body = objectOf("OwnedAccessKey", unique("try"), {});
  const isAllowed = async () => (await member.create(path, body)).code === 201;
  await eventually(isAllowed, { what: `${group} to be allowed to create keys` });
}

/** Creates a key or token; throws if it is rejected. */
export async function make(kind: OwnKind, wanted: WantedOwn = {}): Promise<Own> {
  const answer = await tryToMake(kind, wanted);
  if (answer.code !== 201)
    throw new Error(`create ${kind} ${wanted.name}: ${answer.code} ${answer.message}`);
  const { name = "", uid, resourceVersion = "", creationTimestamp } = answer.metadata;
  return {
    name,
    uid: String(uid),
    path: pathOf(kind, name),
    resourceVersion,
    createdAt: Date.parse(String(creationTimestamp)),
  };
}

/** Requests to create a key or token and returns the response. */
export function tryToMake(
  kind: OwnKind,
  { by = admin, name = unique("own"), spec = {}, withoutWebhook = false, ...metadata }: WantedOwn,
): Promise<Answer> {
  const { annotations, finalizers } = metadata;
  const object = objectOf(kind, name, spec);
  const unasked = withoutWebhook ? { labels: withoutAdmission } : {};
  return as(by).create(collectionOf(kind), {
    ...object,
    metadata: { name, annotations, finalizers, ...unasked },
  });
}

/** The path of a key or token. */
export function pathOf(kind: OwnKind, name: string): string {
  return `${collectionOf(kind)}/${name}`;
}

/** The status of a key or token in the form that tests use. */
export interface OwnView {
  readonly resourceVersion: string;
  /** Whether the status is of the current generation. */
  readonly settled: boolean;
  /** By type. */
  readonly conditions: Readonly<Record<string, Condition>>;
  readonly expiresAt: string | undefined;
  readonly keyID: string | undefined;
  readonly token: string | undefined;
  readonly finalizers: readonly string[];
}

/** Reads the status of a key or token as the administrator. */
export async function viewOf({ path }: Pick<Own, "path">): Promise<OwnView> {
  return viewIn(await api.get(path));
}

/** The status in an object from the API server. */
export function viewIn(object: unknown): OwnView {
  const metadata = recordAt(object, "metadata");
  const status = recordAt(object, "status");
  return {
    resourceVersion: stringAt(metadata, "resourceVersion") ?? "",
    settled: numberAt(status, "observedGeneration") === metadata.generation,
    conditions: Object.fromEntries(
      parseConditions(status).map((condition) => [condition.type, condition]),
    ),
    expiresAt: stringAt(status, "expiresAt"),
    keyID: stringAt(status, "keyID"),
    token: stringAt(status, "token"),
    finalizers: stringsAt(metadata, "finalizers"),
  };
}

/** Every state of an object after its creation, in order, from the API server's watch history. */
export function historyOf({ path, name, resourceVersion }: Own): Promise<readonly Change[]> {
  return changesIn(path.slice(0, path.lastIndexOf("/")), {
    fieldSelector: `metadata.name=${name}`,
    resourceVersion,
  });
}

/** An entry of a watch. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Answer;
}

/** The changes of a collection since a resourceVersion, from the API server's watch history. */
export async function changesIn(
  collection: string,
  selection: {
    readonly resourceVersion: string;
    readonly fieldSelector?: string;
    readonly labelSelector?: string;
  },
): Promise<readonly Change[]> {
  const query = new URLSearchParams({
    watch: "true",
    timeoutSeconds: "2",
    ...selection,
  }).toString();
  const lines = await kubectl(inject("controlPlane"), ["get", "--raw", `${collection}?${query}`]);
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const change: Change = JSON.parse(line);
      return change;
    });
}

/**
 * Reason of each Event about an object, without the one that it is well, which is left out if many
 * objects become well at the same time.
 */
export async function eventsAbout({ uid }: Pick<Own, "uid">): Promise<readonly string[]> {
  const list = await api.get("/apis/events.k8s.io/v1/namespaces/default/events");
  const about = listAt(list, "items").filter(
    (event) => stringAt(recordAt(event, "regarding"), "uid") === uid,
  );
  return about
    .map((event) => stringAt(event, "reason") ?? "")
    .filter((reason) => !["Active", "Minted"].includes(reason));
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** The path of a ClusterRole or ClusterRoleBinding, or of all of them. */
export function clusterRbacPath(
  plural: "clusterroles" | "clusterrolebindings",
  name?: string,
): string {
  return `${rbac}/${plural}${name === undefined ? "" : `/${name}`}`;
}

/** The rules of one ClusterRole. */
export interface NamedGrants {
  readonly role: string;
  readonly resourceVersion: string;
  /** The names of the granted objects, by plural. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  readonly rules: readonly unknown[];
}

/** Every requester's ClusterRole of Latchkey with this object. */
export async function grantsOf({ name }: Pick<Own, "name">): Promise<readonly NamedGrants[]> {
  const list = await api.get(
    `${clusterRbacPath("clusterroles")}?labelSelector=${encodeURIComponent(labels.requesterHash)}`,
  );
  return listAt(list, "items")
    .map(grantsIn)
    .filter(({ names }) => Object.values(names).flat().includes(name));
}

/** The permissions that a ClusterRole grants. */
export function grantsIn(role: unknown): NamedGrants {
  const metadata = recordAt(role, "metadata");
  const rules = listAt(role, "rules");
  const names = rules.flatMap((rule) =>
    stringsAt(rule, "resources").map(
      (plural) => [plural, stringsAt(rule, "resourceNames")] as const,
    ),
  );
  return {
    role: stringAt(metadata, "name") ?? "",
    resourceVersion: stringAt(metadata, "resourceVersion") ?? "",
    names: Object.fromEntries(names),
    rules,
  };
}
