import { clusterCommands } from "./cluster-commands.ts";
import { keyCommands } from "./keys/key-commands.ts";
import { secretCommands } from "./secrets/secret-commands.ts";
import { tokenCommands } from "./tokens/token-commands.ts";
import { whyCommands } from "./explain/why-commands.ts";

/** Every command, in the order of the help and of docs/cli.md. */
export const commands = {
  ...secretCommands,
  ...keyCommands,
  ...tokenCommands,
  ...whyCommands,
  ...clusterCommands,
} as const;
