import type { Readable } from "node:stream";
import { ByteCollector } from "../runtime/byte-collector.ts";
import type { Clock } from "../runtime/clock.ts";

/** How much is read of the body of a refused stream; a metav1.Status has a few hundred bytes. */
const mostBytes = 1024 * 1024;

/**
 * Reads the body of a refused stream: 1 MiB of it, or what arrives in `timeoutMs` milliseconds.
 * Rejects if the connection breaks.
 */
export async function readRefusal(
  body: Pick<Readable, "destroy"> & AsyncIterable<Uint8Array>,
  { clock, timeoutMs }: { readonly clock: Pick<Clock, "wakeAfter">; readonly timeoutMs: number },
): Promise<Uint8Array> {
  const text = new ByteCollector(mostBytes);
  let isLate = false;
  const stopClock = clock.wakeAfter(timeoutMs, () => {
    isLate = true;
    body.destroy();
  });
  try {
    for await (const part of body) if (!text.add(part)) break;
  } catch (error) {
    if (!isLate) throw error;
  } finally {
    stopClock();
  }
  return text.take();
}
