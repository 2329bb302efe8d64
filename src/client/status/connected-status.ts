import { keyOf } from "../../api/object.ts";
import type { ReportItem, SyncState } from "../../api/report.ts";
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

const targets: ReadonlyMap<string, SyncState> = new Map([
  ["ok", "synced"],
  ["problem", "failed"],
  ["unknown", "pending"],
]);

function connectedSource(copies: readonly AgentCopy[]): SourceStatus {
  const secrets = copies.map((copy): ReportItem => {
    const item = agentCopyItem(copy);
    return { ...item, target: targets.get(item.state) };
  });
  const count = (target: SyncState) => secrets.filter((item) => item.target === target).length;
  const [synced, failed, pending] = [count("synced"), count("failed"), count("pending")];
  const object = reportObject(resources.sharedSecrets.kind, copies[0]?.source ?? { name: "" });
  const summary = `${synced} of ${secrets.length} copies here are current`;
  return {
    ...plainItem(object, failed > 0 ? ["problem", "NotCurrent"] : ["ok", "CopyFound"], summary),
    targets: { ...targetCounts({}), synced, failed, pending },
    summary,
    secrets,
    said: "",
    areNamed: true,
    clusters: [],
  };
}
