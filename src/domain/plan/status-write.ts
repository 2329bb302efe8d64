import type { Metadata } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import { mergePatch } from "./merge-patch.ts";
import type { Write } from "./plan.ts";

/** Returns the status write of a reconcile; empty if the status is up to date. */
export function statusWrites(
  resource: Resource,
  {
    metadata,
    status,
  }: { readonly metadata: Metadata; readonly status: Readonly<Record<string, unknown>> },
  wanted: Readonly<Record<string, unknown>>,
): readonly Write[] {
  const change = mergePatch(status, wanted);
  if (change === undefined) return [];
  const body = { metadata: { resourceVersion: metadata.resourceVersion }, status: change };
  return [{ do: "patch", resource, ref: metadata, subresource: "status", body }];
}
