import { ownObjects } from "../../api/names.ts";
import { ownValue } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { SecretText } from "../../api/secret-text.ts";
import type { KeyConfig } from "../../domain/access-key/key-state.ts";
import { namedKey } from "../../domain/oidc/named-key.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { readOidcToken } from "../../tokens/oidc-token.ts";
import { issuersInConfigMap } from "../admin/issuers.ts";
import type { Cluster } from "../connection/cluster.ts";
import { readLiveKey } from "../explain/live-keys.ts";
import { keyItem } from "../explain/why-key.ts";
import { type MissingRight, readObject, rightText } from "../missing-right.ts";
import { audienceProblem, issuersText, tokenProblems } from "./token-problems.ts";
import { formProblem } from "./token-text.ts";

/** What the reasons are read with. */
interface RefusedTokenDeps {
  readonly cluster: Cluster;
  /** The options of the controller count as unset. */
  readonly config: KeyConfig;
  readonly now: number;
}

/**
 * Why a server refuses a token that stands for a key, as far as the user may read it; undefined if
 * nothing but the signature is left. A predicate or a clause, which quotes values of claims alone.
 */
export async function refusedTokenReason(
  token: SecretText,
  deps: RefusedTokenDeps,
): Promise<string | undefined> {
  const read = readOidcToken(token);
  if (read.kind === "refused") return `it ${formProblem(read.reason)}`;
  const { cluster, config, now } = deps;
  const { namespace } = config;
  const ref = { namespace, name: ownObjects.issuers };
  try {
    const { found, missing } = await readObject(resources.configMaps, ref, cluster.get);
    if (missing.length > 0) return hiddenText(missing);
    const entry = issuersInConfigMap(found).get(read.issuer);
    if (entry === undefined)
      return `${issuersText(namespace)} has no entry with the issuer of the token`;
    const named = namedKey(ownValue(read.claims, "aud"), entry.audiences);
    if (named.kind !== "key") return audienceProblem(read.claims, entry, undefined);
    const { name } = named;
    const key = await readObject(resources.ownedAccessKeys, { name }, cluster.get);
    if (key.missing.length > 0) return hiddenText(key.missing);
    if (key.found === undefined)
      return `OwnedAccessKey "${name}", which its audience names, does not exist`;
    const live = await readLiveKey(key.found, config, cluster);
    const own = keyItem(key.found, live, now);
    const ofKey = own.state === "problem" ? [`OwnedAccessKey "${name}": ${own.message}`] : [];
    return [...tokenProblems(read, live, now), ...ofKey].join("; ") || undefined;
  } catch (error) {
    if (isKubeError(error, "Unauthorized")) return "the kubeconfig has no other credential to ask";
    throw error;
  }
}

function hiddenText(missing: readonly MissingRight[]): string {
  return `the reason is not known, because you may not ${missing.map(rightText).join(", ")}`;
}
