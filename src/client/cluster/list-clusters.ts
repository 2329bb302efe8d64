import { instantOf, spanText } from "../../domain/lifetime.ts";
import type { Action } from "../cli.ts";
import { rightText } from "../missing-right.ts";
import { tableText } from "../output.ts";
import { asSentence, printReport, withMissing } from "../report.ts";
import { clusterItem, type ClusterItem } from "./cluster-item.ts";
import { readClusters } from "./read-clusters.ts";

/** `kubectl latchkey cluster list`. */
export const listClusters: Action<"clusterList"> = async ({ flags }, cli) => {
  const cluster = await cli.connect(flags);
  const { found, missing } = await readClusters(cluster);
  const now = cli.clock.now();
  const items = found.map((observed) => clusterItem(observed, now));
  const { terminal } = cli;
  if (flags.output === undefined) {
    if (items.length === 0 && missing.length === 0) terminal.say("no cluster is connected");
    for (const right of missing) terminal.say(`you may not ${rightText(right)}`);
  }
  printReport(withMissing({ found: items, missing }), () => clustersText(items, now), {
    output: flags.output,
    terminal,
  });
};

const head = [
  "NAME",
  "PROJECTS",
  "HEARTBEAT",
  "OFFERED",
  "SYNCED",
  "WITHDRAWALS",
  "UNSEEN",
  "CREDENTIAL",
];

/** Connected clusters as a table; empty without any. */
function clustersText(items: readonly ClusterItem[], now: number): string {
  if (items.length === 0) return "";
  const rows = items.map(({ object, state, reason, message, cluster }) => [
    ...[object.name ?? "", cluster.projects.join(",") || "none"],
    ageText(cluster.heartbeatAge, "never"),
    ...[cluster.offered, cluster.synced, cluster.withdrawals].map(String),
    ageText(cluster.unseenAge, "-"),
    endText(cluster.credentialEnd, now),
    state === "ok" ? "-" : `${reason}: ${asSentence(message)}`,
  ]);
  return tableText([...head, "PROBLEM"], rows);
}

function ageText(seconds: number | undefined, none: string): string {
  return seconds === undefined ? none : spanText(seconds);
}

function endText(end: string | undefined, now: number): string {
  const endsAt = instantOf(end);
  if (endsAt === undefined) return end ?? "-";
  return endsAt > now ? spanText((endsAt - now) / 1000) : "ended";
}
