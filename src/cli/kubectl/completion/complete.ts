import { managementEntry } from "../../../api/names.ts";
import { type Resource, resources } from "../../../api/resources.ts";
import { contextNames, readKubeconfigFiles } from "../../../kube/credentials/kubeconfig.ts";
import { commands } from "../commands.ts";
import { askedKinds, askedObject } from "../explain/asked-kinds.ts";
import type { Cli } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import { listedClusters } from "../connection/cluster-address.ts";
import { type Command, type Completable, readArguments, readOptions } from "../../command.ts";
import { completionOf, completionText, type Completion } from "./completion.ts";

import { connectionOptions } from "../connection/connection-options.ts";
import { printable } from "../failure.ts";
import { findObjects } from "../objects/find-objects.ts";
import { printedList } from "../objects/listing.ts";
import { readValues } from "../secrets/read-secret.ts";

const timeoutMs = 2_000;

/** Prints what the last word can be, for a shell; prints nothing if the cluster does not answer. */
export async function printCompletion(words: readonly string[], cli: Cli): Promise<void> {
  const found = completionOf(words, Object.values(commands));
  const last = words.at(-1) ?? "";
  const names = await namesFor(found, last, cli).catch(() => []);
  const isObject = found.completes === "objects";
  const start = (isObject ? /^[^/]*\// : /^--[a-z-]+=/).exec(last)?.[0] ?? "";
  const fromCluster = names
    .map((name) => ({ word: start + printable(name), text: "" }))
    .filter(({ word }) => word.startsWith(last));
  cli.terminal.print(completionText([...found.known, ...fromCluster], found.completes === "files"));
}

async function namesFor(
  { command, completes, flags, args }: Completion & { readonly command: Command | undefined },
  last: string,
  cli: Cli,
): Promise<readonly string[]> {
  if (command === undefined || completes === undefined || completes === "files") return [];
  const connection = { ...readOptions(connectionOptions, flags), requestTimeout: timeoutMs };
  if (completes === "contexts")
    return contextNames(readKubeconfigFiles(connection.kubeconfig, cli.env));
  const before = completes === "objects" ? [last] : readArguments(command, args);
  return clusterNames(completes, before, await cli.connect(connection));
}

/** The names of a kind that the user may read; `before` has the words that choose them. */
async function clusterNames(
  completes: Exclude<Completable, "files" | "contexts">,
  [word = ""]: readonly string[],
  cluster: Cluster,
): Promise<readonly string[]> {
  switch (completes) {
    case "datakeys":
      return [...(await readValues(cluster, word)).keys()];
    case "namespaces": {
      const { rows } = await printedList(cluster, resources.namespaces, undefined);
      return rows.map(({ ref }) => ref.name);
    }
    case "clusters": {
      const listed = await listedClusters(cluster, "latchkey-system");
      return Object.keys(listed).filter((name) => name !== managementEntry);
    }
    case "sharedsecrets":
      return objectNames(resources.sharedSecrets, cluster);
    case "keys":
      return objectNames(resources.ownedAccessKeys, cluster);
    case "objects": {
      const asked = askedObject(word);
      return asked === undefined ? [] : objectNames(askedKinds[asked.kind].resource, cluster);
    }
  }
}

async function objectNames(resource: Resource, cluster: Cluster): Promise<readonly string[]> {
  const namespace = resource.namespaced ? cluster.choice.namespace : undefined;
  const quiet = { say: (): void => {} };
  const found = await findObjects({ resource, namespace }, { cluster, terminal: quiet });
  if (found.kind === "names") return found.refs.map(({ name }) => name);
  const { rows } = await printedList(cluster, resource, found.namespace);
  return rows.map(({ ref }) => ref.name);
}
