import { refOf } from "../../api/object.ts";
import type { ReportItem, ReportObject } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { nameOf } from "../../domain/cause.ts";
import { asSentence } from "./report.ts";
import type { LifetimeStatus, SourceStatus, StatusReport } from "./status-report.ts";
import { named } from "./why-report.ts";

/**
 * The report for programs: SharedSecrets with their copies, keys, tokens and what is not visible.
 */
export function statusItems(report: StatusReport): readonly ReportItem[] {
  const { sharedSecrets, keys, tokens, notVisible } = report;
  const { ownedAccessKeys, endpointTokens } = resources;
  return [
    ...sharedSecrets.flatMap(sourceItems),
    ...keys.map((key) => lifetimeItem(ownedAccessKeys.kind, key, soon)),
    ...tokens.map((token) => lifetimeItem(endpointTokens.kind, token, { state: "ok" })),
    ...notVisible.map(({ object, message }) => ({
      ...{ object, state: "unknown" as const, reason: "Forbidden" },
      ...{ message: asSentence(message), causes: [] },
    })),
  ];
}

function sourceItems(source: SourceStatus): readonly ReportItem[] {
  const { name, well, reason, message, failures } = source;
  const object = named(resources.sharedSecrets.kind, refOf(name));
  const failed = failures.map((failure) => ({
    object: named(resources.secrets.kind, refOf(failure.target)),
    ...{ reason: failure.reason, message: asSentence(failure.message) },
  }));
  const failing = new Set(failures.map(({ target }) => target));
  const others = (source.targets ?? []).filter((target) => !failing.has(target));
  return [
    {
      ...{ object, state: well ? "ok" : "problem", reason },
      ...{ message: asSentence(message), causes: failed },
    },
    ...failed.map(({ object: target, ...problem }) => ({
      ...{ object: target, source: object, state: "problem" as const, ...problem, causes: [] },
    })),
    ...others.map((target) => copyItem(target, source, object)),
  ];
}

function copyItem(target: string, { paused }: SourceStatus, source: ReportObject): ReportItem {
  const object = named(resources.secrets.kind, refOf(target));
  const isPaused = paused.includes(target);
  return {
    ...{ object, source, state: isPaused ? "info" : "ok" },
    reason: isPaused ? "CopyPaused" : "CopyFound",
    message: isPaused
      ? `An annotation of ${nameOf(object)} pauses its sync.`
      : `${nameOf(object)} is a copy of ${nameOf(source)} and records no error.`,
    causes: [],
  };
}

const soon = { state: "info", reason: "EndsSoon" } as const;

/** `good` is what is said of a key or token that is well. */
function lifetimeItem(
  kind: string,
  { name, well, reason, message }: LifetimeStatus,
  good: Pick<ReportItem, "state"> & Partial<Pick<ReportItem, "reason">>,
): ReportItem {
  return {
    object: named(kind, { name }),
    ...{ state: "problem", reason, ...(well ? good : {}) },
    ...{ message: asSentence(message), causes: [] },
  };
}
