import { keyOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { Action } from "./cli.ts";
import type { commands } from "./command-table.ts";
import { copiesByUid } from "./copies.ts";
import { exitCodes } from "./failure.ts";
import { findObjects, type Found } from "./find-objects.ts";
import { readableByName } from "./listing.ts";
import { paintWith, resultText } from "./output.ts";
import { keyStatus, sourceStatus, statusText, type StatusReport } from "./status-report.ts";
import type { Cluster } from "./cluster.ts";
import type { Resource } from "../../api/resources.ts";

/** `kubectl latchkey status`. */
export const printStatus: Action<typeof commands.status.flags> = async ({ flags }, cli) => {
  const cluster = await cli.connect(flags);
  const deps = { cluster, terminal: cli.terminal };
  const namespace = flags.allNamespaces ? undefined : cluster.choice.namespace;
  const sources = await findObjects({ resource: resources.sharedSecrets, namespace }, deps);
  const keys = await findObjects(
    { resource: resources.ownedAccessKeys, namespace: undefined },
    deps,
  );
  const now = cli.clock.now();
  const secrets = await read(resources.sharedSecrets, sources, cluster);
  const copies = await copiesOf(cluster);
  const report: StatusReport = {
    sharedSecrets: secrets.map((object) => sourceStatus(object, copies)),
    keys: (await read(resources.ownedAccessKeys, keys, cluster)).flatMap(
      (object) => keyStatus(object, { now, endsWithin: flags.endsWithin }) ?? [],
    ),
  };
  const paint = paintWith(cli.terminal.hasColors);
  cli.terminal.print(resultText(flags.output, report, () => statusText(report, paint)));
  if (copies === undefined)
    cli.terminal.say(
      "you may not list Secrets in all namespaces, so targets are counted, not named",
    );
  const isWell = [...report.sharedSecrets, ...report.keys].every(({ well }) => well);
  return isWell ? exitCodes.done.code : exitCodes.unhealthy.code;
};

function read(resource: Resource, found: Found, cluster: Cluster): Promise<readonly unknown[]> {
  return found.kind === "list"
    ? cluster.list(resource, found.namespace)
    : readableByName(cluster, resource, found.refs);
}

/** The targets by the uid of their source; undefined if the user may not list Secrets. */
async function copiesOf(
  cluster: Cluster,
): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  const copies = await copiesByUid(cluster);
  return copies && new Map([...copies].map(([uid, refs]) => [uid, refs.map(keyOf)] as const));
}
