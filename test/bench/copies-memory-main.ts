/*
 * Lists SharedSecrets and their copies into the informers of the controller; prints MB as JSON. With
 * a third argument, each SharedSecret follows a Secret.
 */
import { SecretText } from "../../src/api/secret-text.ts";
import { createInformers } from "../../src/controllers/informers.ts";
import { centralKinds } from "../../src/controllers/kinds/kinds.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { recordingLog } from "../support/recording-log.ts";
import { dataOf } from "../support/bench-objects.ts";
import { listedObjects } from "./listed-objects.ts";

const [sources = 0, targets = 0] = process.argv.slice(2).map(Number);
const isFollowing = process.argv[4] !== undefined;

const megabytes = (bytes: number): number => bytes / 1024 / 1024;
const heap = (): number => {
  globalThis.gc?.();
  return megabytes(process.memoryUsage().heapUsed);
};

const grown = new Map<string, number>();
const listed = { sources, targets, keys: 0, isReconciled: false, isFollowing };
const listWatch = listedObjects(listed, (kind) => {
  const before = heap();
  return () => void grown.set(kind, heap() - before);
});

const clock = systemClock;
const base = megabytes(process.memoryUsage().rss);
const stop = new AbortController();
const informers = createInformers(
  { listWatch, clock, yielder: new Yielder(clock), log: recordingLog(), random: Math.random },
  {
    namespace: "latchkey-system",
    requireSyncFrom: false,
    copyKeys: [],
    watched: centralKinds,
    onChange: () => {},
  },
);
const ended = informers.run(stop.signal);
while (informers.staleReasons().length > 0) await new Promise((wake) => setTimeout(wake, 20));
if (informers.stores.copies.size !== sources * targets)
  throw new Error(`only ${informers.stores.copies.size} copies are in the store`);
if (isFollowing) {
  const before = heap();
  for (const [index, key] of [...informers.stores.sharedSecrets.keys()].entries()) {
    const data = Object.entries(dataOf(index)).map(([name, text]) => [name, new SecretText(text)]);
    const metadata = { uid: `20000000-0000-4000-8000-${index}`, resourceVersion: `${index}` };
    const read = {
      kind: "data",
      metadata,
      type: "Opaque",
      data: Object.fromEntries(data),
    } as const;
    informers.recordFollowed(key, read, { changesOften: false });
  }
  grown.set("sharedsecrets", (grown.get("sharedsecrets") ?? 0) + heap() - before);
}
globalThis.gc?.();
process.stdout.write(
  `${JSON.stringify({
    base,
    sources: grown.get("sharedsecrets"),
    copies: grown.get("copies"),
    resident: megabytes(process.memoryUsage().rss),
    peak: process.resourceUsage().maxRSS / 1024,
  })}\n`,
);
stop.abort();
await ended;
