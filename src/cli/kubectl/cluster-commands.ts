import { duration } from "../../runtime/config-values.ts";
import type { Command } from "./command.ts";
import { resultOutput, systemNamespace } from "./connection-flags.ts";
import { flagWithDefault, switchFlag } from "./flag.ts";

/** Commands about the installation. */
export const clusterCommands = {
  check: {
    name: "check",
    brief: "tells whether Latchkey works in the cluster, and what you may do",
    details: [
      "A check whose right you do not have is unknown, which is no problem; the exit code is 3 if there is a problem.",
    ],
    arguments: [],
    flags: {
      wait: flagWithDefault(
        {
          value: "<duration>",
          initial: "0",
          help: "maximum time to repeat the checks until there is no problem",
        },
        duration({ unit: 1000, least: 0 }),
      ),
      ...systemNamespace,
      ...resultOutput,
    },
    connects: true,
    examples: ["kubectl latchkey check", "kubectl latchkey check --wait=2m"],
  },
  version: {
    name: "version",
    brief: "prints the versions of this program and of the API server",
    arguments: [],
    flags: {
      client: switchFlag({ help: "print only the version of this program, without a request" }),
      ...resultOutput,
    },
    connects: true,
    examples: ["kubectl latchkey version --client"],
  },
} as const satisfies Readonly<Record<string, Command>>;
