import { clusterName } from "../../authn/token-options.ts";
import { duration } from "../../runtime/config-values.ts";
import type { Command } from "../../cli/command.ts";
import {
  dryRun,
  objectOutput,
  resultOutput,
  systemNamespace,
} from "../connection/connection-options.ts";
import { scopeOptions } from "../keys/scope-options.ts";
import { serverUrl, subjectName, switchOption, tokenName, fileOption } from "../option-values.ts";

/** The lifetime and the scope of a token. */
const tokenOptions = {
  ttl: {
    value: "<duration>",
    initial: "1h",
    help: "lifetime of the token",
    parse: duration({ unit: 1, least: 60 }),
  },
  ...scopeOptions,
} as const;

const token = {
  name: "NAME",
  help: "name of the DirectClusterEndpointToken",
  completes: "tokens",
  read: tokenName,
} as const;

/** Commands about direct tokens. */
export const tokenCommands = {
  tokenCreate: {
    name: "token create",
    brief: "Create a direct token for connected clusters and print it",
    details: [
      "The name and the end of the token are said on the standard error; " +
        "a lifetime longer than the maximum of the controller is cut. " +
        "With --exec-credential the command keeps the token, readable for you alone, " +
        "in the directory kubectl-latchkey of your cache directory (XDG_CACHE_HOME, " +
        "or ~/.cache), and takes it again until half of its lifetime is over.",
    ],
    arguments: [
      {
        name: "NAME",
        help:
          "name of the new DirectClusterEndpointToken; " +
          "if unset, it begins with yours and is random behind that",
        optional: true,
        read: tokenName,
      },
    ],
    options: {
      ...tokenOptions,
      forCluster: {
        value: "<name>",
        help:
          "the only connected cluster that accepts the token, or <project>/<name> of a virtual " +
          "cluster; every cluster accepts it if unset",
        completes: "clusters",
        parse: clusterName,
      },
      execCredential: switchOption({
        help:
          "print an ExecCredential with the end of the token, for the exec plugin of a " +
          "kubeconfig",
      }),
      timeout: {
        value: "<duration>",
        initial: "10s",
        help: "maximum time to wait for the token",
        parse: duration({ unit: 1000, least: 1 }),
      },
    },
    connects: true,
    examples: [
      "kubectl latchkey token create --ttl=15m --for-cluster=east",
      "kubectl latchkey token create --exec-credential --for-cluster=east",
    ],
  },
  tokenList: {
    name: "token list",
    brief: "List the objects of direct tokens that you may read",
    details: [
      "CLUSTER is the connected cluster that alone accepts the token, and * without one. " +
        "Without the right to list them, these are the tokens that you made. " +
        "The output has no token.",
    ],
    arguments: [],
    options: objectOutput,
    connects: true,
    examples: ["kubectl latchkey token list"],
  },
  tokenDescribe: {
    name: "token describe",
    brief: "Print a direct token with its state, scope and end, without the token itself",
    arguments: [token],
    options: resultOutput,
    connects: true,
    examples: ["kubectl latchkey token describe job"],
  },
  tokenDelete: {
    name: "token delete",
    brief: "Delete direct tokens, which revokes them at direct endpoints and authorizers",
    details: [
      "Another kube-apiserver of a connected cluster accepts a token until its end.",
      "--requester needs the right list; without it, it finds only your own tokens.",
    ],
    arguments: [{ ...token, many: true, optional: true }],
    options: {
      requester: {
        value: "<name>",
        help: "delete the tokens that this user requested, instead of NAME",
        parse: subjectName,
      },
      cluster: {
        value: "<name>",
        help:
          "with --requester: only tokens for this cluster, or <project>/<name> of a virtual " +
          "cluster; those that every cluster accepts stay",
        completes: "clusters",
        parse: clusterName,
      },
      ...dryRun,
    },
    connects: true,
    examples: [
      "kubectl latchkey token delete job",
      "kubectl latchkey token delete --requester=alice --cluster=east",
    ],
  },
  kubeconfig: {
    name: "kubeconfig",
    brief: "Print a kubeconfig for a connected cluster",
    details: [
      "Without --address and --key-file, address and CA of the cluster's direct endpoint come " +
        "from the ConfigMap latchkey-clusters, where an administrator of the gateway stated " +
        "them, and an exec plugin gets direct tokens that only this cluster accepts. " +
        "With --key-file, the address is that of the gateway, and kubectl reads the access key " +
        "from the file.",
    ],
    arguments: [
      {
        name: "CLUSTER",
        help: "name of the connected cluster, as in its --cluster-name",
        completes: "clusters",
        read: clusterName,
      },
    ],
    options: {
      address: {
        value: "<url>",
        help: "kube-apiserver or direct endpoint of the cluster, which accepts direct tokens",
        parse: serverUrl,
      },
      addressCa: fileOption({ help: "CA certificates of --address" }),
      keyFile: fileOption({ help: "file with an access key, for the gateway" }),
      ttl: tokenOptions.ttl,
      outputFile: fileOption({ help: "new file, with mode 0600" }),
      ...systemNamespace,
    },
    connects: true,
    examples: [
      "kubectl latchkey kubeconfig east --address=https://east.example.com --output-file=east.yaml",
      "kubectl latchkey kubeconfig east --key-file=ci.key > east.yaml",
    ],
  },
} as const satisfies Readonly<Record<string, Command>>;
