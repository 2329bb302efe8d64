import type { Command } from "./command.ts";
import { objectOutput } from "./connection-flags.ts";
import { switchFlag } from "./flag.ts";

/** Whether a listing covers all namespaces. */
export const allNamespaces = {
  allNamespaces: switchFlag({ alias: "A", help: "SharedSecrets of all namespaces" }),
} as const;

/** Commands about SharedSecrets. */
export const secretCommands = {
  list: {
    name: "list",
    brief: "lists the SharedSecrets that you may read",
    details: [
      "Without the right to list them, the command reads those that your roles name (SelfSubjectRulesReview). The output has no value of a secret.",
    ],
    arguments: [],
    flags: { ...allNamespaces, ...objectOutput },
    connects: true,
    examples: ["kubectl latchkey list -n team-a", "kubectl latchkey list -A -o name"],
  },
} as const satisfies Readonly<Record<string, Command>>;
