import type { Manifest, Metadata } from "../../src/api/object.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { ConnectedCluster } from "../../src/domain/outbox/consents.ts";
import {
  type ObservedOutboxSecret,
  type OfferedSource,
  outboxManifest,
  tombstoneManifest,
} from "../../src/domain/outbox/outbox-secret.ts";
import type { Source } from "../../src/domain/sync/copy.ts";
import { observedSource, type SourceChanges } from "./observed-copies.ts";
import { observedMetadata } from "./observed-objects.ts";

/** The connected cluster of these tests. */
export const east: ConnectedCluster = { name: "east", uid: "uid-east", projects: ["web", "pay"] };

/** The SharedSecret `team/db`, which names projects of the cluster. */
export function sharedWith(changes: SourceChanges = {}): Source {
  const options = { projects: ["web"], clusters: ["east"], ...changes.options };
  return observedSource({ ...changes, options });
}

/** What {@link east} is offered of a source. */
export function offeredOf(source: Source, projects: readonly string[] = ["web"]): OfferedSource {
  return { source, cluster: "east", projects };
}

/** When the Secrets of these tests were revised. */
export const revisedAt = "2026-01-01T00:00:00Z";

/** A Secret of the outbox as it is observed after it was written. */
export function observedOf(
  manifest: Manifest,
  changes: Partial<ObservedOutboxSecret> & { readonly marks?: Partial<Metadata> } = {},
): ObservedOutboxSecret {
  const { marks, ...rest } = changes;
  const { namespace = "", name, labels = {}, annotations = {} } = manifest.metadata;
  return {
    metadata: observedMetadata({
      namespace,
      name,
      uid: "uid-outbox",
      finalizers: [],
      labels,
      annotations,
      ...marks,
    }),
    immutable: false,
    digest: "",
    size: 0,
    ...rest,
  };
}

/** The Secret that has the data of a source. */
export function offeredSecret(
  offered: OfferedSource,
  changes: Parameters<typeof observedOf>[1] = {},
): ObservedOutboxSecret {
  const { source } = offered;
  const data = source.data ?? { password: new SecretText("") };
  const manifest = outboxManifest({ ...offered, data }, revisedAt);
  return observedOf(manifest, { digest: source.ownDigest, size: source.size, ...changes });
}

/** The Secret that withdraws a source. */
export function tombstoneFor(
  { secret: { metadata } }: Source,
  changes: Parameters<typeof observedOf>[1] = {},
): ObservedOutboxSecret {
  const { uid, namespace = "", name } = metadata;
  const withdrawn = { cluster: "east", source: { namespace, name }, uid };
  return observedOf(tombstoneManifest(withdrawn, revisedAt), changes);
}
