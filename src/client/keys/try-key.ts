import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { Cli } from "../cli.ts";
import type { ConnectionFlags } from "../connection/connection-options.ts";
import { sentenceOf } from "../failure.ts";

/** What the server of a connection says about a key. */
type KeyTrial =
  | { readonly kind: "accepted"; readonly userInfo: unknown }
  /** The server does not know the key, or knows no keys. */
  | { readonly kind: "unknown" }
  | { readonly kind: "refused"; readonly why: string };

/** Asks the server of the flags and the kubeconfig whom a key authenticates as. */
export async function tryKey(
  token: string,
  flags: ConnectionFlags,
  { connect }: Pick<Cli, "connect">,
): Promise<KeyTrial> {
  const cluster = await connect({ ...flags, token, as: undefined, asGroup: [] });
  try {
    const { userInfo } = await cluster.review(resources.selfReviews, {});
    return { kind: "accepted", userInfo };
  } catch (error) {
    if (isKubeError(error, "Unauthorized")) return { kind: "unknown" };
    if (isKubeError(error, "Forbidden"))
      return { kind: "refused", why: reasonIn(error.explanation) ?? sentenceOf(error) };
    throw error;
  }
}

/**
 * The reason of Latchkey's authorizer in a 403. kube-apiserver knows the user of a key for some
 * seconds after the key has ended; every valid key may ask about itself.
 */
function reasonIn(explanation: string): string | undefined {
  const at = explanation.indexOf(": the access key of this request ");
  return at === -1 ? undefined : explanation.slice(at + 2);
}
