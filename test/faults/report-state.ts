import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { parseReport, reportKey } from "../../src/domain/outbox/cluster-report.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import { outbox } from "./scenario-objects.ts";

/** What the agent of a run reports, without uids and versions. */
export async function reportStateOf(cluster: ProxiedCluster, view: View): Promise<string> {
  const path = `/api/v1/namespaces/${outbox(view, "east")}/configmaps`;
  const reports = listAt(await cluster.arrange({ method: "GET", path }), "items").map((item) =>
    parseReport(stringAt(recordAt(item, "data"), reportKey) ?? ""),
  );
  const state = {
    kind: "Reports",
    metadata: { name: "reports" },
    sources: reports.flatMap(({ sources }) =>
      [...sources.values()].map((source) => JSON.stringify({ ...source, seen: "a version" })),
    ),
    done: reports.reduce((sum, { done }) => sum + done.size, 0),
    unknown: reports.flatMap(({ unknown }) => [...unknown.values()]),
    problems: reports.flatMap(({ problem }) => problem ?? []),
  };
  const sorted = { ...state, sources: state.sources.sort(), unknown: state.unknown.sort() };
  return JSON.stringify(sorted, undefined, 2).replaceAll(view.prefix, "the-");
}
