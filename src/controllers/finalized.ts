import { parseMetadata } from "../api/parse.ts";
import { type Resource, resources } from "../api/resources.ts";
import { hasFinalizer } from "../domain/plan/finalizer.ts";
import type { SyncMemory } from "./sync-state.ts";

/** Maximum number of uids: enough for the objects that wait for their grant, at little memory. */
const mostFinalized = 10_000;

/**
 * Records the response to a write, if it is of a key or token. Those with the cleanup finalizer
 * exist until this leader removes it, so the API server need not be asked whether they do. (If a
 * user removes the finalizer, a watch event follows.)
 */
export function noteFinalized(
  resource: Resource,
  response: unknown,
  { finalized }: SyncMemory,
): void {
  if (resource !== resources.ownedAccessKeys && resource !== resources.endpointTokens) return;
  const metadata = parseMetadata(response);
  finalized.delete(metadata.uid);
  if (!hasFinalizer(metadata)) return;
  finalized.add(metadata.uid);
  const [oldest] = finalized.size > mostFinalized ? finalized : [];
  if (oldest !== undefined) finalized.delete(oldest);
}
