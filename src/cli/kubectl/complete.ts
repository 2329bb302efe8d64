import { ownObjects } from "../../api/names.ts";
import { recordAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { contextNames } from "../../kube/kubeconfig-choice.ts";
import { entries } from "./actions.ts";
import type { Cli } from "./cli.ts";
import { completionOf, completionText, type Completion } from "./completion.ts";
import { kubeconfigsOf } from "./connect.ts";
import { type ConnectionFlags, connectionFlags } from "./connection-flags.ts";
import { printable } from "./failure.ts";
import { findObjects } from "./find-objects.ts";
import { type Completable, readFlags } from "./flag.ts";
import { printedList } from "./listing.ts";
import { readValues } from "./read-secret.ts";

const timeoutMs = 2_000;

/** Prints what the last word can be, for a shell; prints nothing if the cluster does not answer. */
export async function printCompletion(words: readonly string[], cli: Cli): Promise<void> {
  const found = completionOf(
    words,
    entries.map(({ command }) => command),
  );
  const names = await namesFor(found, cli).catch(() => []);
  const last = words.at(-1) ?? "";
  const inline = /^--[a-z-]+=/.exec(last)?.[0] ?? "";
  const fromCluster = names
    .map((name) => ({ word: inline + printable(name), text: "" }))
    .filter(({ word }) => word.startsWith(last));
  cli.terminal.print(completionText([...found.known, ...fromCluster], found.completes === "files"));
}

async function namesFor(
  { completes, flags, args }: Completion,
  cli: Cli,
): Promise<readonly string[]> {
  if (completes === undefined || completes === "files") return [];
  const connection = { ...readFlags(connectionFlags, flags), requestTimeout: timeoutMs };
  if (completes === "contexts") return contextNames(kubeconfigsOf(connection, cli.env));
  return clusterNames(completes, args, { cli, connection });
}

async function clusterNames(
  completes: Exclude<Completable, "files" | "contexts">,
  args: readonly string[],
  { cli, connection }: { readonly cli: Cli; readonly connection: ConnectionFlags },
): Promise<readonly string[]> {
  const cluster = await cli.connect(connection);
  const { namespace } = cluster.choice;
  switch (completes) {
    case "datakeys":
      return [...(await readValues(cluster, args[0] ?? "")).keys()];
    case "namespaces": {
      const { rows } = await printedList(cluster, resources.namespaces, undefined);
      return rows.map(({ ref }) => ref.name);
    }
    case "clusters": {
      const ref = { namespace: "latchkey-system", name: ownObjects.clusterList };
      return Object.keys(recordAt(await cluster.get(resources.configMaps, ref), "data"));
    }
    case "sharedsecrets":
    case "keys": {
      const isKey = completes === "keys";
      const resource = isKey ? resources.ownedAccessKeys : resources.sharedSecrets;
      const wanted = { resource, namespace: isKey ? undefined : namespace };
      const quiet = { say: (): void => {} };
      const found = await findObjects(wanted, { cluster, terminal: quiet });
      if (found.kind === "names") return found.refs.map(({ name }) => name);
      const { rows } = await printedList(cluster, resource, found.namespace);
      return rows.map(({ ref }) => ref.name);
    }
  }
}
