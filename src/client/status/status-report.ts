import { annotations } from "../../api/names.ts";
import { keyOf, type Metadata } from "../../api/object.ts";
import { parseOwnedAccessKeySpec } from "../../api/owned-access-key.ts";
import { parseConditions, recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import type { ReportItem, ReportObject } from "../../api/report.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { instantOf, spanText } from "../../domain/lifetime.ts";
import {
  failedTargetState,
  isObserved,
  type ListedFailure,
  listedFailures,
  objectState,
  recordedRejection,
  targetCounts,
  targetsText,
} from "../../domain/object-state.ts";
import { listedClusters, reportedCluster } from "../../domain/outbox/reported-clusters.ts";
import { nameOf, placeOf, reportObject, shortened } from "../../domain/report-object.ts";
import { dataCopyRef } from "../../domain/sync/data-copy.ts";
import { isPaused } from "../../domain/sync/sync-options.ts";
import { type ClusterItem, figuresText } from "../cluster/cluster-item.ts";
import { unscopedOf } from "../keys/key-view.ts";
import { colorOf } from "../report.ts";
import { printable } from "../failure.ts";
import type { Paint } from "../output.ts";

/** What `status` shows. It has no value of a secret, no key and no token. */
export interface StatusReport {
  readonly sharedSecrets: readonly SourceStatus[];
  /** Keys but those that are ready or expired. */
  readonly keys: readonly LifetimeStatus[];
  /** Direct tokens but those that are expired. */
  readonly tokens: readonly LifetimeStatus[];
  /** Connected clusters, if a SharedSecret names one. */
  readonly clusters: readonly ClusterItem[];
  /**
   * Of the installation: the admission policies that are not those of Latchkey, if the user may
   * read them; in a connected cluster, what its agent needs.
   */
  readonly policies: readonly ReportItem[];
  /** Whether the cluster serves no SharedSecrets, keys and tokens: these are the central one's. */
  readonly isConnected: boolean;
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
  /** What its status says of connected clusters, at most 20. */
  readonly clusters: readonly ReportItem[];
  /** Its message; empty if it is well, or if one of its targets says the same. */
  readonly said: string;
}

/** An access key or a direct token. */
export interface LifetimeStatus extends ReportItem {
  /** RFC 3339. */
  readonly expiresAt: string | undefined;
  /** Seconds to the end. */
  readonly endsIn: number | undefined;
  /** What it may do without a scope; undefined if it has one. */
  readonly unscoped?: string | undefined;
}

/** The items of a report for programs. */
export function statusItems(report: StatusReport): readonly ReportItem[] {
  const { sharedSecrets, keys, tokens, clusters, policies, notVisible } = report;
  const sources = sharedSecrets.flatMap((source) => [
    ...[source, ...source.secrets, ...source.clusters],
  ]);
  return [...sources, ...keys, ...tokens, ...clusters, ...policies, ...notVisible];
}

/**
 * Reads the state of a SharedSecret; `copies` is the metadata of copies by the uid of its source.
 */
export function sourceStatus(
  raw: unknown,
  copies: ReadonlyMap<string, readonly Metadata[]> | undefined,
): SourceStatus {
  const [metadata, status] = [recordAt(raw, "metadata"), recordAt(raw, "status")];
  const [namespace, name] = [stringAt(metadata, "namespace"), stringAt(metadata, "name")];
  const source = { kind: resources.sharedSecrets.kind, namespace, name };
  const uid = stringAt(metadata, "uid") ?? "";
  const own = keyOf(dataCopyRef({ namespace, uid }));
  // The copy for the readers of the SharedSecret is no target.
  const found = (copies?.get(uid) ?? []).filter((copy) => keyOf(copy) !== own);
  const from = stringMapAt(metadata, "annotations")[annotations.dataFrom];
  const followed = from === undefined ? "" : `, data of Secret ${JSON.stringify(shortened(from))}`;
  const secrets = targetItems(source, status, found);
  const causes = secrets.filter(({ state }) => state === "problem");
  const clusters = listedClusters(status).map((entry) => reportedCluster(source, entry));
  const state = stateOf(raw);
  const isRepeated = causes.some(({ message }) => state.message.includes(message));
  return {
    object: source,
    ...displayNameOf(raw),
    ...state,
    said: state.state === "ok" || isRepeated ? "" : state.message,
    targets: targetCounts(status),
    summary: `${targetsText(status)}${followed}`,
    causes: causes.map(({ object, reason, message }) => ({ object, reason, message })),
    secrets,
    areNamed: copies !== undefined,
    clusters,
  };
}

/** The failures that the status lists, and those that copies record; then the other copies. */
function targetItems(
  source: ReportObject,
  status: Readonly<Record<string, unknown>>,
  copies: readonly Metadata[],
): readonly ReportItem[] {
  const listed = listedFailures(status);
  const known = new Set(listed.map(keyOf));
  const others = copies
    .filter((copy) => !known.has(keyOf(copy)))
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  const intact = others.filter((copy) => copy.annotations[annotations.syncError] === undefined);
  const areSynced = intact.filter((copy) => !isPaused(copy)).length <= targetCounts(status).synced;
  return [
    ...listed.map((failure) => listedItem(source, failure)),
    ...others.filter((copy) => !intact.includes(copy)).map((copy) => failedItem(source, copy)),
    ...intact.map((copy) => intactItem(source, copy, areSynced)),
  ];
}

function listedItem(source: ReportObject, failure: ListedFailure): ReportItem {
  const object = reportObject(resources.secrets.kind, failure);
  const { reason, message } = failure;
  const target = failedTargetState(reason);
  return { object, source, state: "problem", reason, message, causes: [], target };
}

/** The status lists ten failures; a copy records its own. */
function failedItem(source: ReportObject, copy: Metadata): ReportItem {
  const object = reportObject(resources.secrets.kind, copy);
  const message = copy.annotations[annotations.syncError] ?? "";
  const item = { object, source, state: "problem", causes: [] } as const;
  const rejection = recordedRejection(copy);
  return rejection === undefined
    ? { ...item, reason: "NotCurrent", message }
    : { ...item, ...rejection, target: "failed" };
}

function intactItem(source: ReportObject, copy: Metadata, isSynced: boolean): ReportItem {
  const object = reportObject(resources.secrets.kind, copy);
  if (isPaused(copy)) {
    const message = `An annotation of ${nameOf(object)} pauses its sync.`;
    return { object, source, state: "info", reason: "CopyPaused", message, causes: [] };
  }
  const message = `${nameOf(object)} is a copy of ${nameOf(source)} and records no error.`;
  const target = isSynced ? "synced" : undefined;
  return { object, source, state: "ok", reason: "CopyFound", message, causes: [], target };
}

/** Reads the state of a key or token at `now`. */
export function lifetimeStatus({ kind }: Resource, raw: unknown, now: number): LifetimeStatus {
  const status = recordAt(raw, "status");
  const expiresAt = stringAt(status, "expiresAt");
  const end = instantOf(expiresAt);
  const endsIn = end === undefined ? undefined : Math.round((end - now) / 1000);
  const isUnscoped = parseOwnedAccessKeySpec(recordAt(raw, "spec")).scope === "none";
  return {
    object: { kind, name: stringAt(recordAt(raw, "metadata"), "name") },
    ...displayNameOf(raw),
    ...stateOf(raw),
    expiresAt,
    endsIn,
    unscoped: isUnscoped ? unscopedOf(raw) : undefined,
  };
}

function displayNameOf(raw: unknown): Pick<ReportItem, "displayName"> {
  const displayName = stringAt(recordAt(raw, "spec"), "displayName") ?? "";
  return displayName === "" ? {} : { displayName: shortened(displayName) };
}

function stateOf(raw: unknown) {
  const conditions = parseConditions(recordAt(raw, "status"));
  return objectState(conditions, { isObserved: isObserved(raw) });
}

/** The report as a tree of sources and targets, then keys, tokens and what is not visible. */
export function statusText(report: StatusReport, paint: Paint): string {
  const { sharedSecrets, keys, tokens, clusters, policies, notVisible, isConnected } = report;
  const sources = sharedSecrets.flatMap((source) => sourceLines(source, paint));
  const weak = policies.map((item) => paint(printable(item.message), colorOf(item)));
  const hidden = notVisible.map(({ message }) => printable(message));
  const some = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : section(title, lines);
  const lifetimes = [
    section("Access keys that expire soon or are not ready", lifetimeLines(keys, paint)),
    section("Direct tokens", lifetimeLines(tokens, paint)),
  ];
  const sections = [
    section(
      isConnected ? "SharedSecrets of the central cluster with copies here" : "SharedSecrets",
      sources,
    ),
    ...(isConnected ? [] : lifetimes),
    some("Connected clusters", clusterLines(clusters, paint)),
    some("Installation", weak),
    some("Not visible to you", hidden),
  ];
  return [...sections.flat(), ""].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return [title, ...(lines.length === 0 ? ["none"] : lines).map((line) => `  ${line}`)];
}

function sourceLines(source: SourceStatus, paint: Paint): readonly string[] {
  const { reason, said, summary, secrets } = source;
  const color = colorOf(source);
  const children = [
    ...(said === "" ? [] : [paint(printable(said), color)]),
    ...secrets.map((secret) => targetLine(secret, paint)),
    ...source.clusters.map((cluster) => reportedLine(cluster, paint)),
  ];
  const title = `${titleOf(source)}   ${reason}, ${summary}`;
  return [paint(printable(title), color), ...branches(children)];
}

/** The place of an object and, in quotes, its name for people, which could say anything. */
function titleOf({ object, displayName }: ReportItem): string {
  const shown = displayName === undefined ? "" : ` ${JSON.stringify(displayName)}`;
  return `${placeOf(object)}${shown}`;
}

function targetLine({ object, state, reason, message, target }: ReportItem, paint: Paint): string {
  const title = `${placeOf(object)}   ${state === "info" ? "paused" : (target ?? "")}`;
  if (state === "problem") return paint(printable(`${title} ${reason}: ${message}`), "bad");
  return state === "info" ? paint(printable(title), "faint") : printable(title);
}

/** What the status of a SharedSecret says of a connected cluster. */
function reportedLine(item: ReportItem, paint: Paint): string {
  const { object, state, reason, message } = item;
  const said = state === "ok" ? message : `${reason}: ${message}`;
  const line = printable(`cluster ${placeOf(object)}   ${said}`);
  return state === "ok" ? line : paint(line, colorOf(item));
}

function clusterLines(clusters: readonly ClusterItem[], paint: Paint): readonly string[] {
  return clusters.map((item) => {
    const { object, state, reason, message } = item;
    const said = state === "ok" ? "" : `   ${reason}: ${message}`;
    const line = printable(`${placeOf(object)}   ${figuresText(item)}${said}`);
    return state === "ok" ? line : paint(line, colorOf(item));
  });
}

function branches(lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => `${at === lines.length - 1 ? "└─" : "├─"} ${line}`);
}

/** Maximum keys or tokens in the text; `-o json` has all of them. */
const mostLines = 20;

function lifetimeLines(states: readonly LifetimeStatus[], paint: Paint): readonly string[] {
  const lines = states.slice(0, mostLines).map((found) => {
    const { state, reason, message, endsIn, unscoped } = found;
    const end = endsIn === undefined || endsIn < 0 ? "" : `, ends in ${spanText(endsIn)}`;
    const limits = unscoped === undefined ? "" : ` (${unscoped})`;
    const said = state === "ok" ? "" : `: ${message}`;
    const line = printable(`${titleOf(found)}   ${reason}${end}${said}${limits}`);
    return paint(line, state === "problem" ? "bad" : "faint");
  });
  return states.length <= mostLines
    ? lines
    : [...lines, paint(`and ${states.length - mostLines} more`, "faint")];
}
