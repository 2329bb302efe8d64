import { keyOptions } from "../../authn/key-options.ts";
import { namespaceOptions } from "../../controllers/controller-options.ts";
import { duration, wholeNumber } from "../../runtime/config-values.ts";
import { trustConfigOptions } from "../trust-config-options.ts";
import type { Command } from "../command.ts";
import { resultOutput, systemNamespace } from "./connection/connection-options.ts";
import { shells } from "./completion/shells.ts";
import { allNamespaces, sharedSecret } from "./secrets/secret-commands.ts";
import { oneOf, someText, switchOption } from "./option-values.ts";

const { userPrefix, teamPrefix } = keyOptions;

const completionWords = [...shells, "install"] as const;

/** Commands about the installation. */
export const clusterCommands = {
  status: {
    name: "status",
    brief: "Show SharedSecrets with their targets, keys that expire soon, and what is not ready",
    details: [
      "The exit code is 3 if something is not ready: the same objects, with the same reasons, as in the metric latchkey_object_not_ready. Copies are named if you may list Secrets in all namespaces; their data is not read.",
      "--watch and --serve run until Ctrl-C, and go on when the API server was away. The page of --serve is only reachable from this machine and with the printed URL, and has your rights.",
    ],
    arguments: [],
    options: {
      ...allNamespaces,
      endsWithin: {
        value: "<duration>",
        initial: "7d",
        help: "what counts as soon for a key",
        parse: duration({ unit: 1, least: 0 }),
      },
      watch: switchOption({
        alias: "w",
        help: "refresh the report in place, or print it again on a change if the output is no terminal",
      }),
      serve: switchOption({ help: "serve the report as a page on 127.0.0.1 and print its URL" }),
      port: {
        value: "<number>",
        help: "port of --serve; any free port if unset",
        parse: wholeNumber({ least: 1, most: 65_535 }),
      },
      interval: {
        value: "<duration>",
        initial: "5s",
        help: "time between two readings",
        parse: duration({ unit: 1000, least: 1 }),
      },
      ...resultOutput,
    },
    connects: true,
    examples: [
      "kubectl latchkey status -A",
      "kubectl latchkey status -n team-a -o json",
      "kubectl latchkey status -A --serve",
    ],
  },
  plan: {
    name: "plan",
    brief: "Preview what sync would create, change and remove, and why, without writing anything",
    details: [
      "Without --filename: what the controller has to do now, which is normally nothing, and copies that are stuck. With it: what an apply of SharedSecrets, Namespaces and Secrets would make the controller do. The API server checks the objects as for kubectl apply --server-side --dry-run=server, so you need the rights patch and, for new objects, create.",
      "The state of Secrets that you may not read is assumed from their SharedSecret, and marked. Data is compared by digests. The API server may still reject a write of the controller.",
      "--user-prefix, --team-prefix, --require-sync-from and --copy-keys must be those of the controller.",
    ],
    arguments: [],
    options: {
      ...allNamespaces,
      filename: {
        many: true,
        value: "<file>",
        alias: "f",
        help: "file or directory with manifests, or - for the standard input; repeat it for several",
        completes: "files",
        parse: someText,
      },
      exitCode: switchOption({ help: "exit with 3 if sync would change something" }),
      fieldManager: {
        value: "<name>",
        initial: "kubectl",
        help: "field manager that applies",
        parse: someText,
      },
      forceConflicts: switchOption({ help: "take fields that other field managers own" }),
      userPrefix,
      teamPrefix,
      ...namespaceOptions,
      ...resultOutput,
    },
    connects: true,
    examples: [
      "kubectl latchkey plan -A",
      "kubectl latchkey plan -f database.yaml",
      "kustomize build . | kubectl latchkey plan -f - --exit-code",
    ],
  },
  refreshNow: {
    name: "refresh-now",
    brief: "Request an immediate reconcile of SharedSecrets and all their copies",
    details: [
      "It sets the annotation management.service/refresh-now, which needs the right patch, and waits until the status says that the controller has read every copy, which needs the right get. The exit code is 3 if it does not say so in time.",
    ],
    arguments: [{ ...sharedSecret, many: true }],
    options: {
      timeout: {
        value: "<duration>",
        initial: "30s",
        help: "maximum time to wait for the controller",
        parse: duration({ unit: 1000, least: 1 }),
      },
    },
    connects: true,
    examples: ["kubectl latchkey refresh-now database -n team-a"],
  },
  check: {
    name: "check",
    brief: "Check whether Latchkey works in the cluster, and what you may do",
    details: [
      "The command sends a review to each part of the webhook through kube-apiserver, with a dry run of a new access key, a TokenReview and a SubjectAccessReview about a key that does not exist, and waits for the answers.",
      "A check whose right you do not have is unknown, which is no problem; the exit code is 3 if there is a problem.",
    ],
    arguments: [],
    options: {
      wait: {
        value: "<duration>",
        initial: "0",
        help: "maximum time to repeat the checks until there is no problem",
        parse: duration({ unit: 1000, least: 0 }),
      },
      ...systemNamespace,
      ...resultOutput,
    },
    connects: true,
    examples: ["kubectl latchkey check", "kubectl latchkey check --wait=2m"],
  },
  trustConfig: {
    name: "trust-config",
    brief:
      "Print the files and flags that kube-apiserver needs to call the webhook, or to trust direct tokens",
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
        help: "also start a new epoch of the list of revoked tokens; needed after a restore of etcd, because direct endpoints refuse lists that are older than theirs",
      }),
      ...systemNamespace,
    },
    connects: true,
    examples: ["kubectl latchkey rotate-signing-key"],
  },
  completion: {
    name: "completion",
    brief: "Print a script that completes commands, options and names, or install it",
    details: [
      "completion install writes the script for kubectl as kubectl_complete-latchkey beside kubectl-latchkey, where kubectl finds it. It replaces only a file that it wrote itself.",
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
    brief: "Print the versions of this program and of the API server",
    arguments: [],
    options: {
      client: switchOption({ help: "print only the version of this program, without a request" }),
      ...resultOutput,
    },
    connects: true,
    examples: ["kubectl latchkey version --client"],
  },
} as const satisfies Readonly<Record<string, Command>>;
