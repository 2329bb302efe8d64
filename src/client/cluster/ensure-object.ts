import { keyOf, type ObjectRef } from "../../api/object.ts";
import { isRecord, ownValue } from "../../api/parse.ts";
import type { OutboxObject } from "../../domain/outbox/outbox-objects.ts";
import { type Cluster, preconditions } from "../connection/cluster.ts";
import { Failure } from "../failure.ts";
import { existing } from "../missing-right.ts";

/** What was done to an object. */
type Ensured = "created" | "repaired" | "unchanged";

type EnsureCluster = Pick<Cluster, "get" | "create" | "patch">;

/** Creates an object that is missing, and gives another one the fields of the manifest. */
export async function ensureObject(
  wanted: OutboxObject,
  { get, create, patch }: EnsureCluster,
): Promise<Ensured> {
  const { resource, manifest } = wanted;
  const { namespace, name } = manifest.metadata;
  const ref: ObjectRef = namespace === undefined ? { name } : { namespace, name };
  const found = await existing(() => get(resource, ref));
  if (found === undefined) {
    await create(resource, manifest);
    return "created";
  }
  const { apiVersion: _, kind, roleRef, metadata, ...content } = manifest;
  if (wanted.existing === "kept" || hasFields(found, manifest)) return "unchanged";
  // A RoleBinding cannot get another Role (Kubernetes, RBAC).
  if (!hasFields(found, { roleRef }))
    throw new Failure(`${kind} "${keyOf(ref)}" has another roleRef; delete it, and run this again`);
  const marks = { labels: metadata.labels, annotations: metadata.annotations };
  const body = { ...content, metadata: { ...marks, ...preconditions(found) } };
  await patch(resource, ref, { body });
  return "repaired";
}

/** Whether a stored object has every field of a manifest; a list must be the same. */
function hasFields(stored: unknown, wanted: unknown): boolean {
  if (wanted === undefined) return true;
  if (Array.isArray(wanted))
    return (
      Array.isArray(stored) &&
      stored.length === wanted.length &&
      wanted.every((entry: unknown, at) => hasFields(stored[at], entry))
    );
  if (!isRecord(wanted)) return stored === wanted;
  return (
    isRecord(stored) &&
    Object.entries(wanted).every(([field, value]) => hasFields(ownValue(stored, field), value))
  );
}
