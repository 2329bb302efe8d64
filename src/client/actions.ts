import { type Command, type GivenWords, readArguments, readOptions } from "../cli/command.ts";
import type { Program } from "../cli/command-line.ts";
import type { Action, Actions, Cli, CliProcess } from "./cli.ts";
import { commands } from "./commands.ts";
import type { OpenCluster } from "./connection/connect.ts";
import { connectionOptions } from "./connection/connection-options.ts";
import { exitCodeOf, exitCodes, runExitCodes, sentenceOf } from "./failure.ts";
import { helpForm, overviewHelp } from "./help.ts";

const actions: Actions = {
  list: async () => (await import("./secrets/secret-actions.ts")).listSharedSecrets,
  get: async () => (await import("./secrets/get.ts")).getValues,
  set: async () => (await import("./secrets/set.ts")).setValues,
  unset: async () => (await import("./secrets/set.ts")).unsetValues,
  edit: async () => (await import("./secrets/edit.ts")).editValues,
  delete: async () => (await import("./secrets/secret-actions.ts")).deleteSharedSecrets,
  run: async () => (await import("./secrets/run.ts")).runProgram,
  keysCreate: async () => (await import("./keys/keys.ts")).createKey,
  keysList: async () => (await import("./keys/keys.ts")).listKeys,
  keysDescribe: async () => (await import("./keys/keys.ts")).describeKey,
  keysSet: async () => (await import("./keys/set-key.ts")).setKey,
  keysDisable: async () => (await import("./keys/keys.ts")).disableKey,
  keysEnable: async () => (await import("./keys/keys.ts")).enableKey,
  keysDelete: async () => (await import("./keys/keys.ts")).deleteKeys,
  keysRotate: async () => (await import("./keys/rotate-key.ts")).rotateKey,
  keysTakeOver: async () => (await import("./keys/keys.ts")).takeOverKey,
  revoke: async () => (await import("./keys/revoke.ts")).revoke,
  keysDigest: async () => (await import("./keys/keys.ts")).printDigest,
  keysTest: async () => (await import("./keys/keys.ts")).testKey,
  tokenCreate: async () => (await import("./tokens/token-create.ts")).createToken,
  tokenList: async () => (await import("./tokens/token-actions.ts")).listTokens,
  tokenDescribe: async () => (await import("./tokens/token-actions.ts")).describeToken,
  tokenDelete: async () => (await import("./tokens/token-actions.ts")).deleteTokens,
  clusterConnect: async () => (await import("./cluster/connect-cluster.ts")).connectCluster,
  clusterDisconnect: async () =>
    (await import("./cluster/disconnect-cluster.ts")).disconnectCluster,
  clusterList: async () => (await import("./cluster/list-clusters.ts")).listClusters,
  kubeconfig: async () => (await import("./connection/kubeconfig.ts")).printKubeconfig,
  credential: async () => (await import("./oidc/credential.ts")).printCredential,
  why: async () => (await import("./explain/why.ts")).why,
  status: async () => (await import("./status/status.ts")).printStatus,
  plan: async () => (await import("./explain/plan.ts")).plan,
  refreshNow: async () => (await import("./explain/refresh-now.ts")).refreshNow,
  check: async () => (await import("./explain/check.ts")).check,
  trustConfig: async () => (await import("./admin/trust-config.ts")).trustConfig,
  rotateSigningKey: async () => (await import("./admin/rotate-signing-key.ts")).rotateKeyOfIssuer,
  completion: async () => (await import("./completion/completion-script.ts")).printCompletionScript,
  version: async () => (await import("./version.ts")).printVersion,
};

/** The client as a command line runs it in a process. */
export function clientProgram(process: CliProcess): Program {
  return {
    commands: Object.values(commands),
    helpForm,
    overview: (group) => overviewHelp(Object.values(commands), group),
    switchesTakeValue: false,
    sentenceOf,
    exitCodeOf: codeOf,
    async act(command, given) {
      try {
        return await withCli(process, (cli) => runCommand(command, given, cli));
      } catch (error) {
        process.terminal.say(sentenceOf(error));
        return codeOf(error, command);
      }
    },
  };
}

/** The exit code for an error: those of `run` are apart from those of its program. */
function codeOf(error: unknown, command: Command | undefined): number {
  return command?.runsProgram === true ? runExitCodes.failed : exitCodeOf(error);
}

/** Runs a command of the table and returns its exit code. */
export async function runCommand(command: Command, given: GivenWords, cli: Cli): Promise<number> {
  const [key = ""] = Object.entries(commands).find(([, { name }]) => name === command.name) ?? [];
  if (!isCommand(key)) throw new TypeError(`command "${command.name}" has no code`);
  return runAction(key, given, cli);
}

function isCommand(key: string): key is keyof typeof commands {
  return Object.hasOwn(commands, key);
}

/** Parses arguments and options, loads the code of a command and runs it. */
async function runAction<Name extends keyof typeof commands>(
  name: Name,
  { options, args: words, program }: GivenWords,
  cli: Cli,
): Promise<number> {
  const command = commands[name];
  const args = readArguments(command, words);
  const own = readOptions<(typeof commands)[Name]["options"]>(command.options, options);
  const flags = { ...readOptions(connectionOptions, options), ...own };
  const action: Action<Name> = await actions[name]();
  return (await action({ flags, args, program }, cli)) ?? exitCodes.done.code;
}

/** Prints what the last word of a command line can be. */
export async function runCompletion(words: readonly string[], process: CliProcess): Promise<void> {
  const { printCompletion } = await import("./completion/completion.ts");
  await withCli(process, (cli) => printCompletion(words, cli));
}

/**
 * Runs work whose connections are closed afterwards. A connection of variables is said where a
 * kubeconfig exists too, or where the work fails.
 */
async function withCli<T>(process: CliProcess, work: (cli: Cli) => Promise<T>): Promise<T> {
  const opened: OpenCluster[] = [];
  const said = new Set<string>();
  const say = (sentence: string): void => {
    if (!said.has(sentence)) process.terminal.say(sentence);
    said.add(sentence);
  };
  const cli: Cli = {
    ...process,
    async connect(flags) {
      const { connect } = await import("./connection/connect.ts");
      const cluster = await connect(flags, process);
      opened.push(cluster);
      if (cluster.note?.isDue === true) say(cluster.note.sentence);
      return cluster;
    },
  };
  try {
    return await work(cli);
  } catch (error) {
    for (const { note } of opened) if (note !== undefined) say(note.sentence);
    throw error;
  } finally {
    for (const cluster of opened) cluster.close();
  }
}
