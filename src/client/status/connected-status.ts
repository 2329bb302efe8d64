import { keyOf } from "../../api/object.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { targetCounts } from "../../domain/object-state.ts";
import { reportObject } from "../../domain/report-object.ts";
import type { AgentCopy } from "../cluster/agent-copies.ts";
import { agentCopyItem } from "../explain/connected-items.ts";
import { plainItem } from "../report.ts";
import type { SourceStatus } from "./status-report.ts";

/** The SharedSecrets of the central cluster, by what their copies in a connected cluster say. */
export function connectedSources(copies: readonly AgentCopy[]): readonly SourceStatus[] {
  return [...Map.groupBy(copies, ({ source }) => keyOf(source)).values()].map((own) =>
    connectedSource(own),
  );
}

function connectedSource(copies: readonly AgentCopy[]): SourceStatus {
  const secrets = copies.map((copy): ReportItem => {
    const item = agentCopyItem(copy);
    return item.state === "problem"
      ? { ...item, target: "failed" }
      : { ...item, state: "ok", target: "synced" };
  });
  const wrong = secrets.filter(({ state }) => state === "problem");
  const object = reportObject(resources.sharedSecrets.kind, copies[0]?.source ?? { name: "" });
  const synced = secrets.length - wrong.length;
  const summary = `${synced} of ${secrets.length} copies here are current`;
  const state =
    wrong.length === 0 ? (["ok", "CopyFound"] as const) : (["problem", "NotCurrent"] as const);
  return {
    ...plainItem(object, state, `${summary}.`),
    targets: { ...targetCounts({}), synced, failed: wrong.length },
    summary,
    causes: wrong.map(({ object: secret, reason, message }) => ({
      object: secret,
      reason,
      message,
    })),
    secrets,
    said: "",
    areNamed: true,
    clusters: [],
  };
}
