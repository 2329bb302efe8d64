import { managementEntry } from "../../api/names.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { secretsByCluster } from "../../domain/outbox/connected-clusters.ts";
import { contextNames, readKubeconfigFiles } from "../../kube/credentials/kubeconfig.ts";
import { flagOf } from "../../runtime/options.ts";
import { optionsOf } from "../../cli/command-line.ts";
import {
  type Command,
  type CommandOption,
  type CommandOptions,
  type Completable,
  readArguments,
  readOptions,
} from "../../cli/command.ts";
import { optionHelp } from "../../cli/help.ts";
import { hoisted, leadingOptions, separated } from "../../cli/words.ts";
import type { Cli } from "../cli.ts";
import { clusterSecrets } from "../cluster/cluster-secret.ts";
import { commands } from "../commands.ts";
import { listedClusters } from "../connection/cluster-address.ts";
import type { Cluster } from "../connection/cluster.ts";
import { connectionOptions as connection } from "../connection/connection-options.ts";
import { askedKinds, askedObject } from "../explain/asked-kinds.ts";
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

/** A word that completion proposes. */
interface Proposal {
  readonly word: string;
  readonly text: string;
}

/** Words that are known, and the kind of those from the cluster. */
interface Proposals {
  readonly known: readonly Proposal[];
  readonly completes?: Completable | undefined;
}

/** What the last word of a command line can be. */
interface Completion extends Proposals {
  /** Undefined before it is complete. */
  readonly command: Command | undefined;
  /** Texts of the options so far, such as the namespace. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly args: readonly string[];
}

/** Finds what the last of these words can be. */
export function completionOf(words: readonly string[], commands: readonly Command[]): Completion {
  const given = separated(words.slice(0, -1), { commands, connection });
  const last = words.at(-1) ?? "";
  const { command, rest } = commandIn(hoisted(given, { commands, connection }), commands);
  const { flags, args, open } = scan(rest, command === undefined ? {} : allOptions(command));
  const { known, completes } =
    command === undefined
      ? { known: nextWords(given.slice(leadingOptions(given, connection)), commands) }
      : proposed(command, { args, open, last });
  const fitting = known.filter(({ word }) => word.startsWith(last));
  return { command, known: fitting, completes, flags, args };
}

function allOptions(command: Command): CommandOptions {
  return optionsOf(command, connection);
}

/** A place in a command line: the last word, and what is before it. */
interface Place {
  readonly args: readonly string[];
  /** The option that waits for its value. */
  readonly open: string | undefined;
  readonly last: string;
}

/** What can be at a place: a value, an option, or an argument. */
function proposed(command: Command, { args, open, last }: Place): Proposals {
  const table = allOptions(command);
  const inline = /^--([a-z-]+)=(.*)$/.exec(last);
  const name = inline?.[1] ?? open;
  if (name !== undefined) {
    const { choices = [], completes } = optionNamed(table, name) ?? {};
    const start = inline === null ? "" : `--${name}=`;
    return { known: choices.map((word) => ({ word: start + word, text: "" })), completes };
  }
  if (last.startsWith("-")) return { known: Object.entries(table).map(optionProposal) };
  const { arguments: list = [] } = command;
  const argument = list[args.length] ?? list.find(({ many }) => many === true);
  const { choices = [], completes } = argument ?? {};
  if (completes === "objects" && askedObject(last) === undefined) {
    const kinds = Object.entries(askedKinds);
    return { known: kinds.map(([kind, { help }]) => ({ word: `${kind}/`, text: help })) };
  }
  return { known: choices.map((word) => ({ word, text: "" })), completes };
}

function optionProposal([name, option]: readonly [string, CommandOption]): Proposal {
  const word = `--${flagOf(name)}${option.value === "" ? "" : "="}`;
  return { word, text: optionHelp(option) };
}

function commandIn(
  words: readonly string[],
  commands: readonly Command[],
): { readonly command: Command | undefined; readonly rest: readonly string[] } {
  for (const depth of [2, 1]) {
    const name = words.slice(0, depth).join(" ");
    const command = commands.find((candidate) => candidate.name === name);
    if (command !== undefined) return { command, rest: words.slice(depth) };
  }
  return { command: undefined, rest: [] };
}

/** The words that can follow: commands, groups, or the commands of a group. */
function nextWords(before: readonly string[], commands: readonly Command[]): readonly Proposal[] {
  const found = new Map<string, string>();
  for (const { name, brief } of commands) {
    const words = name.split(" ");
    if (before.some((word, at) => word !== words[at])) continue;
    const word = words[before.length] ?? "";
    const isGroup = words.length > before.length + 1;
    if (word !== "" && !found.has(word)) found.set(word, isGroup ? `commands of ${word}` : brief);
  }
  return [...found].map(([word, text]) => ({ word, text }));
}

function optionNamed(table: CommandOptions, name: string) {
  return Object.entries(table).find(
    ([field, { alias }]) => flagOf(field) === name || alias === name,
  )?.[1];
}

/** Reads the flags and arguments before the last word, and the flag that waits for its value. */
function scan(words: readonly string[], table: CommandOptions) {
  const flags = new Map<string, readonly string[]>();
  const args: string[] = [];
  let open: string | undefined;
  const add = (name: string, value: string): void => {
    const field = Object.entries(table).find(([, flag]) => flag === optionNamed(table, name))?.[0];
    const key = field === undefined ? name : flagOf(field);
    flags.set(key, [...(flags.get(key) ?? []), value]);
  };
  for (const word of words) {
    const match = /^--?([A-Za-z][A-Za-z-]*)(?:=(.*))?$/.exec(word);
    if (open !== undefined) {
      add(open, word);
      open = undefined;
    } else if (match === null) args.push(word);
    else {
      const [, name = "", value] = match;
      const isSwitch = optionNamed(table, name)?.value === "";
      if (value !== undefined || isSwitch) add(name, value ?? "true");
      else open = name;
    }
  }
  return { flags, args, open };
}

/** The protocol of kubectl and cobra: a line for each word, then a directive. */
export function completionText(proposals: readonly Proposal[], files: boolean): string {
  const lines = proposals.map(({ word, text }) =>
    text === "" ? `${word}\n` : `${word}\t${text}\n`,
  );
  const isOpen = proposals.some(({ word }) => /[=/]$/.test(word));
  // Cobra's directives: 0 also proposes files, 2 adds no space, 4 proposes no files.
  return `${lines.join("")}:${files ? 0 : isOpen ? 6 : 4}\n`;
}

async function namesFor(
  { command, completes, flags, args }: Completion,
  last: string,
  cli: Cli,
): Promise<readonly string[]> {
  if (command === undefined || completes === undefined || completes === "files") return [];
  const given = { ...readOptions(connection, flags), requestTimeout: timeoutMs };
  if (completes === "contexts") return contextNames(readKubeconfigFiles(given.kubeconfig, cli.env));
  const before = completes === "objects" ? [last] : readArguments(command, args);
  return clusterNames(completes, before, await cli.connect(given));
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
    case "clusters":
      return connectedNames(cluster);
    case "sharedsecrets":
      return objectNames(resources.sharedSecrets, cluster);
    case "keys":
      return objectNames(resources.ownedAccessKeys, cluster);
    case "tokens":
      return objectNames(resources.endpointTokens, cluster);
    case "objects": {
      const asked = askedObject(word);
      return asked === undefined ? [] : objectNames(askedKinds[asked.kind].resource, cluster);
    }
  }
}

/** The clusters that the gateway lists, and those whose Secrets the user may list. */
async function connectedNames(cluster: Cluster): Promise<readonly string[]> {
  const [listed, secrets] = await Promise.all([
    listedClusters(cluster, "latchkey-system").catch(() => ({})),
    clusterSecrets(cluster).catch(() => []),
  ]);
  const names = [...Object.keys(listed), ...secretsByCluster(secrets).keys()];
  return [...new Set(names)].filter((name) => name !== managementEntry).toSorted();
}

async function objectNames(resource: Resource, cluster: Cluster): Promise<readonly string[]> {
  const namespace = resource.namespaced ? cluster.choice.namespace : undefined;
  const quiet = { say: (): void => {} };
  const found = await findObjects({ resource, namespace }, { cluster, terminal: quiet });
  if (found.kind === "names") return found.refs.map(({ name }) => name);
  const { rows } = await printedList(cluster, resource, found.namespace);
  return rows.map(({ ref }) => ref.name);
}
