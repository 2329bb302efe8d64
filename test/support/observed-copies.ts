import { annotations, labels } from "../../src/api/names.ts";
import type { Metadata } from "../../src/api/object.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { SharedSecret } from "../../src/api/shared-secret.ts";
import {
  type ObservedCopy,
  copyOfText,
  type Source,
  type UnmanagedSecret,
} from "../../src/domain/sync/copy.ts";
import type { SyncOptions } from "../../src/domain/sync/sync-options.ts";
import { observedMetadata } from "./observed-objects.ts";

/** The Secret of these tests. */
export const target = { namespace: "pay", name: "db" } as const;

/** The fields in which a source of these tests may differ. */
export interface SourceChanges {
  readonly metadata?: Partial<Metadata>;
  readonly options?: Partial<SyncOptions>;
  readonly secret?: Partial<SharedSecret>;
  /** A placeholder for the data, in digests and in the only data key. */
  readonly data?: string;
}

/** The SharedSecret `team/db`, which every project is eligible for. */
export function observedSource({
  metadata,
  options,
  secret,
  data = "new",
}: SourceChanges = {}): Source {
  return {
    secret: {
      metadata: observedMetadata({ namespace: "team", name: "db", uid: "uid-db", ...metadata }),
      owner: {},
      access: [],
      status: {},
      conditions: [],
      ...secret,
    },
    keys: 1,
    size: 8 + data.length,
    digest: data,
    ownDigest: data,
    values: { password: data },
    data: { password: new SecretText(data) },
    options: {
      projects: ["*"],
      clusters: [],
      secretName: "db",
      secretType: "Opaque",
      paused: false,
      ...options,
    },
  };
}

/**
 * The fields in which a copy of these tests may differ; a label or annotation that is undefined is
 * not set.
 */
export interface CopyChanges extends Partial<Omit<ObservedCopy, "metadata">> {
  readonly labels?: Readonly<Record<string, string | undefined>>;
  readonly annotations?: Readonly<Record<string, string | undefined>>;
}

/** An up-to-date copy of `source` as {@link target}, with these changes. */
export function observedCopy(source: Source, changes: CopyChanges = {}): ObservedCopy {
  const { labels: labelChanges, annotations: annotationChanges, ...rest } = changes;
  return {
    metadata: observedMetadata({
      ...target,
      uid: "uid-copy",
      finalizers: [],
      labels: given({
        team: "blue",
        [labels.sourceUid]: source.secret.metadata.uid,
        ...labelChanges,
      }),
      annotations: given({
        note: "kept",
        [annotations.copyOf]: copyOfText(source.secret.metadata, target),
        ...annotationChanges,
      }),
    }),
    ownerReferences: [],
    type: source.options.secretType,
    immutable: false,
    digest: source.digest,
    ...rest,
  };
}

/** An up-to-date copy that has lost its label, with these changes. */
export function unmanagedSecret(source: Source, changes: CopyChanges = {}): UnmanagedSecret {
  const { metadata } = observedCopy(source, {
    ...changes,
    labels: { [labels.sourceUid]: undefined, ...changes.labels },
  });
  return { metadata };
}

function given(
  entries: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(entries).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}
