import { clusterCommands } from "./cluster-commands.ts";
import { secretCommands } from "./secret-commands.ts";

/** Every command, in the order of the help and of docs/cli.md. */
export const commands = { ...secretCommands, ...clusterCommands } as const;
