import { duration } from "../../runtime/config-values.ts";
import { rotateSigningKeyOptions } from "../../runtime/rotate-signing-key-options.ts";
import { trustConfigOptions } from "../../runtime/trust-config-options.ts";
import type { Command } from "./command.ts";
import { resultOutput, systemNamespace } from "./connection-flags.ts";
import { flagWithDefault, optionalFlag, someText, switchFlag } from "./flag.ts";
import { flagsOfOptions } from "./option-flags.ts";
import { shells } from "./shells.ts";
import { allNamespaces } from "./secret-commands.ts";

const { kubeconfig: _file, namespace: _namespace, ...trustOptions } = trustConfigOptions;

/** Commands about the installation. */
export const clusterCommands = {
  status: {
    name: "status",
    brief: "shows SharedSecrets with their copies, keys that end soon, and what is not well",
    details: [
      "The exit code is 3 if something is not well. Copies are named if you may list Secrets in all namespaces; their data is not read.",
    ],
    arguments: [],
    flags: {
      ...allNamespaces,
      endsWithin: flagWithDefault(
        { value: "<duration>", initial: "7d", help: "what counts as soon" },
        duration({ unit: 1, least: 0 }),
      ),
      ...resultOutput,
    },
    connects: true,
    examples: ["kubectl latchkey status -A", "kubectl latchkey status -n team-a -o json"],
  },
  refreshNow: {
    name: "refresh-now",
    brief: "makes the controller reconcile SharedSecrets and all their copies at once",
    details: [
      "It sets the annotation management.service/refresh-now, which needs the right patch.",
    ],
    arguments: [
      { name: "NAME", help: "name of the SharedSecret", many: true, completes: "sharedsecrets" },
    ],
    flags: {},
    connects: true,
    examples: ["kubectl latchkey refresh-now database -n team-a"],
  },
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
  trustConfig: {
    name: "trust-config",
    brief:
      "prints the files and flags that kube-apiserver needs to call the webhook, or to trust direct tokens",
    details: ["It is the command of the same name of the program latchkey."],
    arguments: [],
    flags: { ...flagsOfOptions(trustOptions), ...systemNamespace },
    connects: true,
    examples: ["kubectl latchkey trust-config --authorization --output=trust-config"],
  },
  rotateSigningKey: {
    name: "rotate-signing-key",
    brief: "asks the controller for a new signing key of direct tokens",
    arguments: [],
    flags: {
      ...flagsOfOptions({ newEpoch: rotateSigningKeyOptions.newEpoch }),
      ...systemNamespace,
    },
    connects: true,
    examples: ["kubectl latchkey rotate-signing-key"],
  },
  completion: {
    name: "completion",
    brief: "prints a script that completes commands, options and names, or installs it",
    details: [
      "completion install writes the script for kubectl as kubectl_complete-latchkey beside kubectl-latchkey, where kubectl finds it. It replaces only a file that it wrote itself.",
      "Names come from the API server, with your rights.",
    ],
    arguments: [
      {
        name: "SHELL",
        help: `${shells.join(", ")}, or install`,
        choices: [...shells, "install"],
      },
    ],
    flags: {
      directory: optionalFlag(
        {
          value: "<directory>",
          help: "with install: directory of your PATH, instead of that of kubectl-latchkey",
          completes: "files",
        },
        someText,
      ),
    },
    connects: false,
    examples: ["kubectl latchkey completion install", "source <(kubectl latchkey completion bash)"],
  },
} as const satisfies Readonly<Record<string, Command>>;
