import { listAt, numberAt, parseConditions, recordAt, stringAt } from "../../api/parse.ts";
import type { ReportObject } from "../../api/report.ts";
import { instantOf } from "../../domain/lifetime.ts";
import type { FoundCopy } from "./copies.ts";
import { readyOf } from "./key-view.ts";
import { notObserved } from "./why-report.ts";

/** What `status` shows. It has no value of a secret, no key and no token. */
export interface StatusReport {
  readonly sharedSecrets: readonly SourceStatus[];
  /** Keys that end soon or are not well. */
  readonly keys: readonly LifetimeStatus[];
  /** Direct tokens that are valid or not well. */
  readonly tokens: readonly LifetimeStatus[];
  readonly notVisible: readonly NotVisible[];
}

/** What the user may not see. */
export interface NotVisible {
  readonly object: ReportObject;
  readonly message: string;
}

/** The state of a SharedSecret and of its copies. */
export interface SourceStatus {
  readonly name: string;
  readonly well: boolean;
  readonly reason: string;
  readonly message: string;
  readonly desired: number;
  readonly synced: number;
  /** `namespace/name` of each copy; undefined if they cannot be listed. */
  readonly targets: readonly string[] | undefined;
  /** The copies among the targets that an annotation pauses. */
  readonly paused: readonly string[];
  readonly failures: readonly TargetFailure[];
}

/** A target that is not synced. */
export interface TargetFailure {
  readonly target: string;
  readonly reason: string;
  readonly message: string;
}

/** The state of an access key or a direct token. */
export interface LifetimeStatus {
  readonly name: string;
  readonly well: boolean;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly expiresAt: string | undefined;
  /** Seconds to the end. */
  readonly endsIn: number | undefined;
}

/** Reads the state of a SharedSecret; `copies` by uid. */
export function sourceStatus(
  object: unknown,
  copies: ReadonlyMap<string, readonly FoundCopy[]> | undefined,
): SourceStatus {
  const metadata = recordAt(object, "metadata");
  const sync = recordAt(recordAt(object, "status"), "sync");
  const listed = listAt(sync, "failures").map((failure) => ({
    target: `${stringAt(failure, "namespace") ?? ""}/${stringAt(failure, "name") ?? ""}`,
    reason: stringAt(failure, "reason") ?? "",
    message: stringAt(failure, "message") ?? "",
  }));
  const count = (field: string): number => numberAt(sync, field) ?? 0;
  const ready = readyOf(object) ?? unseen;
  const own = copies && (copies.get(stringAt(metadata, "uid") ?? "") ?? []);
  return {
    name: `${stringAt(metadata, "namespace") ?? ""}/${stringAt(metadata, "name") ?? ""}`,
    well: ready.isReady && count("conflicts") === 0 && count("failed") === 0,
    reason: ready.reason,
    message: ready.message,
    desired: count("desired"),
    synced: count("synced"),
    targets: own?.map(({ target }) => target).toSorted(),
    paused: (own ?? []).flatMap((copy) => (copy.isPaused ? [copy.target] : [])).toSorted(),
    failures: [...listed, ...unlistedFailures(own ?? [], listed)],
  };
}

/** The status lists ten failures; a copy records its own. */
function unlistedFailures(
  copies: readonly FoundCopy[],
  listed: readonly TargetFailure[],
): readonly TargetFailure[] {
  const known = new Set(listed.map(({ target }) => target));
  return copies.flatMap(({ target, error }) => {
    if (error === undefined || known.has(target)) return [];
    const [, reason = "NotCurrent", message = error] = apiServerError.exec(error) ?? [];
    return [{ target, reason, message }];
  });
}

/** A rejected write is recorded as the reason of the API server and its message. */
const apiServerError = /^([A-Z][A-Za-z]*): (.*)$/s;

const unseen = { isReady: false, reason: notObserved.reason, message: notObserved.sentence };

/** The current instant, and the seconds that count as soon. */
export interface Soon {
  readonly now: number;
  readonly endsWithin: number;
}

/**
 * Reads the state of a key; undefined if it is well and does not end soon. A disabled or expired key
 * is as its owner wants it.
 */
export function keyStatus(object: unknown, { now, endsWithin }: Soon): LifetimeStatus | undefined {
  const state = lifetimeStatus(object, now);
  const isSoon = state.endsIn !== undefined && state.endsIn > 0 && state.endsIn <= endsWithin;
  return state.well && !isSoon ? undefined : state;
}

/** Reads the state of a direct token; undefined if it has expired. */
export function tokenStatus(object: unknown, now: number): LifetimeStatus | undefined {
  return isExpired(object) ? undefined : lifetimeStatus(object, now);
}

function lifetimeStatus(object: unknown, now: number): LifetimeStatus {
  const expiresAt = stringAt(recordAt(object, "status"), "expiresAt");
  const end = instantOf(expiresAt);
  const ready = readyOf(object) ?? unseen;
  return {
    name: stringAt(recordAt(object, "metadata"), "name") ?? "",
    well: ready.isReady || isExpired(object),
    reason: ready.reason,
    message: ready.message,
    expiresAt,
    endsIn: end === undefined ? undefined : Math.round((end - now) / 1000),
  };
}

function isExpired(object: unknown): boolean {
  return parseConditions(recordAt(object, "status")).some(
    ({ type, status }) => type === "Expired" && status === "True",
  );
}
