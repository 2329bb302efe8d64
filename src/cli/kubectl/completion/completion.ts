import { managementEntry } from "../../../api/names.ts";
import { type Resource, resources } from "../../../api/resources.ts";
import { contextNames, readKubeconfigFiles } from "../../../kube/credentials/kubeconfig.ts";
import { flagOf } from "../../../runtime/options.ts";
import { optionsOf } from "../../command-line.ts";
import {
  type Command,
  type CommandOptions,
  type Completable,
  readArguments,
  readOptions,
} from "../../command.ts";
import { optionHelp } from "../../help.ts";
import { hoisted, leadingOptions, separated } from "../../words.ts";
import type { Cli } from "../cli.ts";
import { commands } from "../commands.ts";
import { listedClusters } from "../connection/cluster-address.ts";
import type { Cluster } from "../connection/cluster.ts";
import {
  connectionOptions as connection,
  connectionOptions,
} from "../connection/connection-options.ts";
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

/**
 * What the last word of a command line can be: known words, or words of a kind from the cluster.
 */
export interface Completion {
  readonly known: readonly Proposal[];
  readonly completes: Completable | undefined;
  /** Texts of the flags so far, such as the namespace. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly args: readonly string[];
}

/** Finds what the last of these words can be; the command is undefined before it is complete. */
export function completionOf(
  words: readonly string[],
  commands: readonly Command[],
): Completion & { readonly command: Command | undefined } {
  const given = separated(words.slice(0, -1), { commands, connection });
  const before = hoisted(given, { commands, connection });
  const last = words.at(-1) ?? "";
  const { command, rest } = commandIn(before, commands);
  if (command === undefined) {
    const route = given.slice(leadingOptions(given, connection));
    const known = nextWords(route, commands).filter(({ word }) => word.startsWith(last));
    return { command, known, completes: undefined, flags: new Map(), args: [] };
  }
  const table = optionsOf(command, connection);
  const { flags, args, open } = scan(rest, table);
  const inline = /^--([a-z-]+)=(.*)$/.exec(last);
  const name = inline?.[1] ?? open;
  if (name !== undefined) {
    const flag = flagNamed(table, name);
    const known = (flag?.choices ?? []).map((word) => ({
      word: inline === null ? word : `--${name}=${word}`,
      text: "",
    }));
    return {
      ...{ command, flags, args, completes: flag?.completes },
      known: known.filter(({ word }) => word.startsWith(last)),
    };
  }
  if (last.startsWith("-")) {
    const all = Object.entries(table).map(([field, option]) => ({
      word: `--${flagOf(field)}${option.value === "" ? "" : "="}`,
      text: optionHelp(option),
    }));
    const known = all.filter(({ word }) => word.startsWith(last));
    return { command, known, completes: undefined, flags, args };
  }
  const { arguments: list = [] } = command;
  const argument = list[args.length] ?? list.find(({ many }) => many === true);
  const isKind = argument?.completes === "objects" && askedObject(last) === undefined;
  const choices: readonly Proposal[] = isKind
    ? Object.entries(askedKinds).map(([kind, { help }]) => ({ word: `${kind}/`, text: help }))
    : (argument?.choices ?? []).map((word) => ({ word, text: "" }));
  const known = choices.filter(({ word }) => word.startsWith(last));
  const completes = isKind ? undefined : argument?.completes;
  return { command, known, completes, flags, args };
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

function flagNamed(table: CommandOptions, name: string) {
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
    const field = Object.entries(table).find(([, flag]) => flag === flagNamed(table, name))?.[0];
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
      const isSwitch = flagNamed(table, name)?.value === "";
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
