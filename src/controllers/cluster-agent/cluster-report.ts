import type { Key, Metadata } from "../../api/object.ts";
import { apiVersionOf, resources } from "../../api/resources.ts";
import type { Wire } from "../../api/wire.ts";
import { type ClusterReport, reportKey, reportText } from "../../domain/outbox/cluster-report.ts";
import { reportCount, reportName, reportNumberOf } from "../../domain/outbox/outbox-names.ts";
import { unknownSourcesOf } from "../../domain/outbox/report-of.ts";
import { nothingToDo, type Write } from "../../domain/plan/plan.ts";
import type { WrittenReport } from "../sync-state.ts";
import { type Answers, answerTo, readOf, type ReconcileDecision } from "../question.ts";
import type { Reconciler } from "../reconciler.ts";
import type { SyncWorld } from "../sync-world.ts";

/** What the reports of an agent are made of besides the stores. */
export interface ClusterReportOptions {
  /** The namespace of the outbox in the central cluster. */
  readonly outbox: string;
  /** Why the agent writes nothing; only in the first report. */
  readonly problem: () => ClusterReport["problem"];
}

/** The keys of the queue of reports, which are the names of their ConfigMaps. */
export const reportKeys: readonly Key[] = Array.from({ length: reportCount }, (_, number) =>
  reportName(number),
);

/** Least time between two writes of a report, in milliseconds. */
const leastIntervalMs = 5_000;
/** How often a report is composed without a change of a source: copies of unknown ones change. */
const composeMs = 60_000;
/** How often the ConfigMap is compared with what was written: its cluster may be restored. */
const checkMs = 300_000;
const waitMs = 1_000;
const missingMs = 30_000;

/** Writes the reports of an agent into the outbox; the keys are the names of the ConfigMaps. */
export function clusterReportReconciler(options: ClusterReportOptions): Reconciler {
  return {
    queue: "clusterReport",
    workers: () => 2,
    decide: (key, world, answers) => decide(key, { world, options }, answers),
    // The central cluster may be away for days, which the process says elsewhere.
    judge(_, key, { memory }) {
      memory.writtenReports.delete(key);
      return { result: { kind: "requeue-with-backoff" } };
    },
    ended(key, { memory }) {
      const written = memory.writtenReports.get(key);
      if (written?.isSent === false) memory.writtenReports.set(key, { ...written, isSent: true });
    },
  };
}

interface ReportContext {
  readonly world: SyncWorld;
  readonly options: ClusterReportOptions;
}

function decide(key: Key, context: ReportContext, answers: Answers): ReconcileDecision {
  const { memory, stores, clock } = context.world;
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const last = memory.writtenReports.get(key);
  const isCounted = memory.sourceReports.size >= stores.sharedSecrets.size;
  // A new leader would else report that most sources have no targets.
  if (last === undefined && !isCounted) return { decideAt: now + waitMs };
  const text = textOf(key, context);
  const isSame = last?.isSent === true && last.text === text;
  const dueMs = last === undefined ? 0 : last.at + intervalAfter(last, isSame) - monotonic;
  if (dueMs > 0) return { decideAt: now + Math.min(dueMs, composeMs) };
  const read = readOf(resources.configMaps, { namespace: context.options.outbox, name: key });
  const found = answerTo(read, answers)?.object;
  if (found === undefined) return { questions: [read] };
  if (found.kind !== "there") {
    memory.writtenReports.delete(key);
    return { ...nothingToDo, result: { kind: "requeue-at", at: now + missingMs } };
  }
  const { resourceVersion } = found.metadata;
  if (isSame && (last.checked ?? resourceVersion) === resourceVersion) {
    memory.writtenReports.set(key, { ...last, at: monotonic, checked: resourceVersion });
    return { decideAt: now + composeMs };
  }
  memory.writtenReports.set(key, { text, at: monotonic, isSent: false });
  const result = { kind: "requeue-at", at: now + leastIntervalMs } as const;
  return { ...nothingToDo, steps: [[reportWrite(found.metadata, text)]], result };
}

/** How long after its last write or comparison a report is due, in milliseconds. */
function intervalAfter({ checked }: WrittenReport, isSame: boolean): number {
  return isSame && checked !== undefined ? checkMs : leastIntervalMs;
}

function textOf(key: Key, { world, options }: ReportContext): string {
  const { memory, stores } = world;
  const reported = [...memory.sourceReports.values()].filter((each) => each.reportName === key);
  const problem = key === reportKeys[0] ? options.problem() : undefined;
  return reportText({
    sources: new Map(
      reported.flatMap((each) => ("report" in each ? [[each.uid, each.report] as const] : [])),
    ),
    done: new Map(
      reported.flatMap((each) =>
        "report" in each || !each.isDone ? [] : [[each.uid, each.seen] as const],
      ),
    ),
    unknown: new Map(
      [...unknownSourcesOf(stores)].filter(([uid]) => reportName(reportNumberOf(uid)) === key),
    ),
    ...(problem === undefined ? {} : { problem }),
  });
}

/** Replaces the data of the ConfigMap; its labels and annotations stay. */
function reportWrite(metadata: Metadata, text: string): Write {
  const { namespace = "", name, uid, resourceVersion, labels, annotations } = metadata;
  return {
    do: "replace",
    resource: resources.configMaps,
    object: {
      apiVersion: apiVersionOf(resources.configMaps),
      kind: resources.configMaps.kind,
      metadata: { namespace, name, uid, resourceVersion, labels, annotations },
      data: { [reportKey]: text },
    } satisfies Wire<"ConfigMap">,
  };
}
