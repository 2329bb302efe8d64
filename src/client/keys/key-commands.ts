import { keyOptions } from "../../authn/key-options.ts";
import { duration, httpsUrl, namespaceName } from "../../runtime/config-values.ts";
import type { Command } from "../../cli/command.ts";
import {
  dryRun,
  newKeyOutput,
  objectOutput,
  resultOutput,
  rotatedKeyOutput,
  systemNamespace,
} from "../connection/connection-options.ts";
import { textOptions } from "../objects/text-options.ts";
import { scopeOptions } from "./scope-options.ts";
import {
  accessKeyName,
  claimLine,
  repositoryId,
  someText,
  subjectName,
  switchOption,
  fileOption,
} from "../option-values.ts";

const { userPrefix, teamPrefix } = keyOptions;

const keyName = {
  name: "NAME",
  help: "name of the OwnedAccessKey",
  completes: "keys",
  read: accessKeyName,
} as const;

/** How a new key is printed. */
const newKeyOptions = {
  outputFile: fileOption({
    help: "new file for the key, with mode 0600, instead of the standard output",
  }),
  ...newKeyOutput,
  gateway: {
    value: "<url>",
    help:
      "with --output: address of the gateway for the output, such as " +
      "https://latchkey.example.com; if unset, the server of the context, " +
      "or the address that the gateway publishes if that server does not accept the key",
    parse: someText,
  },
  gatewayCa: fileOption({ help: "CA certificates of --gateway" }),
  ...systemNamespace,
} as const;

/** Whom a key acts as. */
const subjectOptions = {
  user: { value: "<name>", help: "user that the key acts as", parse: subjectName },
  team: { value: "<name>", help: "team that the key acts as", parse: subjectName },
  subject: { value: "<name>", help: "username that the key acts as, verbatim", parse: subjectName },
} as const;

/** Which tokens stand for a key, in place of a secret. */
const tokenRuleOptions = {
  issuer: {
    value: "<url>",
    help:
      "issuer whose tokens the key accepts, such as https://gitlab.com; the key then has no " +
      "secret, and the output is the user of a kubeconfig for a job",
    parse: httpsUrl,
  },
  claim: {
    many: true,
    value: "<name=value>",
    help:
      "with --issuer: claim that a token must have; a value may end in * after / or :; " +
      "repeat it for several",
    parse: claimLine,
  },
  githubRepositoryId: {
    value: "<number>",
    help:
      "id of the GitHub repository whose jobs have the key: the claim repository_id, and " +
      "the issuer of GitHub Actions without --issuer",
    parse: repositoryId,
  },
} as const;

const readsKey = "It reads the key from the standard input, or asks for it on a terminal.";

const madeHere =
  "The key is made on this machine; the API server gets only a digest that is bound to the " +
  "subject. The key is printed once, and cannot be read again.";

/** Commands about access keys. */
export const keyCommands = {
  keysCreate: {
    name: "keys create",
    brief: "Create an access key and print it",
    details: [
      madeHere,
      "Without --user, --team and --subject, the key acts as you.",
      "-o kubeconfig and -o env also have the address and the CA of a server that accepts the " +
        "key: that of the current context, or else the gateway.",
    ],
    arguments: [{ ...keyName, help: "name of the new OwnedAccessKey" }],
    options: {
      ...subjectOptions,
      group: {
        many: true,
        value: "<name>",
        help: "group of the key; repeat it for several",
        parse: subjectName,
      },
      ttl: {
        value: "<duration>",
        help:
          "lifetime, such as 30d, in seconds without a unit; it counts from the creation, and " +
          "nothing renews it; without it the key does not expire",
        parse: duration({ unit: 1, least: 1 }),
      },
      idle: switchOption({ help: "count --ttl from the last use of the key" }),
      displayName: { value: "<text>", help: "name for people", parse: someText },
      description: { value: "<text>", help: "what the key is for", parse: someText },
      ...scopeOptions,
      forNamespace: {
        many: true,
        value: "<name>",
        help:
          "namespace in the scope, as its labels name it: the space of a project; " +
          "repeat it for several",
        completes: "namespaces",
        parse: namespaceName,
      },
      ...tokenRuleOptions,
      ...newKeyOptions,
    },
    connects: true,
    examples: [
      "kubectl latchkey keys create ci --ttl=30d --for-namespace=web-dev --output-file=ci.key",
      "kubectl latchkey keys create reader --user=alice --role=serviceCLI",
      "kubectl latchkey keys create ci -o kubeconfig --context=gateway --output-file=ci.yaml",
      "kubectl latchkey keys create deploy --user=shop-ci --project=shop " +
        "--github-repository-id=123456789 --claim=environment=production",
    ],
  },
  keysList: {
    name: "keys list",
    brief: "List the access keys that you may read",
    details: [
      "The columns tell whom a key acts as, who made it, and what its scope names. " +
        "Without the right to list keys, these are the keys that you made.",
    ],
    arguments: [],
    options: objectOutput,
    connects: true,
    examples: ["kubectl latchkey keys list"],
  },
  keysDescribe: {
    name: "keys describe",
    brief: "Print an access key with its state, scope and end, without the key itself",
    arguments: [keyName],
    options: resultOutput,
    connects: true,
    examples: ["kubectl latchkey keys describe ci"],
  },
  keysSet: {
    name: "keys set",
    brief: "Set the texts, the lifetime and the scope of an access key, which stays the same",
    details: [
      "The options of a scope replace the whole scope, also its rules.",
      "You may always change the texts of a key that you made, and shorten its lifetime; " +
        "every other change needs the rights patch and update.",
      "If its spec changes at the same moment, nothing is stored, and the exit code is 1.",
    ],
    arguments: [keyName],
    options: {
      ttl: {
        value: "<duration>",
        help: "lifetime, such as 30d, in seconds without a unit; 0 is no end",
        parse: duration({ unit: 1, least: 0 }),
      },
      ...textOptions,
      ...scopeOptions,
      clearScope: switchOption({
        help: "remove the scope, so that the key has every right of its user",
      }),
      ...dryRun,
    },
    connects: true,
    examples: [
      "kubectl latchkey keys set ci --ttl=90d --description='Pipeline of the shop'",
      "kubectl latchkey keys set ci --project=web --role=serviceCLI",
    ],
  },
  keysDisable: {
    name: "keys disable",
    brief: "Disable an access key, which is invalid until it is enabled again",
    details: [
      "You may always disable a key that you made; another key needs the right patch, and if you " +
        "use an access key yourself, also update.",
      "At the gateway, every key may disable itself.",
    ],
    arguments: [{ ...keyName, optional: true }],
    options: {
      self: switchOption({ help: "disable the key that you use, instead of NAME" }),
    },
    connects: true,
    examples: ["kubectl latchkey keys disable ci", "kubectl latchkey keys disable --self"],
  },
  keysEnable: {
    name: "keys enable",
    brief: "Enable a disabled access key, which is then valid again",
    details: ["It needs the rights patch and update, also on a key that you made."],
    arguments: [keyName],
    options: {},
    connects: true,
    examples: ["kubectl latchkey keys enable ci"],
  },
  keysDelete: {
    name: "keys delete",
    brief: "Delete access keys, which makes them invalid within seconds",
    arguments: [{ ...keyName, many: true }],
    options: dryRun,
    connects: true,
    examples: ["kubectl latchkey keys delete ci old-ci"],
  },
  keysRotate: {
    name: "keys rotate",
    brief: "Rotate an access key: create a successor, and end the old key after an overlap",
    details: [
      "The successor is called NAME-r and the time, and has the same spec. " +
        "Its lifetime counts from its own creation; nothing renews that of the old key.",
      "If you may not change the old key, the command prints how to end it.",
      "With -o manifest, the command changes nothing in the cluster: it prints the successor for " +
        "Git, with the digest of the key in --key-file and the line that removes the old key.",
      madeHere,
    ],
    arguments: [keyName],
    options: {
      overlap: {
        value: "<duration>",
        initial: "24h",
        help: "time for which both keys are valid",
        parse: duration({ unit: 1, least: 0 }),
      },
      ...newKeyOptions,
      ...rotatedKeyOutput,
      keyFile: fileOption({
        help:
          "with -o manifest: file with the new key; " +
          "if it does not exist, it is made, with mode 0600",
      }),
    },
    connects: true,
    examples: [
      "kubectl latchkey keys rotate ci --overlap=1h --output-file=ci.key",
      "kubectl latchkey keys rotate ci -o manifest --key-file=ci.key > ci.yaml",
    ],
  },
  keysTakeOver: {
    name: "keys take-over",
    brief: "Replace the key of an object that another requester made, and make it yours",
    details: [
      "It needs the rights patch and update on the object and impersonate for its identity. " +
        "The former key is invalid within seconds.",
      madeHere,
    ],
    arguments: [keyName],
    options: newKeyOptions,
    connects: true,
    examples: ["kubectl latchkey keys take-over ci --output-file=ci.key"],
  },
  revoke: {
    name: "revoke",
    brief: "Disable the access keys of a user, and delete the user's direct tokens",
    details: [
      "The keys are those that act as the user or that the user requested. " +
        "Keys and tokens of the user's teams are listed and stay, as do SharedSecrets. " +
        "The list says which ClusterRoleBindings let the user make new ones.",
      "The command shows the list and asks. It goes on after a key or token that it may not end, " +
        "and a second run does the rest. A key with which it connects ends last.",
      "It needs the rights list and patch on ownedaccesskeys, and list and delete on " +
        "directclusterendpointtokens; without list, it ends what you requested yourself, " +
        "and the exit code is 5.",
    ],
    arguments: [],
    options: {
      user: { value: "<name>", help: "username as in RBAC", parse: subjectName },
      group: {
        many: true,
        value: "<name>",
        help: "group of the user, beside those that its keys and tokens record",
        parse: subjectName,
      },
      yes: switchOption({ help: "do not ask" }),
      userPrefix,
      teamPrefix,
      ...dryRun,
      ...resultOutput,
    },
    connects: true,
    examples: [
      "kubectl latchkey revoke --user=alice",
      "kubectl latchkey revoke --user=alice --yes -o json",
    ],
  },
  keysDigest: {
    name: "keys digest",
    brief: "Print the bound digest of a key, for spec.key of a manifest",
    details: [
      readsKey,
      "The digest works only in an object for this user, team or subject, " +
        "so a manifest in Git may contain it.",
    ],
    arguments: [],
    options: subjectOptions,
    connects: false,
    examples: [
      "openssl rand -base64 32 > ci.key",
      "kubectl latchkey keys digest --user=alice < ci.key",
    ],
  },
  keysTest: {
    name: "keys test",
    brief: "Test which user a key authenticates as at the server of the kubeconfig",
    details: [
      readsKey,
      "For a refused token of another issuer, it says why, as far as you may read the key and " +
        "the ConfigMap latchkey-issuers.",
    ],
    arguments: [],
    options: { ...systemNamespace, ...resultOutput },
    connects: true,
    examples: ["kubectl latchkey keys test < ci.key"],
  },
} as const satisfies Readonly<Record<string, Command>>;
