import { hasFinalizer } from "../domain/plan/finalizer.ts";
import { parseMetadata } from "../api/parse.ts";
import type { LeaderMemory } from "./memory.ts";

/** Maximum number of uids: enough for the objects that wait for their grant, at little memory. */
const most = 10_000;

/**
 * Records the response to a write of a key or token. Those with the cleanup finalizer exist until
 * this leader removes it, so the API server need not be asked whether they do. (If a user removes
 * the finalizer, a watch event follows.)
 */
export function noteFinalized(
  response: unknown,
  { finalized }: Pick<LeaderMemory, "finalized">,
): void {
  const metadata = parseMetadata(response);
  finalized.delete(metadata.uid);
  if (!hasFinalizer(metadata)) return;
  finalized.add(metadata.uid);
  const [eldest] = finalized.size > most ? finalized : [];
  if (eldest !== undefined) finalized.delete(eldest);
}
