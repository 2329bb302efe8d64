import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import { grantsOf, keysOf, tokensOf } from "./own-end.ts";
import { placeholdersOf } from "./placeholders-end.ts";
import { accessOf, copiesOf, statusesOf } from "./secrets-end.ts";
import { see, type Seen, type Sentences } from "./seen.ts";

/**
 * Differences from what follows from the existing SharedSecrets, namespaces, keys and tokens;
 * computed without the controller's code.
 */
export function differencesIn(seen: Seen): readonly string[] {
  return [copiesOf, placeholdersOf, accessOf, statusesOf, keysOf, tokensOf, grantsOf].flatMap(
    (judge) => difference(judge(seen)),
  );
}

/** The differences in a cluster, read as the administrator. */
export async function differences(cluster: ProxiedCluster): Promise<readonly string[]> {
  return differencesIn(await see(cluster));
}

function difference([expected, found]: Sentences): readonly string[] {
  const wanted = new Set(expected);
  const standing = new Set(found);
  return [
    ...[...wanted].filter((one) => !standing.has(one)).map((one) => `missing: ${one}`),
    ...[...standing].filter((one) => !wanted.has(one)).map((one) => `too much: ${one}`),
  ];
}
