import { apiVersion, components, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import type { View } from "../support/visible-objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** The tokens in the deny list of a run: their names, or that their object no longer exists. */
export async function revokedStateOf(
  cluster: ProxiedCluster,
  { system, prefix }: View,
): Promise<string> {
  const itemsAt = async (path: string) =>
    listAt(await cluster.arrange({ method: "GET", path }), "items");
  const [lists, tokens] = await Promise.all([
    itemsAt(`/api/v1/namespaces/${system}/configmaps?labelSelector=${selector}`),
    itemsAt(`/apis/${apiVersion}/directclusterendpointtokens`),
  ]);
  const names = new Map(
    tokens.map((token) => {
      const metadata = recordAt(token, "metadata");
      return [stringAt(metadata, "uid"), stringAt(metadata, "name")?.replace(prefix, "the-")];
    }),
  );
  const revoked = lists
    .flatMap((list) => Object.keys(recordAt(list, "data")))
    .map((jti) => names.get(jti) ?? "a token whose object is gone");
  const state = { kind: "RevokedTokens", metadata: { name: "revoked" }, revoked: revoked.sort() };
  return JSON.stringify(state, undefined, 2);
}

const selector = encodeURIComponent(`${labels.component}=${components.revokedTokens}`);
