import type { GivenWords } from "./app.ts";
import type { Action, Cli } from "./cli.ts";
import { commands } from "./command-table.ts";
import { type Command, readArguments } from "./command.ts";
import { connectionFlags } from "./connection/connection-flags.ts";
import { exitCodes } from "./failure.ts";
import { type FlagTable, readFlags } from "./flag.ts";

/** A command with its code. */
interface Entry {
  readonly command: Command;
  /** Parses arguments and flags, loads the code and runs it; returns the exit code. */
  readonly start: (given: GivenWords, cli: Cli) => Promise<number>;
}

function entry<Table extends FlagTable>(
  command: Command & { readonly flags: Table },
  load: () => Promise<Action<Table>>,
): Entry {
  return {
    command,
    async start({ flags, args: words, program }, cli) {
      const args = readArguments(command, words);
      const own = readFlags(command.flags, flags);
      const connection = readFlags(connectionFlags, flags);
      const action = await load();
      const code = await action({ flags: { ...connection, ...own }, args, program }, cli);
      return code ?? exitCodes.done.code;
    },
  };
}

/** The code of every command, which is loaded when the command runs. */
export const entries: readonly Entry[] = [
  entry(commands.list, async () => (await import("./secrets/list.ts")).listSharedSecrets),
  entry(commands.get, async () => (await import("./secrets/get.ts")).getValues),
  entry(commands.set, async () => (await import("./secrets/set.ts")).setValues),
  entry(commands.unset, async () => (await import("./secrets/set.ts")).unsetValues),
  entry(commands.edit, async () => (await import("./secrets/edit.ts")).editValues),
  entry(commands.run, async () => (await import("./secrets/run.ts")).runProgram),
  entry(commands.keysCreate, async () => (await import("./keys/keys.ts")).createKey),
  entry(commands.keysList, async () => (await import("./keys/keys.ts")).listKeys),
  entry(commands.keysDescribe, async () => (await import("./keys/keys.ts")).describeKey),
  entry(commands.keysDisable, async () => (await import("./keys/keys.ts")).disableKey),
  entry(commands.keysEnable, async () => (await import("./keys/keys.ts")).enableKey),
  entry(commands.keysDelete, async () => (await import("./keys/keys.ts")).deleteKeys),
  entry(commands.keysRotate, async () => (await import("./keys/rotate-key.ts")).rotateKey),
  entry(commands.keysTakeOver, async () => (await import("./keys/keys.ts")).takeOverKey),
  entry(commands.keysDigest, async () => (await import("./keys/keys.ts")).printDigest),
  entry(commands.keysTest, async () => (await import("./keys/keys.ts")).testKey),
  entry(commands.tokenCreate, async () => (await import("./tokens/token-create.ts")).createToken),
  entry(
    commands.kubeconfig,
    async () => (await import("./connection/kubeconfig.ts")).printKubeconfig,
  ),
  entry(commands.why, async () => (await import("./explain/why.ts")).why),
  entry(commands.status, async () => (await import("./status/status.ts")).printStatus),
  entry(commands.plan, async () => (await import("./explain/plan.ts")).plan),
  entry(commands.refreshNow, async () => (await import("./explain/refresh-now.ts")).refreshNow),
  entry(commands.check, async () => (await import("./explain/check.ts")).check),
  entry(commands.trustConfig, async () => (await import("./server-commands.ts")).trustConfig),
  entry(
    commands.rotateSigningKey,
    async () => (await import("./server-commands.ts")).rotateKeyOfIssuer,
  ),
  entry(
    commands.completion,
    async () => (await import("./completion/completion-script.ts")).printCompletionScript,
  ),
  entry(commands.version, async () => (await import("./version.ts")).printVersion),
];
