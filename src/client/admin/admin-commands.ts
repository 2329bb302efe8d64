import { trustConfigOptions } from "./trust-config-options.ts";
import type { Command } from "../../cli/command.ts";
import { systemNamespace } from "../connection/connection-options.ts";
import { switchOption } from "../option-values.ts";

/** Commands for the administrators of a cluster. */
export const adminCommands = {
  trustConfig: {
    name: "trust-config",
    brief:
      "Print the files and flags that kube-apiserver needs to call the webhook, " +
      "or to trust direct tokens",
    arguments: [],
    options: { ...trustConfigOptions, ...systemNamespace },
    connects: true,
    examples: ["kubectl latchkey trust-config --authorization --output=trust-config"],
  },
  rotateSigningKey: {
    name: "rotate-signing-key",
    brief: "Request a new signing key of direct tokens from the controller",
    arguments: [],
    options: {
      newEpoch: switchOption({
        help:
          "also start a new epoch of the list of revoked tokens; " +
          "needed after a restore of etcd, because direct endpoints refuse lists that are " +
          "older than theirs",
      }),
      ...systemNamespace,
    },
    connects: true,
    examples: ["kubectl latchkey rotate-signing-key"],
  },
} as const satisfies Readonly<Record<string, Command>>;
