import { keyOptions } from "../../authn/key-options.ts";
import { namespaceOptions } from "../../controllers/controller-options.ts";
import { parseAsked } from "./asked-kinds.ts";
import type { Command } from "../../cli/command.ts";
import { resultOutput, systemNamespace } from "../connection/connection-options.ts";
import { duration, wholeNumber } from "../../runtime/config-values.ts";
import {
  clusterName,
  fileOption,
  requestName,
  requestResource,
  requestVerb,
  someText,
  switchOption,
} from "../option-values.ts";
import { allNamespaces, sharedSecret } from "../secrets/secret-commands.ts";

const { maximumKeyTtl, userPrefix, teamPrefix } = keyOptions;

/** Commands that tell what is, what would be, and why. */
export const explainCommands = {
  why: {
    name: "why",
    brief: "Explain why a Secret does not arrive, or why a key or token does not work",
    details: [
      "secret/NAME is the copy in the namespace, shsec/NAME a SharedSecret with all its " +
        "targets, oak/NAME an access key, and dcet/NAME a direct token. " +
        "Each answer names the object and the field to change. " +
        "A SharedSecret also has an answer for each connected cluster that it names.",
      "oak/NAME VERB RESOURCE [NAME] tells why a request with the key is forbidden: " +
        "what each entry of its scope says, and whether RBAC allows the request to its user. " +
        "RESOURCE is as in a Role, such as deployments.apps or pods/log, or a path.",
      "--with-token-file reads a token that a job got for an access key without a secret, " +
        "compares its issuer, audience, times and claims, and quotes values of its claims. " +
        "It does not check the signature.",
      "The command reads as you. If a right is missing, the answer names it and covers what " +
        "you may read. Values of secrets are not printed.",
      "Set the options of the controller here, too, if it runs with them.",
    ],
    arguments: [
      {
        name: "KIND/NAME",
        help: "secret/NAME, shsec/NAME, oak/NAME or dcet/NAME",
        completes: "objects",
        read: (word, option) => {
          parseAsked(word, option);
          return word;
        },
      },
      {
        name: "VERB",
        help: "verb of a request with the key, such as get",
        optional: true,
        read: requestVerb,
      },
      {
        name: "RESOURCE",
        help: "resource or path of the request",
        optional: true,
        read: requestResource,
      },
      {
        name: "NAME",
        help: "name of the object of the request",
        optional: true,
        read: requestName,
      },
    ],
    options: {
      exitCode: switchOption({ help: "exit with 3 if something is wrong" }),
      cluster: {
        value: "<name>",
        help: "with shsec/NAME: answer only for this connected cluster",
        completes: "clusters",
        parse: clusterName,
      },
      allNamespaces: switchOption({ alias: "A", help: "the request is for all namespaces" }),
      withTokenFile: fileOption({
        help: "with oak/NAME: file with a token of another issuer, to say why the key refuses it",
      }),
      ...namespaceOptions,
      maximumKeyTtl,
      userPrefix,
      teamPrefix,
      ...systemNamespace,
      ...resultOutput,
    },
    connects: true,
    examples: [
      "kubectl latchkey why secret/database -n web-dev",
      "kubectl latchkey why shsec/database -n team-a --exit-code",
      "kubectl latchkey why shsec/database -n team-a --cluster=east",
      "kubectl latchkey why oak/ci list secrets -n web-dev",
      "kubectl latchkey why oak/deploy --with-token-file=token.jwt",
    ],
  },
  status: {
    name: "status",
    brief: "Show SharedSecrets with their targets, keys that expire soon, and what is not ready",
    details: [
      "The exit code is 3 if something is not ready: " +
        "the same objects, with the same reasons, as in the metric latchkey_object_not_ready, " +
        "connected clusters that a SharedSecret names, or the credential of the gateway there, " +
        "and policies that are not those of Latchkey, if you may read them. " +
        "Copies are named if you may list Secrets in all namespaces; their data is not read.",
      "--serve runs until Ctrl-C, and goes on when the API server was away. " +
        "The page of --serve is only reachable from this machine and with the printed URL, " +
        "and has your rights.",
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
      serve: switchOption({ help: "serve the report as a page on 127.0.0.1 and print its URL" }),
      port: {
        value: "<number>",
        help: "port of --serve; any free port if unset",
        parse: wholeNumber({ least: 1, most: 65_535 }),
      },
      interval: {
        value: "<duration>",
        initial: "5s",
        help: "time between two readings of --serve",
        parse: duration({ unit: 1000, least: 1 }),
      },
      ...systemNamespace,
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
      "Without --filename: what the controller has to do now, which is normally nothing, " +
        "and copies that are stuck. With it: what an apply of SharedSecrets, " +
        "Namespaces and Secrets would make the controller do. " +
        "The API server checks the objects as for kubectl apply --server-side " +
        "--dry-run=server, so you need the rights patch and, for new objects, create.",
      "The state of Secrets that you may not read is assumed from their SharedSecret, " +
        "and marked. Data is compared by digests. The API server may still reject a write of " +
        "the controller.",
      "--user-prefix, --team-prefix, --require-sync-from and --copy-keys must be those of the " +
        "controller.",
    ],
    arguments: [],
    options: {
      ...allNamespaces,
      filename: {
        many: true,
        value: "<file>",
        alias: "f",
        help:
          "file or directory with manifests, or - for the standard input; " +
          "repeat it for several",
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
      "It sets the annotation management.service/refresh-now, which needs the right patch, " +
        "and waits until the status says that the controller has read every copy, " +
        "which needs the right get. The exit code is 3 if it does not say so in time.",
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
      "The command sends a review to each part of the webhook through kube-apiserver, " +
        "with a dry run of a new access key, a TokenReview and a SubjectAccessReview about a " +
        "key that does not exist, and waits for the answers.",
      "A check whose right you do not have is unknown, which is no problem; " +
        "the exit code is 3 if there is a problem.",
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
} as const satisfies Readonly<Record<string, Command>>;
