import { annotations, group, labels } from "../../api/names.ts";
import type { Manifest, ManifestMetadata, Metadata } from "../../api/object.ts";
import { apiVersionOf, resources } from "../../api/resources.ts";
import type { GrantRole, ResourceRule } from "../../api/role.ts";
import type { Wire } from "../../api/wire.ts";
import { chunkPrefix, grants } from "./granted-names.ts";

/**
 * One ClusterRole and ClusterRoleBinding of a requester; `names` are keys of granted objects, at
 * least one.
 */
export interface GrantChunk extends Grantee {
  readonly number: number;
  readonly names: ReadonlySet<string>;
}

/** A requester, and the hash of its name. */
interface Grantee {
  readonly hash: string;
  readonly requester: string;
}

/** Name of the ClusterRole and ClusterRoleBinding of a chunk. */
export function chunkName(hash: string, number: number): string {
  return `${chunkPrefix(hash)}${number}`;
}

/** Number of the chunk of this requester with this name; undefined if the name has another form. */
export function chunkNumber(hash: string, name: string): number | undefined {
  const number = Number(name.slice(name.lastIndexOf("-") + 1));
  return Number.isSafeInteger(number) && number >= 0 && chunkName(hash, number) === name
    ? number
    : undefined;
}

/**
 * The rules of a chunk: one for each kind that has names, because a rule without names would grant
 * every object of its kind.
 */
export function chunkRules(names: ReadonlySet<string>): readonly ResourceRule[] {
  return Object.values(grants).flatMap(({ plural, verbs }) => {
    const prefix = `${plural}/`;
    const resourceNames = [...names]
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
    if (resourceNames.length === 0) return [];
    return [
      {
        apiGroups: [group],
        resources: [plural],
        resourceNames: resourceNames.sort(),
        verbs,
      },
    ];
  });
}

/** The ClusterRole of a chunk; labels, annotations and finalizers of an existing role are kept. */
export function chunkRole(chunk: GrantChunk, existing?: GrantRole): Manifest {
  return {
    apiVersion: apiVersionOf(resources.clusterRoles),
    kind: resources.clusterRoles.kind,
    metadata: {
      ...(existing === undefined ? {} : kept(existing.metadata)),
      ...marks(chunk, existing?.metadata),
    },
    rules: chunkRules(chunk.names),
  } satisfies Wire<"ClusterRole">;
}

/** The ClusterRoleBinding of a chunk. */
export function chunkBinding(chunk: GrantChunk): Manifest {
  const { group: apiGroup, kind } = resources.clusterRoles;
  return {
    apiVersion: apiVersionOf(resources.clusterRoleBindings),
    kind: resources.clusterRoleBindings.kind,
    metadata: marks(chunk),
    roleRef: { apiGroup, kind, name: chunkName(chunk.hash, chunk.number) },
    subjects: [{ kind: "User", apiGroup, name: chunk.requester }],
  } satisfies Wire<"ClusterRoleBinding">;
}

/** Whether a role or binding of the requester has Latchkey's label and annotation. */
export function isMarkedFor({ hash, requester }: Grantee, metadata: Metadata): boolean {
  return (
    metadata.labels[labels.requesterHash] === hash &&
    metadata.annotations[annotations.requester] === requester
  );
}

function kept({ uid, resourceVersion, finalizers }: Metadata): Partial<ManifestMetadata> {
  return { uid, resourceVersion, finalizers };
}

function marks({ hash, requester, number }: GrantChunk, existing?: Metadata): ManifestMetadata {
  return {
    name: chunkName(hash, number),
    labels: { ...existing?.labels, [labels.requesterHash]: hash },
    annotations: { ...existing?.annotations, [annotations.requester]: requester },
  };
}
