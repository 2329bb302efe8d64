import { parseEndpointToken } from "../../api/endpoint-token.ts";
import { annotations, apiVersion, extras } from "../../api/names.ts";
import type { ManifestMetadata } from "../../api/object.ts";
import { parseConditions, parseMetadata, recordAt, stringAt, stringsAt } from "../../api/parse.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { resources } from "../../api/resources.ts";
import { instantOf, lifetimeStart } from "../../domain/lifetime.ts";
import { timestamp } from "../../domain/plan/conditions.ts";
import { requesterLabel } from "../../domain/requester/requester.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { strictJson } from "../../tokens/strict-json.ts";
import type { Action, Cli, ConnectedCli, Flags } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import { Failure, sentenceOf } from "../failure.ts";
import { scopeOf } from "../keys/scope-options.ts";
import { doneText, endText, jsonText, printValue } from "../output.ts";
import { waitUntil } from "../progress.ts";
import { isHalfLeft, isUsable, type KeptToken, keptToken, type MintedToken } from "./kept-token.ts";

const resource = resources.endpointTokens;

/** What a token is made with: the options of the command, and a connection. */
interface TokenRequest extends ConnectedCli {
  readonly flags: Flags<"tokenCreate">;
}

/** `kubectl latchkey token create`. */
export const createToken: Action<"tokenCreate"> = async ({ flags, args: [name] }, cli) => {
  const cluster = await cli.connect(flags);
  const deps = { flags, cluster, cli };
  const { env, terminal } = cli;
  if (flags.execCredential) {
    const minted = name === undefined ? await reusedToken(deps) : await newToken({ name }, deps);
    printValue(jsonText(execCredentialOf(minted, env["KUBERNETES_EXEC_INFO"])), terminal);
    return;
  }
  const minted = await newToken(name === undefined ? await generated(cluster) : { name }, deps);
  printValue(`${minted.token}\n`, terminal);
  terminal.say(doneText(resource, minted, `created; it ${tokenEnd(flags.ttl, minted)}`));
};

/** Names that begin with the user's; the API server adds what no other user can know before. */
async function generated({ review }: Pick<Cluster, "review">) {
  const { userInfo } = await review(resources.selfReviews, {});
  return { generateName: `${requesterLabel(stringAt(userInfo, "username") ?? "")}-` };
}

function tokenEnd(ttl: number, { startsAt, expiresAt }: MintedToken): string {
  const start = instantOf(startsAt) ?? 0;
  return endText({ ttl, isIdle: false, startsAt: start, endsAt: instantOf(expiresAt) });
}

/** An ExecCredential in the version that the caller asks for in KUBERNETES_EXEC_INFO. */
export function execCredentialOf(
  { token, expiresAt }: Pick<MintedToken, "token" | "expiresAt">,
  info: string | undefined,
): Readonly<Record<string, unknown>> {
  const versions = ["v1", "v1beta1"].map((version) => `client.authentication.k8s.io/${version}`);
  const wanted = stringAt(strictJson(info ?? ""), "apiVersion");
  const expires = instantOf(expiresAt);
  const end = expires === undefined ? undefined : expires - renewedBeforeMs;
  return {
    apiVersion: versions.find((version) => version === wanted) ?? versions[0],
    kind: "ExecCredential",
    status: { token, ...(end === undefined ? {} : { expirationTimestamp: timestamp(end) }) },
  };
}

/** So much earlier clients renew a token, so that none of their requests arrives after its end. */
const renewedBeforeMs = 10_000;

/**
 * The user's token of this lifetime, scope and cluster: an exec plugin runs for every command of
 * kubectl. While the API server does not answer, the kept token is taken until its end.
 */
async function reusedToken(deps: TokenRequest): Promise<MintedToken> {
  const { flags, cluster, cli } = deps;
  const { server, context } = cluster.choice;
  const kubeconfig = flags.kubeconfig ?? cli.env["KUBECONFIG"];
  const source = cluster.isOfVariables ? "variables" : kubeconfig;
  const terms = [server, context, source, flags.as, flags.asGroup];
  const file = keptToken([...terms, flags.ttl, scopeOf(flags), flags.forCluster], cli.env);
  const kept = file?.read();
  try {
    if (kept !== undefined && isHalfLeft(kept, cli.clock.now()) && (await isStored(kept, deps)))
      return kept;
    const minted = await newToken(await generated(cluster), deps);
    keep(minted, file, cli);
    return minted;
  } catch (error) {
    if (!isKubeError(error, "Network") || kept === undefined) throw error;
    if (!isUsable(kept, cli.clock.now())) throw error;
    return kept;
  }
}

/** Whether the object of a token still has it, and the user and key of now are its requester. */
async function isStored(
  { name, token }: MintedToken,
  { cluster }: Pick<TokenRequest, "cluster">,
): Promise<boolean> {
  const { userInfo } = await cluster.review(resources.selfReviews, {});
  try {
    const object = await cluster.get(resource, { name });
    const { metadata } = parseEndpointToken(object);
    const requester = requesterAnnotationsOf(metadata);
    const [keyId] = stringsAt(recordAt(userInfo, "extra"), extras.keyId);
    return (
      requester?.name === stringAt(userInfo, "username") &&
      // The token of a key has its scope and its end.
      requester?.keyId === keyId &&
      metadata.deletionTimestamp === undefined &&
      mintedIn(object)?.token === token
    );
  } catch (error) {
    if (isKubeError(error, "NotFound", "Forbidden")) return false;
    throw error;
  }
}

/** Without the file, the next command gets another token. */
function keep(minted: MintedToken, file: KeptToken | undefined, { terminal }: Cli): void {
  try {
    file?.write(minted);
  } catch (error) {
    terminal.say(sentenceOf(error));
  }
}

async function newToken(
  metadata: Partial<ManifestMetadata>,
  { flags, cluster, cli }: TokenRequest,
): Promise<MintedToken> {
  const scope = scopeOf(flags);
  const { forCluster } = flags;
  const audience =
    forCluster === undefined ? {} : { annotations: { [annotations.audienceCluster]: forCluster } };
  const created = await cluster.create(resource, {
    apiVersion,
    kind: resource.kind,
    metadata: { name: "", ...metadata, ...audience },
    spec: { ttl: flags.ttl, ...(scope === undefined ? {} : { scope }) },
  });
  const name = stringAt(recordAt(created, "metadata"), "name") ?? "";
  // The gateway answers with the token.
  const look = async (): Promise<MintedToken | Failure | undefined> => {
    try {
      const object = await cluster.get(resource, { name });
      return mintedIn(object) ?? stalledIn(object, name);
    } catch (error) {
      // The grant to read the new object follows some milliseconds after it.
      if (isKubeError(error, "Forbidden")) return undefined;
      throw error;
    }
  };
  const result = mintedIn(created) ?? (await waitUntil(look, flags.timeout, cli));
  if (result instanceof Failure) throw result;
  if (result !== undefined) return result;
  throw new Failure(
    `DirectClusterEndpointToken "${name}" has no token after ${flags.timeout / 1000} s; ` +
      "run kubectl latchkey check",
    "unhealthy",
  );
}

function mintedIn(object: unknown): MintedToken | undefined {
  const [metadata, status] = [recordAt(object, "metadata"), recordAt(object, "status")];
  const [token = "", expiresAt] = [stringAt(status, "token"), stringAt(status, "expiresAt")];
  if (token === "" || expiresAt === undefined) return undefined;
  const startsAt = timestamp(lifetimeStart(parseMetadata(object)));
  return { name: stringAt(metadata, "name") ?? "", token, startsAt, expiresAt };
}

function stalledIn(object: unknown, name: string): Failure | undefined {
  const conditions = parseConditions(recordAt(object, "status"));
  const stalled = conditions.find(({ type, status }) => type === "Stalled" && status === "True");
  return stalled === undefined
    ? undefined
    : new Failure(
        `DirectClusterEndpointToken "${name}": ${stalled.reason}, ${stalled.message}`,
        "unhealthy",
      );
}
