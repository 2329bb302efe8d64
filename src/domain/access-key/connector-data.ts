import { annotations, apiVersion } from "../../api/names.ts";
import type { Metadata, OwnerReference } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { createdAt } from "../lifetime.ts";
import { nothingToDo, type Plan, deleteWrite, type Write } from "../plan/plan.ts";

/** A key that owns a Secret, by its owner reference. */
interface OwningKey {
  readonly name: string;
  readonly uid: string;
}

/** A Secret with the connector data of a key, without the data. */
export interface ObservedConnectorSecret {
  readonly metadata: Metadata;
  /** The key that owns the Secret; undefined until the controller has set the owner reference. */
  readonly owner: OwningKey | undefined;
}

/**
 * The decision about a Secret of connector data; `confirm` requires a read from the API server
 * first, whether its key was deleted.
 */
export type ConnectorDecision =
  | { readonly kind: "plan"; readonly plan: Plan }
  | {
      readonly kind: "confirm";
      readonly key: OwningKey;
      readonly ifGone: Plan;
      readonly otherwise: Plan;
    };

/** Milliseconds since the epoch. */
interface ConnectorInstants {
  readonly now: number;
  /** The cache contains every key that was stored until then. */
  readonly keysAsOf: number;
}

/**
 * The write of a Secret that is still unreferenced was rejected: kube-apiserver ends a request
 * after 60 s (`--request-timeout`). The other minute is for etcd and for the difference of two
 * clocks.
 */
const unreferencedMs = 2 * 60 * 1000;
/** The API server opens the watch of keys again within 40 s. */
const lookAgainMs = 5_000;

/**
 * Plans a Secret of connector data: the oldest key that references it becomes its owner. A Secret
 * is deleted if no key that was stored within two minutes of its creation references it.
 */
export function planConnectorSecret(
  secret: ObservedConnectorSecret,
  referrers: readonly Metadata[],
  at: ConnectorInstants,
): ConnectorDecision {
  const { metadata, owner: tiedTo } = secret;
  if (metadata.deletionTimestamp !== undefined) return planned(nothingToDo);
  if (tiedTo === undefined)
    return planned(referrers.length > 0 ? tie(metadata, referrers) : whenUnreferenced(secret, at));
  if (referrers.some(({ uid }) => uid === tiedTo.uid)) return planned(nothingToDo);
  return {
    kind: "confirm",
    key: tiedTo,
    ifGone: gone(secret),
    otherwise: whenUnreferenced(secret, at),
  };
}

/**
 * Removes the reference from a key whose Secret was deleted, so that the next apply creates
 * another.
 */
export function removeConnectorDataRef(key: Metadata): Write {
  const body = {
    metadata: {
      resourceVersion: key.resourceVersion,
      annotations: { [annotations.connectorData]: null },
    },
  };
  return { do: "patch", resource: resources.ownedAccessKeys, ref: key, body };
}

function planned(plan: Plan): ConnectorDecision {
  return { kind: "plan", plan };
}

function tie(
  { namespace = "", name, resourceVersion }: Metadata,
  referrers: readonly Metadata[],
): Plan {
  const [owner] = referrers.toSorted(
    (one, other) => createdAt(one) - createdAt(other) || (one.uid < other.uid ? -1 : 1),
  );
  if (owner === undefined) return nothingToDo;
  const ownerReferences: readonly OwnerReference[] = [
    { apiVersion, kind: resources.ownedAccessKeys.kind, name: owner.name, uid: owner.uid },
  ];
  return {
    ...nothingToDo,
    steps: [
      [
        {
          do: "patch",
          resource: resources.secrets,
          ref: { namespace, name },
          body: { metadata: { resourceVersion, ownerReferences } },
        },
      ],
    ],
  };
}

function whenUnreferenced(
  secret: ObservedConnectorSecret,
  { now, keysAsOf }: ConnectorInstants,
): Plan {
  const due = createdAt(secret.metadata) + unreferencedMs;
  if (now >= due && keysAsOf >= due) return gone(secret);
  const at = Math.max(due, now + lookAgainMs);
  return { ...nothingToDo, result: { kind: "requeue-at", at } };
}

function gone(secret: ObservedConnectorSecret): Plan {
  return { ...nothingToDo, steps: [[deleteWrite(resources.secrets, secret)]] };
}

/**
 * A reference to the connector data of a key: the name of its Secret in Latchkey's namespace, and a
 * keyed hash by which only the webhook can check whether data that is sent again has changed.
 */
export interface ConnectorDataRef {
  readonly secret: string;
  /** HMAC-SHA256 in lower-case hex. */
  readonly mark: string;
}

const form = /^(latchkey-connector-[0-9a-f]{32})\/([0-9a-f]{64})$/;

/** Parses the reference from annotations; undefined when it is missing or malformed. */
export function connectorDataRef(
  given: Readonly<Record<string, string>>,
): ConnectorDataRef | undefined {
  const [, secret, mark] = form.exec(given[annotations.connectorData] ?? "") ?? [];
  return secret === undefined || mark === undefined ? undefined : { secret, mark };
}

/** The value of the annotation for a reference. */
export function connectorDataRefText({ secret, mark }: ConnectorDataRef): string {
  return `${secret}/${mark}`;
}

/**
 * A Secret of connector data that this replica wrote; `writtenAt` in milliseconds since the epoch.
 */
export interface WrittenSecret {
  readonly name: string;
  readonly user: string;
  readonly writtenAt: number;
}

/**
 * Maximum number of unreferenced Secrets of one replica, in total and for each user: three
 * replicas, as in a rolling update, stay below 100. A Secret counts for longer than the controller
 * needs to delete it: two minutes, and at most 45 s until its cache of keys is known to be current.
 */
export const unreferencedLimits = {
  all: 32,
  perUser: 16,
  forgottenAfterMs: 3 * 60 * 1000,
} as const;

/**
 * The Secrets that count at `now`: written less than three minutes ago and referenced by no key.
 */
export function unreferencedSecrets(
  written: readonly WrittenSecret[],
  isReferenced: (name: string) => boolean,
  now: number,
): readonly WrittenSecret[] {
  return written.filter(
    ({ name, writtenAt }) =>
      now < writtenAt + unreferencedLimits.forgottenAfterMs && !isReferenced(name),
  );
}

/** Why this user must not write another Secret now; undefined if the user may. */
export function unreferencedProblem(
  unreferenced: readonly WrittenSecret[],
  user: string,
): string | undefined {
  const own = unreferenced.filter((secret) => secret.user === user).length;
  const { all, perUser } = unreferencedLimits;
  if (own < perUser && unreferenced.length < all) return undefined;
  const count = own >= perUser ? `${own} requests of this user` : `${unreferenced.length} requests`;
  return (
    `spec.identity.connectorData: ${count} with connector data were not stored in the last 3 ` +
    "minutes; correct them and retry later"
  );
}
