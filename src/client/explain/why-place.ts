import { unknownKeys } from "../../api/known-keys.ts";
import { parseLatchkeyMetadata, recordAt, stringAt } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { parseResourceQuota } from "../../api/resource-quota.ts";
import { resources } from "../../api/resources.ts";
import { placeItems, type SeenPlace, unknownKeyItems } from "../../domain/sync/explain-place.ts";
import { type NamespaceOptions, readNamespace, type Target } from "../../domain/sync/obstacles.ts";
import { isFullForSecrets } from "../../domain/sync/quota-relief.ts";
import { isOfAgent, parseAgentCopy } from "../cluster/agent-copies.ts";
import type { Cluster } from "../connection/cluster.ts";
import { type Readable, readObject, readWith } from "../missing-right.ts";

/**
 * Reads a namespace and the place of a copy in it, as far as the user may; `isConnected` is whether
 * the API server serves no SharedSecrets.
 */
export async function readPlace(
  cluster: Cluster,
  target: Target,
  { isConnected, ...options }: NamespaceOptions & Pick<SeenPlace, "isConnected">,
): Promise<Readable<SeenPlace>> {
  const { namespaces, secrets, resourceQuotas } = resources;
  const { namespace } = target;
  const own = await readObject(namespaces, { name: namespace }, cluster.getMetadata);
  const secret = await readObject(secrets, target, cluster.getMetadata);
  const right = { verb: "list", resource: resourceQuotas, namespace } as const;
  const quotas = await readWith(
    right,
    () => cluster.select({ resource: resourceQuotas, namespace }),
    [],
  );
  const parse = (raw: unknown) => (raw === undefined ? undefined : parseLatchkeyMetadata(raw));
  const parsed = parse(own.found);
  const isOfConnected = isConnected || isOfAgent(secret.found);
  return {
    found: {
      target,
      namespace: parsed && readNamespace(parsed, options),
      secret:
        isOfConnected && secret.found !== undefined
          ? parseAgentCopy(secret.found)
          : parse(secret.found),
      unknownKeys: {
        Namespace: unknownKeys("Namespace", own.found),
        Secret: unknownKeys("Secret", secret.found),
      },
      fullQuotas: quotas.found
        .filter(isFull)
        .map((raw) => stringAt(recordAt(raw, "metadata"), "name") ?? ""),
      isConnected: isOfConnected,
    },
    missing: [own, secret].flatMap(({ missing }) => missing),
  };
}

function isFull(raw: unknown): boolean {
  const quota = parseResourceQuota(raw);
  return quota !== undefined && isFullForSecrets(quota);
}

/**
 * The answer with what the place says itself: all of it where no SharedSecret answers, and else
 * what has no effect there, unless the copy is as it should be.
 */
export function withPlace(found: readonly ReportItem[], place: SeenPlace): readonly ReportItem[] {
  if (found.length === 0) return placeItems(place);
  if (found.every(({ state }) => state === "unknown")) {
    const own = placeItems(place).filter(({ state }) => state === "problem");
    return [...found, ...own];
  }
  return found.some(({ state }) => state === "problem")
    ? [...unknownKeyItems(place), ...found]
    : found;
}
