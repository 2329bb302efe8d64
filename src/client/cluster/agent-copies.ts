import { annotations, group, labels, version } from "../../api/names.ts";
import { keyOf, type Metadata, type ObjectRef } from "../../api/object.ts";
import { listAt, parseLatchkeyMetadata, recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { marksAsRead } from "../../domain/outbox/swapped-marks.ts";
import { copiedSource } from "../../domain/sync/copy.ts";
import { placeholderRequestOf } from "../../domain/sync/placeholder.ts";
import type { Cluster } from "../connection/cluster.ts";
import { existing, type Readable, readWith } from "../missing-right.ts";

/** What the API server says of Latchkey's kinds; undefined in a cluster that serves none. */
function discovery({ send }: Pick<Cluster, "send">): Promise<unknown> {
  return existing(() => send({ method: "GET", path: `/apis/${group}/${version}` }));
}

/** The kinds of Latchkey that the API server serves, in the plural; none in a connected cluster. */
export async function servedKinds(cluster: Pick<Cluster, "send">): Promise<readonly string[]> {
  const found = listAt(await discovery(cluster), "resources");
  return found.flatMap((entry) => stringAt(entry, "name") ?? []);
}

/** Whether the API server serves Latchkey's kinds, or does not say so to this user. */
export async function isCentral(cluster: Pick<Cluster, "send">): Promise<boolean> {
  const { found, missing } = await readWith(anyRight, () => discovery(cluster), undefined);
  return found !== undefined || missing.length > 0;
}

/** Discovery has no resource; the right is not shown. */
const anyRight = { verb: "get", resource: resources.sharedSecrets } as const;

/** Whether the agent of a connected cluster has made, filled or refused a Secret. */
export function isOfAgent(raw: unknown): boolean {
  const metadata = recordAt(raw, "metadata");
  return (
    stringMapAt(metadata, "labels")[labels.outboxUid] !== undefined ||
    stringMapAt(metadata, "annotations")[annotations.clusterSyncError] !== undefined
  );
}

/** The metadata of a Secret of a connected cluster, its marks as the rules of copies read them. */
export function parseAgentCopy(raw: unknown): Metadata {
  return parseLatchkeyMetadata(marksAsRead(raw, clusterOf(raw) ?? ""));
}

/** The name of the connected cluster, which its agent writes into every copy. */
function clusterOf(raw: unknown): string | undefined {
  const text = stringMapAt(recordAt(raw, "metadata"), "annotations")[annotations.copyOf] ?? "";
  const end = text.indexOf("//");
  return end === -1 ? undefined : text.slice(0, end);
}

/** A copy in a connected cluster, or a placeholder there. */
export interface AgentCopy {
  readonly secret: Metadata & { readonly namespace: string };
  /** The SharedSecret in the central cluster. */
  readonly source: ObjectRef;
}

/** The copies and placeholders of a connected cluster; in one namespace, if that is given. */
export async function readAgentCopies(
  { select }: Cluster,
  namespace: string | undefined,
): Promise<Readable<readonly AgentCopy[]>> {
  const resource = resources.secrets;
  const place = namespace === undefined ? {} : { namespace };
  const selectors = [labels.outboxUid, `${labels.sharedSecretName},!${labels.outboxUid}`];
  const { found, missing } = await readWith<readonly unknown[]>(
    { verb: "list", resource, ...place },
    async () => {
      const lists = selectors.map((labelSelector) =>
        select({ resource, ...place, labelSelector, metadataOnly: true }),
      );
      return (await Promise.all(lists)).flat();
    },
    [],
  );
  const copies = found.flatMap((raw): readonly AgentCopy[] => {
    const secret = parseAgentCopy(raw);
    const source = placeholderRequestOf(secret)?.source ?? copiedSource(secret);
    return source === undefined || secret.namespace === undefined
      ? []
      : [{ secret: { ...secret, namespace: secret.namespace }, source }];
  });
  const order = ({ secret, source }: AgentCopy): string => `${keyOf(source)} ${keyOf(secret)}`;
  return {
    found: copies.toSorted((one, other) => (order(one) < order(other) ? -1 : 1)),
    missing,
  };
}
