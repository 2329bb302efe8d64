import type { Command } from "../cli/command.ts";
import { adminCommands } from "./admin/admin-commands.ts";
import { clusterCommands } from "./cluster/cluster-commands.ts";
import { resultOutput, systemNamespace } from "./connection/connection-options.ts";
import { explainCommands } from "./explain/explain-commands.ts";
import { keyCommands } from "./keys/key-commands.ts";
import { oidcCommands } from "./oidc/oidc-commands.ts";
import { oneOf, someText, switchOption } from "./option-values.ts";
import { secretCommands } from "./secrets/secret-commands.ts";
import { tokenCommands } from "./tokens/token-commands.ts";

/** The shells with a completion script; `kubectl` is that of kubectl's own completion. */
export const shells = ["kubectl", "bash", "zsh", "fish"] as const;

const completionWords = [...shells, "install"] as const;

/** Commands about this program. */
const ownCommands = {
  completion: {
    name: "completion",
    brief: "Print a script that completes commands, options and names, or install it",
    details: [
      "completion install writes the script for kubectl as kubectl_complete-latchkey beside " +
        "kubectl-latchkey, where kubectl finds it. It replaces only a file that it wrote itself.",
      "Names come from the API server, with your rights.",
    ],
    arguments: [
      {
        name: "SHELL",
        help: `${shells.join(", ")}, or install`,
        choices: completionWords,
        read: oneOf(completionWords),
      },
    ],
    options: {
      directory: {
        value: "<directory>",
        help: "with install: directory of your PATH, instead of that of kubectl-latchkey",
        completes: "files",
        parse: someText,
      },
    },
    connects: false,
    examples: ["kubectl latchkey completion install", "source <(kubectl latchkey completion bash)"],
  },
  version: {
    name: "version",
    brief: "Print the versions of this program, of the API server and of the controller",
    details: [
      "kubectl latchkey --version is the same. The controller writes its version to its Lease, " +
        "which not every user may read.",
    ],
    arguments: [],
    options: {
      client: switchOption({ help: "print only the version of this program, without a request" }),
      ...systemNamespace,
      ...resultOutput,
    },
    connects: true,
    examples: ["kubectl latchkey version --client"],
  },
} as const satisfies Readonly<Record<string, Command>>;

/** Every command, in the order of the help and of docs/cli.md. */
export const commands = {
  ...secretCommands,
  ...keyCommands,
  ...tokenCommands,
  ...oidcCommands,
  ...clusterCommands,
  ...explainCommands,
  ...adminCommands,
  ...ownCommands,
} as const;
