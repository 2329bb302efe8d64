import { refOf } from "../../../api/object.ts";
import type { ReportItem, ReportObject, Verdict } from "../../../api/report.ts";
import { resources } from "../../../api/resources.ts";
import { nameOf } from "../../../domain/cause.ts";
import type { ObjectState } from "../../../domain/object-state.ts";
import { asSentence } from "../explain/report.ts";
import type { LifetimeStatus, SourceStatus, StatusReport, TargetStatus } from "./status-report.ts";
import { named } from "../explain/why-report.ts";

/**
 * The report for programs: SharedSecrets with their targets, keys, tokens and what is not visible.
 */
export function statusItems(report: StatusReport): readonly ReportItem[] {
  const { sharedSecrets, keys, tokens, notVisible } = report;
  const { ownedAccessKeys, endpointTokens } = resources;
  return [
    ...sharedSecrets.flatMap(sourceItems),
    ...keys.map((key) => lifetimeItem(ownedAccessKeys.kind, key)),
    ...tokens.map((token) => lifetimeItem(endpointTokens.kind, token)),
    ...notVisible.map(({ object, message }) => ({
      ...{ object, state: "unknown" as const, reason: "Forbidden" },
      ...{ message: asSentence(message), causes: [] },
    })),
  ];
}

const verdictOf: Readonly<Record<ObjectState["state"], Verdict>> = {
  ready: "ok",
  "not-ready": "problem",
  waiting: "info",
  expiring: "info",
  expired: "info",
  unknown: "unknown",
};

function stateItem({ state, reason, message }: ObjectState): Omit<ReportItem, "object"> {
  return { state: verdictOf[state], reason, message: asSentence(message), causes: [] };
}

function sourceItems(source: SourceStatus): readonly ReportItem[] {
  const object = named(resources.sharedSecrets.kind, refOf(source.name));
  const targets = source.targets.map((target) => targetItem(target, object));
  const causes = targets.flatMap(({ object: target, state, reason, message }) =>
    state === "problem" ? [{ object: target, reason, message }] : [],
  );
  return [{ object, ...stateItem(source), causes, targets: source.counts }, ...targets];
}

function targetItem({ target, state, failure }: TargetStatus, source: ReportObject): ReportItem {
  const object = named(resources.secrets.kind, refOf(target));
  const isPaused = state === "paused";
  const fine = isPaused
    ? { reason: "CopyPaused", message: `An annotation of ${nameOf(object)} pauses its sync` }
    : {
        reason: "CopyFound",
        message: `${nameOf(object)} is a copy of ${nameOf(source)} and records no error`,
      };
  const { reason, message } = failure ?? fine;
  return {
    ...{ object, source, state: failure === undefined ? (isPaused ? "info" : "ok") : "problem" },
    ...{ reason, message: asSentence(message), causes: [] },
    ...(state === undefined || isPaused ? {} : { target: state }),
  };
}

function lifetimeItem(kind: string, found: LifetimeStatus): ReportItem {
  return { object: named(kind, { name: found.name }), ...stateItem(found) };
}
