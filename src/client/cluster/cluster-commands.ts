import { duration, httpsUrl, namespaceName } from "../../runtime/config-values.ts";
import type { Command } from "../../cli/command.ts";
import { resultOutput, systemNamespace } from "../connection/connection-options.ts";
import { clusterName, projectList, serverUrl, switchOption, fileOption } from "../option-values.ts";

const name = {
  name: "NAME",
  help: "name of the connected cluster",
  completes: "clusters",
  read: clusterName,
} as const;

/** Commands about connected clusters. */
export const clusterCommands = {
  clusterConnect: {
    name: "cluster connect",
    brief: "Connect a cluster to its agent, to the gateway or for direct tokens",
    details: [
      "With --agent, or without a way, it creates the Secret of the cluster in namespace " +
        "latchkey-clusters, the namespace latchkey-cluster-NAME with the outbox, and an " +
        "access key of the agent, which works for the outbox alone. The output is for the " +
        "connected cluster and has the key. A second run creates what is missing and prints " +
        "no key: the API server has only its digest.",
      "With --gateway, it prints the account of the gateway and the command that makes " +
        "its token, of 90 days; with --token-stdin it stores the token. No process renews " +
        "it: cluster list, check and the alert LatchkeyLifetimesEnd say when it ends.",
      "The agent needs the verb connect on clusters.management.service of that name, and " +
        "impersonate for the user latchkey-cluster-agent:NAME.",
    ],
    arguments: [name],
    options: {
      agent: switchOption({ help: "connect its agent, which makes copies of SharedSecrets" }),
      gateway: switchOption({ help: "connect the gateway, for access keys" }),
      direct: switchOption({ help: "state the address for direct tokens" }),
      address: {
        value: "<url>",
        help:
          "address of the connected cluster: of its API server, as the gateway reaches it, or " +
          "with --direct of what accepts direct tokens; that of before if unset",
        parse: httpsUrl,
      },
      addressCa: fileOption({
        help: "CA certificates of --address; with --direct, a public CA if unset",
      }),
      tokenStdin: switchOption({
        help: "with --gateway: store the token that the standard input has",
      }),
      projects: {
        value: "<names>",
        help:
          'projects that the cluster lets in, separated by commas, or "*" for all; ' +
          "if unset, those of before, and none of a new cluster",
        parse: projectList,
      },
      centralServer: {
        value: "<url>",
        help:
          "address at which the agent reaches kube-apiserver or the gateway; if unset, " +
          "the server of the context, or the address that the gateway publishes if that server " +
          "does not accept the key",
        parse: serverUrl,
      },
      centralCa: fileOption({
        help: "CA certificates of --central-server; those of the context if unset",
      }),
      ttl: {
        value: "<duration>",
        help: "lifetime of a new key, such as 90d; without it the key does not expire",
        parse: duration({ unit: 1, least: 1 }),
      },
      rotateKey: switchOption({
        help:
          "create another key, and end those before it; print the command for another token if " +
          "the gateway has one",
      }),
      overlap: {
        value: "<duration>",
        initial: "24h",
        help: "with --rotate-key: time for which the keys before it are still valid",
        parse: duration({ unit: 1, least: 0 }),
      },
      replace: switchOption({
        help: "let another cluster take the place of the one whose agent has reported so far",
      }),
      outputFile: fileOption({
        help: "new file for the manifest, with mode 0600, instead of the standard output",
      }),
      agentNamespace: {
        value: "<name>",
        help:
          "namespace that Latchkey runs in, in the connected cluster; " +
          "that of --latchkey-namespace if unset",
        parse: namespaceName,
      },
      ...systemNamespace,
    },
    connects: true,
    examples: [
      "kubectl latchkey cluster connect east --projects=web,pay | " +
        "kubectl --context=east apply --server-side -f -",
      "kubectl latchkey cluster connect east --rotate-key --output-file=east.yaml",
      "kubectl latchkey cluster connect east --gateway --address=https://east.example.com:6443 " +
        "--address-ca=east-ca.crt --output-file=gateway.yaml",
      "kubectl latchkey cluster connect east --direct --address=https://direct.example.com",
    ],
  },
  clusterDisconnect: {
    name: "cluster disconnect",
    brief: "Disconnect a cluster: end its access, and delete its outbox",
    details: [
      "Copies in the cluster stay. To remove them first, run cluster connect NAME --projects= " +
        "and wait until cluster list shows no withdrawal.",
      "The Secret of the cluster stays if it has a kubeconfig of the gateway.",
    ],
    arguments: [name],
    options: {
      all: switchOption({ help: "also delete the Secret of the cluster if it has a kubeconfig" }),
    },
    connects: true,
    examples: ["kubectl latchkey cluster disconnect east"],
  },
  clusterList: {
    name: "cluster list",
    brief: "List connected clusters, with what they were offered and what their agents report",
    details: [
      "UNSEEN is the age of the oldest revision of which the agent has not reported yet, and " +
        "CREDENTIAL is the time until the credential of the gateway ends.",
      "The exit code is 0 also if a cluster has a problem.",
    ],
    arguments: [],
    options: resultOutput,
    connects: true,
    examples: ["kubectl latchkey cluster list", "kubectl latchkey cluster list -o json"],
  },
} as const satisfies Readonly<Record<string, Command>>;
