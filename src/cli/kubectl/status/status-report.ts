import { refOf } from "../../../api/object.ts";
import { listAt, parseConditions, recordAt, stringAt } from "../../../api/parse.ts";
import type { ReportItem, ReportObject } from "../../../api/report.ts";
import { type Resource, resources } from "../../../api/resources.ts";
import { instantOf } from "../../../domain/lifetime.ts";
import {
  failedTargetState,
  isObserved,
  objectState,
  targetCounts,
  targetsText,
} from "../../../domain/object-state.ts";
import { nameOf, placeOf, reportObject } from "../../../domain/report-object.ts";
import type { FoundCopy } from "./copies.ts";

const { secrets } = resources;

/** What `status` shows. It has no value of a secret, no key and no token. */
export interface StatusReport {
  readonly sharedSecrets: readonly SourceStatus[];
  /** Keys but those that are ready or expired. */
  readonly keys: readonly LifetimeStatus[];
  /** Direct tokens but those that are expired. */
  readonly tokens: readonly LifetimeStatus[];
  /** What the user may not see. */
  readonly notVisible: readonly ReportItem[];
}

/** A SharedSecret and its targets. */
export interface SourceStatus extends ReportItem {
  readonly targets: ReturnType<typeof targetCounts>;
  /** The same as a text. */
  readonly summary: string;
  /** The Secrets that are its targets. */
  readonly secrets: readonly ReportItem[];
  /** Whether `secrets` has all copies, and not only the failures that the status lists. */
  readonly areNamed: boolean;
}

/** An access key or a direct token. */
export interface LifetimeStatus extends ReportItem {
  /** RFC 3339. */
  readonly expiresAt: string | undefined;
  /** Seconds to the end. */
  readonly endsIn: number | undefined;
}

/** The items of a report for programs. */
export function statusItems(report: StatusReport): readonly ReportItem[] {
  const { sharedSecrets, keys, tokens, notVisible } = report;
  const sources = sharedSecrets.flatMap((source) => [source, ...source.secrets]);
  return [...sources, ...keys, ...tokens, ...notVisible];
}

/** Reads the state of a SharedSecret; `copies` by uid. */
export function sourceStatus(
  raw: unknown,
  copies: ReadonlyMap<string, readonly FoundCopy[]> | undefined,
): SourceStatus {
  const [metadata, status] = [recordAt(raw, "metadata"), recordAt(raw, "status")];
  const [namespace, name] = [stringAt(metadata, "namespace"), stringAt(metadata, "name")];
  const object = { kind: resources.sharedSecrets.kind, namespace, name };
  const targets = targetCounts(status);
  const own = copies?.get(stringAt(metadata, "uid") ?? "") ?? [];
  const items = targetItems(object, { status, copies: own, synced: targets.synced });
  const problems = items.filter(({ state }) => state === "problem");
  return {
    ...{ object, ...stateOf(raw), targets, summary: targetsText(targets) },
    causes: problems.map(({ object: secret, reason, message }) => ({
      ...{ object: secret, reason, message },
    })),
    ...{ secrets: items, areNamed: copies !== undefined },
  };
}

interface SeenTargets {
  readonly status: Readonly<Record<string, unknown>>;
  readonly copies: readonly FoundCopy[];
  /** The number of copies that the status counts as synced. */
  readonly synced: number;
}

/** The failures that the status lists, and those of copies; then copies that record no error. */
function targetItems(
  source: ReportObject,
  { status, copies, synced }: SeenTargets,
): readonly ReportItem[] {
  const listed = listAt(recordAt(status, "sync"), "failures").map((entry) =>
    listedFailure(source, entry),
  );
  const known = new Set(listed.map(({ object }) => placeOf(object)));
  const others = copies
    .filter(({ target }) => !known.has(target))
    .toSorted((one, other) => (one.target < other.target ? -1 : 1));
  const intact = others.filter(({ error }) => error === undefined);
  const areSynced = intact.filter(({ isPaused }) => !isPaused).length <= synced;
  return [
    ...listed,
    ...others.flatMap((copy) => recordedFailure(source, copy)),
    ...intact.map((copy) => intactItem(source, copy, areSynced)),
  ];
}

function listedFailure(source: ReportObject, entry: unknown): ReportItem {
  const [namespace, name] = [stringAt(entry, "namespace") ?? "", stringAt(entry, "name") ?? ""];
  const [reason, message] = [stringAt(entry, "reason") ?? "", stringAt(entry, "message") ?? ""];
  const object = reportObject(secrets.kind, { namespace, name });
  const target = failedTargetState(reason);
  return { object, source, state: "problem", reason, message, causes: [], target };
}

/** The status lists ten failures; a copy records its own. */
function recordedFailure(source: ReportObject, copy: FoundCopy): readonly ReportItem[] {
  if (copy.error === undefined) return [];
  const object = reportObject(secrets.kind, refOf(copy.target));
  const [, rejection, message = copy.error] = apiServerError.exec(copy.error) ?? [];
  const [reason, target] =
    rejection === undefined ? ["NotCurrent"] : [rejection, "failed" as const];
  return [{ object, source, state: "problem", reason, message, causes: [], target }];
}

/** A rejected write is recorded as the reason of the API server and its message. */
const apiServerError = /^([A-Z][A-Za-z]*): (.*)$/s;

function intactItem(source: ReportObject, copy: FoundCopy, isSynced: boolean): ReportItem {
  const object = reportObject(secrets.kind, refOf(copy.target));
  if (copy.isPaused) {
    const message = `An annotation of ${nameOf(object)} pauses its sync.`;
    return { object, source, state: "info", reason: "CopyPaused", message, causes: [] };
  }
  const message = `${nameOf(object)} is a copy of ${nameOf(source)} and records no error.`;
  const target = isSynced ? "synced" : undefined;
  return { object, source, state: "ok", reason: "CopyFound", message, causes: [], target };
}

/** Reads the state of a key or token at `now`; it ends soon within `endsWithin` seconds. */
export function lifetimeStatus(
  { kind }: Resource,
  raw: unknown,
  { now, endsWithin }: { readonly now: number; readonly endsWithin: number },
): LifetimeStatus {
  const status = recordAt(raw, "status");
  const expiresAt = stringAt(status, "expiresAt");
  const end = instantOf(expiresAt);
  const endsIn = end === undefined ? undefined : Math.round((end - now) / 1000);
  const endsSoon = endsIn !== undefined && endsIn > 0 && endsIn <= endsWithin;
  return {
    object: { kind, name: stringAt(recordAt(raw, "metadata"), "name") },
    ...stateOf(raw, endsSoon),
    ...{ expiresAt, endsIn },
  };
}

function stateOf(raw: unknown, endsSoon = false) {
  const conditions = parseConditions(recordAt(raw, "status"));
  return objectState(conditions, { isObserved: isObserved(raw), endsSoon });
}
