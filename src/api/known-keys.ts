import { annotations, isOwnKey, labels } from "./names.ts";
import { recordAt } from "./parse.ts";

/** A label or annotation of an object. */
export interface MetadataKey {
  readonly field: "labels" | "annotations";
  readonly key: string;
}

/** The kinds whose labels and annotations users write. */
export type MarkedKind = "SharedSecret" | "Namespace" | "Secret";

/** The labels and annotations of Latchkey's group that have an effect on an object of a kind. */
export const knownKeys: Readonly<
  Record<MarkedKind, Readonly<Record<MetadataKey["field"], readonly string[]>>>
> = {
  SharedSecret: {
    labels: [],
    annotations: [
      annotations.syncToProjects,
      annotations.syncToClusters,
      annotations.syncSecretName,
      annotations.syncSecretType,
      annotations.disableSync,
      annotations.refreshNow,
      annotations.copyLabels,
      annotations.copyAnnotations,
      annotations.syncFormat,
      annotations.syncFormatKey,
      annotations.syncFormatFrom,
      annotations.dataFrom,
      annotations.dataFromKeys,
    ],
  },
  Namespace: {
    labels: [labels.project, labels.space, labels.virtualCluster, labels.cluster, labels.component],
    annotations: [
      annotations.sync,
      annotations.syncFrom,
      annotations.allowCopyKeys,
      annotations.clusterUid,
    ],
  },
  Secret: {
    labels: [
      ...[labels.sharedSecretName, labels.sharedSecretNamespace, labels.sourceUid],
      ...[labels.outboxUid, labels.component, labels.cluster],
    ],
    annotations: [
      ...[annotations.syncKeys, annotations.disableSync, annotations.dataFor],
      ...[annotations.copyOf, annotations.filled, annotations.syncError],
      ...[annotations.copiedLabels, annotations.copiedAnnotations],
    ],
  },
};

/** Annotations of Latchkey's own Secrets, of those of clusters, and of the copies of agents. */
const ownAnnotations: readonly string[] = [
  ...[annotations.clusterSyncError, annotations.formerCa, annotations.projects],
  ...[annotations.rotateSigningKey, annotations.virtualClusterNamespace],
];

const mostKeys = 8;

/**
 * The labels and annotations of Latchkey's group that have no effect on an object of this kind, at
 * most 8.
 */
export function unknownKeys(kind: MarkedKind, raw: unknown): readonly MetadataKey[] {
  const metadata = recordAt(raw, "metadata");
  const [known, own] = [knownKeys[kind], kind === "Secret" ? ownAnnotations : []];
  const found: MetadataKey[] = [];
  for (const field of ["annotations", "labels"] as const)
    for (const key of Object.keys(recordAt(metadata, field)))
      if (isOwnKey(key) && ![...known[field], ...own].includes(key) && found.length < mostKeys)
        found.push({ field, key });
  return found;
}
