import { clusterCommands } from "./cluster-commands.ts";
import { keyCommands } from "./key-commands.ts";
import { secretCommands } from "./secret-commands.ts";
import { tokenCommands } from "./token-commands.ts";
import { whyCommands } from "./why-commands.ts";

/** Every command, in the order of the help and of docs/cli.md. */
export const commands = {
  ...secretCommands,
  ...keyCommands,
  ...tokenCommands,
  ...whyCommands,
  ...clusterCommands,
} as const;
