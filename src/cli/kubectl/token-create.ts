import { annotations, apiVersion } from "../../api/names.ts";
import type { ManifestMetadata } from "../../api/object.ts";
import { parseConditions, recordAt, stringAt } from "../../api/parse.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { parseEndpointToken } from "../../api/endpoint-token.ts";
import { resources } from "../../api/resources.ts";
import { instantOf } from "../../domain/lifetime.ts";
import { timestamp } from "../../domain/plan/conditions.ts";
import { isKubeError } from "../../kube/errors.ts";
import { hashOf } from "../../tokens/name-hash.ts";
import type { Action, Cli, Invocation } from "./cli.ts";
import type { Cluster } from "./cluster.ts";
import type { commands } from "./command-table.ts";
import { Failure } from "./failure.ts";
import { jsonText, printValue } from "./output.ts";
import { waitUntil } from "./progress.ts";
import { scopeOf } from "./scope-flags.ts";

const resource = resources.endpointTokens;

type Flags = Invocation<typeof commands.tokenCreate.flags>["flags"];

interface TokenDeps {
  readonly flags: Flags;
  readonly cluster: Cluster;
  readonly cli: Cli;
}

/** A minted token. */
export interface Minted {
  readonly token: string;
  /** RFC 3339. */
  readonly expiresAt: string | undefined;
}

/** `kubectl latchkey token create`. */
export const createToken: Action<typeof commands.tokenCreate.flags> = async (
  { flags, args: [name] },
  cli,
) => {
  const cluster = await cli.connect(flags);
  const deps = { flags, cluster, cli };
  const minted =
    flags.execCredential && name === undefined
      ? await reusedToken(deps)
      : await newToken(name === undefined ? { generateName: "cli-" } : { name }, deps);
  const { env, terminal } = cli;
  printValue(
    flags.execCredential
      ? jsonText(execCredential(minted, env["KUBERNETES_EXEC_INFO"]))
      : `${minted.token}\n`,
    terminal,
  );
};

/** An ExecCredential in the version that the caller asks for in KUBERNETES_EXEC_INFO. */
export function execCredential(
  { token, expiresAt }: Minted,
  info: string | undefined,
): Readonly<Record<string, unknown>> {
  const versions = ["v1", "v1beta1"].map((version) => `client.authentication.k8s.io/${version}`);
  const wanted = stringAt(parsed(info ?? ""), "apiVersion");
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

function parsed(text: string): unknown {
  try {
    const content: unknown = JSON.parse(text);
    return content;
  } catch {
    return undefined;
  }
}

/** Candidates for a name, because the object of a name may belong to another user. */
const mostNames = 3;

/**
 * The user's token of this lifetime, scope and cluster: an exec plugin runs for every command of
 * kubectl. Its name follows from the half of the lifetime that the time is in, so that the API
 * server keeps it, and no file of this machine.
 */
async function reusedToken(deps: TokenDeps): Promise<Minted> {
  const { flags, cluster, cli } = deps;
  const { userInfo } = await cluster.review(resources.selfReviews, {});
  const username = stringAt(userInfo, "username") ?? "";
  const slot = Math.floor(cli.clock.now() / (flags.ttl * 500));
  const scope = JSON.stringify(scopeOf(flags) ?? null);
  for (let number = 0; number < mostNames; number++) {
    const words = [username, cli.hostname, flags.ttl, scope, flags.forCluster, slot, number];
    const name = `cli-${hashOf(JSON.stringify(words))}`;
    const found = await ownToken(name, username, deps);
    if (found !== "other") return found;
  }
  return newToken({ generateName: "cli-" }, deps);
}

/** The token of a name, made if it does not exist; `other` if it is of no use. */
async function ownToken(
  name: string,
  username: string,
  deps: TokenDeps,
): Promise<Minted | "other"> {
  const { cluster, cli, flags } = deps;
  try {
    const object = await cluster.get(resource, { name });
    const { metadata } = parseEndpointToken(object);
    // Another user could make an object of this name, whose token an administrator may read.
    const isWanted =
      requesterAnnotationsOf(metadata)?.name === username &&
      metadata.annotations[annotations.audienceCluster] === flags.forCluster;
    const minted = mintedIn(object);
    const end = instantOf(minted?.expiresAt) ?? 0;
    return isWanted && minted !== undefined && end > cli.clock.now() + 30_000 ? minted : "other";
  } catch (error) {
    // Without a grant, the API server does not tell whether the object exists.
    if (!isKubeError(error, "NotFound", "Forbidden")) throw error;
  }
  try {
    return await newToken({ name }, deps);
  } catch (error) {
    if (isKubeError(error, "AlreadyExists")) return "other";
    throw error;
  }
}

async function newToken(
  metadata: Partial<ManifestMetadata>,
  { flags, cluster, cli }: TokenDeps,
): Promise<Minted> {
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
  const look = async (): Promise<Minted | Failure | undefined> => {
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
    `DirectClusterEndpointToken "${name}" has no token after ${flags.timeout / 1000} s; run kubectl latchkey check`,
    "unhealthy",
  );
}

function mintedIn(object: unknown): Minted | undefined {
  const status = recordAt(object, "status");
  const token = stringAt(status, "token") ?? "";
  return token === "" ? undefined : { token, expiresAt: stringAt(status, "expiresAt") };
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
