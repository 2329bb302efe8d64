import { listAt, numberAt, parseConditions, recordAt, stringAt } from "../../api/parse.ts";
import { instantOf } from "../../domain/lifetime.ts";
import { printable } from "./failure.ts";
import { readyOf } from "./key-view.ts";
import { type Paint, spanText } from "./output.ts";

/** What `status` prints. */
export interface StatusReport {
  readonly sharedSecrets: readonly SourceStatus[];
  /** Keys that end soon or are not well. */
  readonly keys: readonly KeyStatus[];
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
  readonly failures: readonly TargetFailure[];
}

/** A target that is not synced. */
export interface TargetFailure {
  readonly target: string;
  readonly reason: string;
  readonly message: string;
}

/** The state of an access key. */
export interface KeyStatus {
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
  copies: ReadonlyMap<string, readonly string[]> | undefined,
): SourceStatus {
  const metadata = recordAt(object, "metadata");
  const sync = recordAt(recordAt(object, "status"), "sync");
  const failures = listAt(sync, "failures").map((failure) => ({
    target: `${stringAt(failure, "namespace") ?? ""}/${stringAt(failure, "name") ?? ""}`,
    reason: stringAt(failure, "reason") ?? "",
    message: stringAt(failure, "message") ?? "",
  }));
  const count = (field: string): number => numberAt(sync, field) ?? 0;
  const ready = readyOf(object) ?? unseen;
  return {
    name: `${stringAt(metadata, "namespace") ?? ""}/${stringAt(metadata, "name") ?? ""}`,
    well: ready.isReady && count("conflicts") === 0 && count("failed") === 0,
    reason: ready.reason,
    message: ready.message,
    desired: count("desired"),
    synced: count("synced"),
    targets: copies && (copies.get(stringAt(metadata, "uid") ?? "") ?? []).toSorted(),
    failures,
  };
}

const unseen = {
  isReady: false,
  reason: "NotObserved",
  message: "the controller has not seen this generation; run kubectl latchkey check",
};

/** The current instant, and the seconds that count as soon. */
export interface Soon {
  readonly now: number;
  readonly endsWithin: number;
}

/**
 * Reads the state of a key; undefined if it is well and does not end soon. A disabled or expired key
 * is as its owner wants it.
 */
export function keyStatus(object: unknown, { now, endsWithin }: Soon): KeyStatus | undefined {
  const status = recordAt(object, "status");
  const expiresAt = stringAt(status, "expiresAt");
  const end = instantOf(expiresAt);
  const ready = readyOf(object) ?? unseen;
  const isExpired = parseConditions(status).some(
    ({ type, status: state }) => type === "Expired" && state === "True",
  );
  const isSoon = end !== undefined && end > now && end <= now + endsWithin * 1000;
  const well = ready.isReady || isExpired;
  if (well && !isSoon) return undefined;
  return {
    name: stringAt(recordAt(object, "metadata"), "name") ?? "",
    well,
    reason: ready.reason,
    message: ready.message,
    expiresAt,
    endsIn: end === undefined ? undefined : Math.round((end - now) / 1000),
  };
}

/** A tree of sources and targets, and the keys. */
export function statusText({ sharedSecrets, keys }: StatusReport, paint: Paint): string {
  const sources = sharedSecrets.flatMap((source) => {
    const color = source.well ? "good" : "bad";
    const title = `${source.name}   ${source.reason}, ${source.synced} of ${source.desired} copies`;
    const failed = source.failures.map(({ target }) => target);
    const children = [
      ...(source.well ? [] : [paint(printable(source.message), "bad")]),
      ...(source.targets ?? []).filter((target) => !failed.includes(target)).map(printable),
      ...source.failures.map(({ target, reason, message }) =>
        paint(printable(`${target}   ${reason}: ${message}`), "bad"),
      ),
    ];
    return [paint(printable(title), color), ...branches(children)];
  });
  const lines = keys.map(({ name, well, reason, message, endsIn }) => {
    const end = endsIn === undefined || endsIn < 0 ? "" : `, ends in ${spanText(endsIn)}`;
    return paint(printable(`${name}   ${reason}${end}: ${message}`), well ? "faint" : "bad");
  });
  return [
    "SharedSecrets",
    ...(sources.length === 0 ? ["none"] : sources).map((line) => `  ${line}`),
    "Access keys that end soon or are not well",
    ...(lines.length === 0 ? ["none"] : lines).map((line) => `  ${line}`),
    "",
  ].join("\n");
}

function branches(lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => `${at === lines.length - 1 ? "└─" : "├─"} ${line}`);
}
