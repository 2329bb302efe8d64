import { apiVersionOf, resources } from "../../api/resources.ts";
import { components, labels, revokedTokensName } from "../../api/names.ts";
import type { Manifest, Metadata } from "../../api/object.ts";
import type { Wire } from "../../api/wire.ts";
import { instantOf } from "../lifetime.ts";
import { timestamp } from "../plan/conditions.ts";
import { type Plan, requeueAt, type Write, deleteWrite } from "../plan/plan.ts";
import type { RevocationDecision, RevokedEntry } from "./revocation.ts";

/** One of the ConfigMaps with the deny list. */
export interface RevokedTokensConfigMap {
  readonly metadata: Metadata;
  /** By jti. */
  readonly entries: ReadonlyMap<string, RevokedEntry>;
  /** The data keys without a valid value. */
  readonly invalid: readonly string[];
}

/** The observed state that decides about the deny list; `namespace` is Latchkey's own. */
interface ObservedRevocations {
  readonly lists: readonly RevokedTokensConfigMap[];
  /** By jti. */
  readonly decisions: ReadonlyMap<string, RevocationDecision>;
  readonly namespace: string;
}

/** Limits of the stored deny list. */
interface RevokedTokensLimits {
  /**
   * Maximum number of entries of a ConfigMap: 1.1 MB in etcd with the managed fields of Latchkey,
   * and 1.5 MB with those of a second manager, such as a backup tool. etcd accepts 1.57 MB.
   */
  readonly entries: number;
  readonly lists: number;
}

/** The limits of the ConfigMaps: all of them fit into one signed list. */
export const revokedTokensLimits: RevokedTokensLimits = { entries: 8_000, lists: 25 };

/**
 * How long an entry stays after the expiry of its token, in milliseconds: clocks of connected
 * clusters may be behind.
 */
export const keptAfterExpiryMs = 300_000;

/** Minimum interval of writes that only remove expired entries, in milliseconds. */
const sweepMs = 60_000;

const valueForm = /^(\S+)(?: ([0-9a-f]{32}))?$/;

/** The value of an entry: its expiry in RFC 3339, and the hash of the requester if there is one. */
export function entryText({ expiresAt, requester }: RevokedEntry): string {
  // Rounded up: the token is valid until its exp.
  const instant = timestamp(Math.ceil(expiresAt / 1000) * 1000);
  return requester === "" ? instant : `${instant} ${requester}`;
}

/** Parses the value of an entry; undefined if it is invalid. */
export function parseEntry(text: string): RevokedEntry | undefined {
  const match = valueForm.exec(text);
  const expiresAt = instantOf(match?.[1]);
  return expiresAt === undefined ? undefined : { expiresAt, requester: match?.[2] ?? "" };
}

/**
 * Whether the stored list has the token, with at least this expiry in milliseconds since the epoch.
 */
export function isListed(
  lists: Iterable<RevokedTokensConfigMap>,
  jti: string,
  leastExpiry = 0,
): boolean {
  for (const { entries } of lists) {
    if ((entries.get(jti)?.expiresAt ?? -Infinity) >= leastExpiry) return true;
  }
  return false;
}

/**
 * Plans the ConfigMaps of the deny list, one write for each that changes: adds revoked tokens,
 * removes entries of valid tokens and, some time after their expiry, all others. The first
 * ConfigMap always exists; without it, no list is served. `now` in milliseconds since the epoch.
 */
export function planRevokedTokens(
  { lists, decisions, namespace }: ObservedRevocations,
  now: number,
  limits: RevokedTokensLimits = revokedTokensLimits,
): Plan {
  const sorted = [...lists].sort((one, other) => numberOf(one) - numberOf(other));
  const drafts = sorted.map((list) => new Draft(list, decisions, now));
  const missing = new Map<string, RevokedEntry>();
  for (const [jti, decision] of decisions) {
    if (decision.kind === "revoked" && !isOver(decision, now)) {
      const holder = drafts.find((draft) => draft.has(jti));
      if (holder === undefined) missing.set(jti, decision);
      else holder.extend(jti, decision);
    }
  }
  const left = [...missing];
  for (const draft of drafts) draft.add(left.splice(0, limits.entries - draft.size));
  const added = newLists(left, { used: new Set(sorted.map(numberOf)), limits });
  const writes = [
    ...drafts.flatMap((draft) => draft.writes(sorted)),
    ...added.map(([number, entries]): Write => {
      const object = newList(namespace, number, entries);
      return { do: "create", resource: resources.configMaps, object, isRemoval: true };
    }),
  ];
  const ends = sorted.flatMap(({ entries }) =>
    [...entries.values()].map(({ expiresAt }) => expiresAt + keptAfterExpiryMs),
  );
  // Not spread into Math.min: there may be 200,000.
  const next = ends.reduce((earliest, end) => Math.min(earliest, end), Infinity);
  return {
    steps: writes.length === 0 ? [] : [writes],
    result: requeueAt(now, [Number.isFinite(next) ? Math.max(next, now + sweepMs) : undefined]),
  };
}

function isOver({ expiresAt }: RevokedEntry, now: number): boolean {
  return expiresAt + keptAfterExpiryMs <= now;
}

/** The number in the name of a ConfigMap; -1 for another name. */
function numberOf({ metadata: { name } }: RevokedTokensConfigMap): number {
  const number = Number(name.slice(revokedTokensName(0).length - 1));
  return revokedTokensName(number) === name ? number : -1;
}

/** The ConfigMaps to create for these entries: always the first one, within the limits. */
function newLists(
  entries: (readonly [string, RevokedEntry])[],
  { used, limits }: { readonly used: ReadonlySet<number>; readonly limits: RevokedTokensLimits },
): readonly (readonly [number, readonly (readonly [string, RevokedEntry])[]])[] {
  const free = Array.from({ length: limits.lists }, (_, number) => number).filter(
    (number) => !used.has(number),
  );
  return free.flatMap((number) => {
    const part = entries.splice(0, limits.entries);
    return part.length > 0 || number === 0 ? [[number, part] as const] : [];
  });
}

function newList(
  namespace: string,
  number: number,
  entries: readonly (readonly [string, RevokedEntry])[],
): Manifest {
  return {
    apiVersion: apiVersionOf(resources.configMaps),
    kind: resources.configMaps.kind,
    metadata: {
      namespace,
      name: revokedTokensName(number),
      labels: { [labels.component]: components.revokedTokens },
    },
    data: Object.fromEntries(entries.map(([jti, entry]) => [jti, entryText(entry)])),
  } satisfies Wire<"ConfigMap">;
}

/** The changes of one ConfigMap. */
class Draft {
  readonly #list: RevokedTokensConfigMap;
  readonly #kept: ReadonlySet<string>;
  /** Values by data key; null removes it. */
  readonly #changes = new Map<string, string | null>();
  #added = 0;

  constructor(
    list: RevokedTokensConfigMap,
    decisions: ObservedRevocations["decisions"],
    now: number,
  ) {
    this.#list = list;
    const kept = [...list.entries].filter(
      ([jti, entry]) => !isOver(entry, now) && decisions.get(jti)?.kind !== "valid",
    );
    this.#kept = new Set(kept.map(([jti]) => jti));
    for (const jti of [...list.entries.keys(), ...list.invalid])
      if (!this.#kept.has(jti)) this.#changes.set(jti, null);
  }

  get size(): number {
    return this.#kept.size + this.#added;
  }

  has(jti: string): boolean {
    return this.#kept.has(jti);
  }

  /** Raises the expiry of an entry, if it is lower. */
  extend(jti: string, entry: RevokedEntry): void {
    if (!isListed([this.#list], jti, entry.expiresAt)) this.#changes.set(jti, entryText(entry));
  }

  add(entries: readonly (readonly [string, RevokedEntry])[]): void {
    for (const [jti, entry] of entries) this.#changes.set(jti, entryText(entry));
    this.#added += entries.length;
  }

  /**
   * One patch, or the delete of an empty ConfigMap. The first stays, and so does the newest: the
   * seq of the served list contains the highest resourceVersion, which must never decrease.
   */
  writes(all: readonly RevokedTokensConfigMap[]): readonly Write[] {
    const { metadata, entries } = this.#list;
    const { uid, resourceVersion } = metadata;
    if (this.#changes.size > 0) {
      const body = { metadata: { uid, resourceVersion }, data: Object.fromEntries(this.#changes) };
      const patch = { resource: resources.configMaps, ref: metadata, body };
      return [{ do: "patch", ...patch, isRemoval: true }];
    }
    const isOld = Number(resourceVersion) < highestVersion(all);
    const isSpare = entries.size === 0 && numberOf(this.#list) !== 0 && isOld;
    return isSpare ? [deleteWrite(resources.configMaps, this.#list)] : [];
  }
}

/** The highest resourceVersion of the ConfigMaps, as a number; 0 without any. */
export function highestVersion(lists: Iterable<RevokedTokensConfigMap>): number {
  let highest = 0;
  for (const { metadata } of lists) highest = Math.max(highest, Number(metadata.resourceVersion));
  return highest;
}
