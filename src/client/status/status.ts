import { UsageError } from "../../runtime/config-values.ts";
import type { Action, Flags } from "../cli.ts";
import { connectionVariables } from "../connection/connection-variables.ts";
import { isWell, printReport } from "../report.ts";
import { exitCodes } from "../failure.ts";
import { policyReader, readStatus } from "./status-read.ts";
import { statusItems, statusText } from "./status-report.ts";
import { StatusSource } from "./status-source.ts";

/** `kubectl latchkey status`. */
export const printStatus: Action<"status"> = async ({ flags }, cli) => {
  checkFlags(flags);
  const cluster = await cli.connect(flags);
  const namespace = flags.allNamespaces ? undefined : cluster.choice.namespace;
  const selection = { namespace, endsWithin: flags.endsWithin };
  const { clock } = cli;
  const policies = policyReader(flags.latchkeyNamespace, clock);
  if (flags.serve) {
    const connect = () => cli.connect(flags);
    const source = new StatusSource(selection, { cluster, connect, clock, policies });
    const deps = { source, ...cli, signal: cli.untilStopped() };
    const place = namespace === undefined ? "all namespaces" : `namespace ${namespace}`;
    const how = cluster.isOfVariables ? `, with ${connectionVariables.key}` : "";
    const title = `${place} at ${cluster.choice.server}${how}`;
    const { interval: intervalMs, port = 0 } = flags;
    const { serveStatus } = await import("./status-serve.ts");
    return serveStatus({ title, intervalMs, port }, deps);
  }
  const report = await readStatus(selection, { cluster, clock, policies });
  const items = statusItems(report);
  printReport(items, (paint) => statusText(report, paint), { ...flags, ...cli });
  return isWell(items) ? exitCodes.done.code : exitCodes.unhealthy.code;
};

function checkFlags({ serve: serves, output, port }: Flags<"status">): void {
  if (serves && output !== undefined)
    throw new UsageError("--serve has a page instead of an output; use it without --output");
  if (!serves && port !== undefined) throw new UsageError("--port has no effect without --serve");
}
