import { UsageError } from "../../../runtime/config-values.ts";
import type { Action, Cli, Flags } from "../cli.ts";
import { isWell, printReport } from "../explain/report.ts";
import { exitCodes } from "../failure.ts";
import { readStatus } from "./status-read.ts";
import { statusItems, statusText } from "./status-report.ts";
import { StatusSource } from "./status-source.ts";
import { watchStatus } from "./status-watch.ts";

/** `kubectl latchkey status`. */
export const printStatus: Action<"status"> = async ({ flags }, cli) => {
  checkFlags(flags);
  if (flags.serve) return serve(flags, cli);
  const cluster = await cli.connect(flags);
  const namespace = flags.allNamespaces ? undefined : cluster.choice.namespace;
  const selection = { namespace, endsWithin: flags.endsWithin };
  if (flags.watch) {
    const source = new StatusSource(selection, {
      clock: cli.clock,
      connect: reconnecting(cluster, () => cli.connect(flags)),
    });
    const title = titleOf(namespace, cluster.choice.server);
    const options = { intervalMs: flags.interval, output: flags.output, title };
    return watchStatus(options, { source, ...cli, signal: cli.untilStopped() });
  }
  const report = await readStatus(selection, { cluster, clock: cli.clock });
  const items = statusItems(report);
  printReport(items, (paint) => statusText(report, paint), { ...flags, ...cli });
  return isWell(items) ? exitCodes.done.code : exitCodes.unhealthy.code;
};

function checkFlags({ serve: serves, watch, output, port }: Flags<"status">): void {
  if (serves && (watch || output !== undefined))
    throw new UsageError(
      "--serve has a page instead of an output; use it without --watch and --output",
    );
  if (!serves && port !== undefined) throw new UsageError("--port has no effect without --serve");
}

/** Returns a function that connects: the first time, with the existing connection. */
function reconnecting<T>(first: T, connect: () => Promise<T>): () => Promise<T> {
  let left: T | undefined = first;
  return async () => {
    const existing = left;
    left = undefined;
    return existing ?? connect();
  };
}

/** What a report is about. */
function titleOf(namespace: string | undefined, server: string): string {
  return `${namespace === undefined ? "all namespaces" : `namespace ${namespace}`} at ${server}`;
}

async function serve(flags: Flags<"status">, cli: Cli): Promise<void> {
  const { serveStatus } = await import("./status-serve.ts");
  const cluster = await cli.connect(flags);
  const namespace = flags.allNamespaces ? undefined : cluster.choice.namespace;
  const source = new StatusSource(
    { namespace, endsWithin: flags.endsWithin },
    { clock: cli.clock, connect: reconnecting(cluster, () => cli.connect(flags)) },
  );
  const title = titleOf(namespace, cluster.choice.server);
  const options = { port: flags.port ?? 0, intervalMs: flags.interval, title };
  await serveStatus(options, { source, ...cli, signal: cli.untilStopped() });
}
