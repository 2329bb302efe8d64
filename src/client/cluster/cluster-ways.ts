import type { Manifest, Metadata } from "../../api/object.ts";
import { gatewayAccount, gatewayAccountManifests } from "../../domain/gateway/gateway-account.ts";
import { UsageError } from "../../runtime/config-values.ts";
import type { ConnectedCli, Flags } from "../cli.ts";
import {
  type ClusterData,
  clusterDataOf,
  directData,
  gatewayAddress,
  gatewayKubeconfig,
  storedAccess,
} from "./cluster-address.ts";
import { credentialEnd } from "./credential-items.ts";

type ConnectFlags = Flags<"clusterConnect">;

/** What comes of the ways to a connected cluster that are not that of its agent. */
interface Reached {
  /** What changes in the Secret of the cluster. */
  readonly data: ClusterData;
  /** What the connected cluster needs. */
  readonly manifests: readonly Manifest[];
  /** What was found or is left to do. */
  readonly sentences: readonly string[];
}

/** Nothing of it. */
export const noAddress: Reached = { data: {}, manifests: [], sentences: [] };

/** What decides about the ways. */
interface WayTerms {
  readonly flags: ConnectFlags;
  /** The Secret of the cluster. */
  readonly found: Metadata | undefined;
}

/** The namespace that Latchkey runs in, in the connected cluster. */
export function namespaceIn({ agentNamespace, latchkeyNamespace }: ConnectFlags): string {
  return agentNamespace ?? latchkeyNamespace;
}

/** Throws a UsageError for options without effect. */
export function checkWays({ gateway, direct, address, addressCa, tokenStdin }: ConnectFlags): void {
  if (tokenStdin && !gateway) throw new UsageError("--token-stdin requires --gateway");
  if ((address ?? addressCa) !== undefined && !gateway && !direct)
    throw new UsageError("--address and --address-ca require --gateway or --direct");
}

/**
 * The account of the gateway and the commands that make its token, or the kubeconfig with the token
 * of the standard input; and the address for direct tokens. Without the options of a way, that of
 * the gateway if its token is rotated.
 */
export async function reach(
  name: string,
  { flags, found }: WayTerms,
  { cluster, cli }: ConnectedCli,
): Promise<Reached> {
  const stored = await clusterDataOf(found, cluster);
  const access = storedAccess(stored);
  const direct = flags.direct ? directData(flags, stored) : {};
  const isOfGateway = flags.gateway || (!flags.direct && access?.credential.kind === "token");
  if (!isOfGateway) {
    const sentences = flags.direct && access === undefined ? [notListed(name)] : [];
    return { data: direct, manifests: [], sentences };
  }
  const address = gatewayAddress(flags, access);
  const now = cli.clock.now();
  if (flags.tokenStdin) {
    const token = (await cli.terminal.readInput()).toString("utf8").trim();
    if (token === "")
      throw new UsageError(`the standard input has no token; run: ${makes(name, flags)}`);
    const made = gatewayKubeconfig(name, address, token);
    const { reason, message } = credentialEnd(made.access, now);
    if (reason === "Expired") throw new UsageError(`${message}; run: ${makes(name, flags)}`);
    return { data: { ...direct, ...made.data }, manifests: [], sentences: [message] };
  }
  const end = access && credentialEnd(access, now);
  const isKept = end?.reason === "Active" && !flags.rotateKey;
  return {
    data: direct,
    manifests: gatewayAccountManifests(namespaceIn(flags)),
    sentences: isKept
      ? [`${end.message}, so no command for a token follows; set --rotate-key for another one`]
      : nextCommands(name, flags),
  };
}

function notListed(name: string): string {
  return (
    `the gateway publishes the address when it reaches cluster "${name}" itself; ` +
    `run: kubectl latchkey cluster connect ${name} --gateway`
  );
}

const kubectl = "kubectl --context=<connected cluster>";

/** The command that applies in the connected cluster, without what. */
export const applies = `${kubectl} apply --server-side`;

/** The step after a manifest. */
export function applyText({ outputFile = "-" }: ConnectFlags): string {
  return `apply the manifest with ${applies} -f ${outputFile}`;
}

/** The steps after the manifest of the account. */
function nextCommands(name: string, flags: ConnectFlags): readonly string[] {
  return [
    applyText(flags),
    `then apply the policies with ${applies} -k config/connected-policies; the chart ` +
      "latchkey-connected has both. Before Kubernetes 1.36, apply " +
      "config/connected-cluster-before-1.36 in place of the account and the policies",
    `then make a token of the account, and store it: ${makes(name, flags)}`,
  ];
}

/** The command that makes a token of 90 days, and stores it. */
function makes(name: string, flags: ConnectFlags): string {
  const options = [
    ["context", flags.context],
    ["address", flags.address],
    ["address-ca", flags.addressCa],
  ].flatMap(([option, value]) => (value === undefined ? [] : [` --${option}=${shellWord(value)}`]));
  return (
    `${kubectl} -n ${namespaceIn(flags)} create token ${gatewayAccount} --duration=2160h | ` +
    `kubectl latchkey cluster connect ${name} --gateway --token-stdin${options.join("")}`
  );
}

/** A word as a shell reads it (POSIX, Shell Command Language, 2.2.2). */
function shellWord(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
