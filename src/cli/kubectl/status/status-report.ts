import { listAt, parseConditions, recordAt, stringAt } from "../../../api/parse.ts";
import type { ReportObject, TargetState } from "../../../api/report.ts";
import { instantOf } from "../../../domain/lifetime.ts";
import {
  failedTargetState,
  objectState,
  type ObjectState,
  targetCounts,
  targetsText,
} from "../../../domain/object-state.ts";
import type { FoundCopy } from "./copies.ts";
import { isObserved } from "../keys/key-view.ts";

/** What `status` shows. It has no value of a secret, no key and no token. */
export interface StatusReport {
  readonly sharedSecrets: readonly SourceStatus[];
  /** Keys but those that are ready or expired. */
  readonly keys: readonly LifetimeStatus[];
  /** Direct tokens but those that are expired. */
  readonly tokens: readonly LifetimeStatus[];
  readonly notVisible: readonly NotVisible[];
}

/** What the user may not see. */
export interface NotVisible {
  readonly object: ReportObject;
  readonly message: string;
}

/** The state of a SharedSecret and of its targets. */
export interface SourceStatus extends ObjectState {
  readonly name: string;
  readonly counts: Readonly<Record<TargetState, number>>;
  /** The same as a text. */
  readonly summary: string;
  /** Whether `targets` has all copies, and not only the failures that the status lists. */
  readonly areNamed: boolean;
  readonly targets: readonly TargetStatus[];
}

/** The state of one target. */
export interface TargetStatus {
  /** `namespace/name`. */
  readonly target: string;
  /** Undefined for a copy of which it is not known whether it is synced. */
  readonly state: TargetState | "paused" | undefined;
  /** Why it is not current. */
  readonly failure?: { readonly reason: string; readonly message: string };
}

/** The state of an access key or a direct token. */
export interface LifetimeStatus extends ObjectState {
  readonly name: string;
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
  const { metadata, status, ...seen } = parsed(object);
  const counts = targetCounts(status);
  const listed = listAt(recordAt(status, "sync"), "failures").map(listedFailure);
  const known = new Set(listed.map(({ target }) => target));
  const others = (copies?.get(stringAt(metadata, "uid") ?? "") ?? [])
    .filter(({ target }) => !known.has(target))
    .toSorted((one, other) => (one.target < other.target ? -1 : 1));
  const intact = others.filter(({ error }) => error === undefined);
  const current = intact.filter(({ isPaused }) => !isPaused).length <= counts.synced;
  return {
    name: `${stringAt(metadata, "namespace") ?? ""}/${stringAt(metadata, "name") ?? ""}`,
    ...objectState(seen.conditions, seen),
    ...{ counts, summary: targetsText(counts) },
    areNamed: copies !== undefined,
    targets: [
      ...listed,
      ...others.flatMap(recordedFailure),
      ...intact.map(({ target, isPaused }) => ({
        target,
        state: isPaused ? ("paused" as const) : current ? ("synced" as const) : undefined,
      })),
    ],
  };
}

function listedFailure(entry: unknown): TargetStatus {
  const [reason, message] = [stringAt(entry, "reason") ?? "", stringAt(entry, "message") ?? ""];
  return {
    target: `${stringAt(entry, "namespace") ?? ""}/${stringAt(entry, "name") ?? ""}`,
    state: failedTargetState(reason),
    failure: { reason, message },
  };
}

/** The status lists ten failures; a copy records its own. */
function recordedFailure({ target, error }: FoundCopy): readonly TargetStatus[] {
  if (error === undefined) return [];
  const [, reason, message = error] = apiServerError.exec(error) ?? [];
  return reason === undefined
    ? [{ target, state: undefined, failure: { reason: "NotCurrent", message } }]
    : [{ target, state: "failed", failure: { reason, message } }];
}

/** A rejected write is recorded as the reason of the API server and its message. */
const apiServerError = /^([A-Z][A-Za-z]*): (.*)$/s;

/** Reads the state of a key or token at `now`; it ends soon within `endsWithin` seconds. */
export function lifetimeStatus(object: unknown, now: number, endsWithin: number): LifetimeStatus {
  const { metadata, status, ...seen } = parsed(object);
  const expiresAt = stringAt(status, "expiresAt");
  const end = instantOf(expiresAt);
  const endsIn = end === undefined ? undefined : Math.round((end - now) / 1000);
  const endsSoon = endsIn !== undefined && endsIn > 0 && endsIn <= endsWithin;
  return {
    name: stringAt(metadata, "name") ?? "",
    ...objectState(seen.conditions, { ...seen, endsSoon }),
    ...{ expiresAt, endsIn },
  };
}

function parsed(object: unknown) {
  const status = recordAt(object, "status");
  return {
    ...{ metadata: recordAt(object, "metadata"), status },
    ...{ conditions: parseConditions(status), isObserved: isObserved(object) },
  };
}
