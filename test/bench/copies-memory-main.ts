/* Lists SharedSecrets and their copies into the informers of the controller; prints MB as JSON. */
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { copyOfText } from "../../src/domain/sync/copy.ts";
import { createInformers } from "../../src/controllers/informers.ts";
import type { ListOptions } from "../../src/kube/list-request.ts";
import type { ListWatch, WatchStart } from "../../src/kube/list-watch.ts";
import type { WatchEvent } from "../../src/kube/watch-stream.ts";
import { Yielder } from "../../src/kube/yielder.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { dataOf, home } from "../support/bench-objects.ts";
import { recordingLog } from "../support/recording-log.ts";

const [sources = 0, targets = 0] = process.argv.slice(2).map(Number);

let made = 0;

function added(namespace: string | undefined, name: string, rest: object): WatchEvent {
  made += 1;
  const { metadata, ...fields } = { metadata: {}, ...rest };
  const object = {
    ...fields,
    metadata: {
      ...(namespace === undefined ? {} : { namespace }),
      name,
      uid: `00000000-0000-4000-8000-${String(made).padStart(12, "0")}`,
      resourceVersion: String(1_000_000 + made),
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
    },
  };
  // Texts of a parsed line share no memory with other objects.
  const parsed: WatchEvent = JSON.parse(JSON.stringify({ type: "ADDED", object }));
  return parsed;
}

const sourceUids = new Map<number, string>();

function* sourcesToList(): Iterable<WatchEvent> {
  for (let index = 0; index < sources; index += 1) {
    sourceUids.set(index, `00000000-0000-4000-8000-${String(made + 1).padStart(12, "0")}`);
    yield added(home, `shared-${index}`, {
      apiVersion,
      kind: "SharedSecret",
      metadata: { generation: 1, annotations: { [annotations.syncToProjects]: "many" } },
      spec: { data: dataOf(index) },
    });
  }
}

function* copiesToList(): Iterable<WatchEvent> {
  for (let index = 0; index < sources; index += 1) {
    const name = `shared-${index}`;
    for (let target = 0; target < targets; target += 1) {
      const namespace = `many-${target}`;
      yield added(namespace, name, {
        metadata: {
          labels: { [labels.sourceUid]: sourceUids.get(index) ?? "" },
          annotations: {
            [annotations.copyOf]: copyOfText({ namespace: home, name }, { namespace, name }),
          },
        },
        type: "Opaque",
        data: dataOf(index),
      });
    }
  }
}

function* namespacesToList(): Iterable<WatchEvent> {
  for (let target = 0; target < targets; target += 1)
    yield added(undefined, `many-${target}`, {
      metadata: {
        labels: { [labels.project]: "many" },
        annotations: { [annotations.sync]: "enabled" },
      },
    });
}

function objectsOf({ resource, labelSelector }: ListOptions): Iterable<WatchEvent> {
  if (resource.plural === "sharedsecrets") return sourcesToList();
  if (resource.plural === "namespaces") return namespacesToList();
  return labelSelector === labels.sourceUid ? copiesToList() : [];
}

const megabytes = (bytes: number): number => bytes / 1024 / 1024;
const heap = (): number => {
  globalThis.gc?.();
  return megabytes(process.memoryUsage().heapUsed);
};

const heaps = new Map<string, { readonly before: number; readonly after: number }>();
let turn: Promise<void> = Promise.resolve();

const listWatch: ListWatch = {
  async list(selection, _signal, onEvents) {
    const begin = turn;
    const end = Promise.withResolvers<void>();
    turn = end.promise;
    await begin;
    const before = heap();
    let batch: WatchEvent[] = [];
    for (const event of objectsOf(selection)) {
      batch.push(event);
      if (batch.length < 500) continue;
      await onEvents(batch);
      batch = [];
    }
    await onEvents(batch);
    const { plural } = selection.resource;
    const selects = selection.labelSelector === labels.sourceUid ? "copies" : plural;
    if (selects === "copies" || plural !== "secrets") heaps.set(selects, { before, after: heap() });
    end.resolve();
    return "9000000";
  },
  watch: (_selection, { signal, onOpen }: WatchStart) => {
    onOpen();
    return new Promise((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
  },
  version: () => Promise.resolve("9000000"),
  get: () => Promise.resolve(undefined),
};

const clock = systemClock;
const base = megabytes(process.memoryUsage().rss);
const stop = new AbortController();
const informers = createInformers(
  { listWatch, clock, yielder: new Yielder(clock), log: recordingLog(), random: Math.random },
  { namespace: "latchkey-system", requireSyncFrom: false, copyKeys: [], onChange: () => {} },
);
const ended = informers.run(stop.signal);
while (informers.staleReasons().length > 0) await new Promise((wake) => setTimeout(wake, 20));
if (informers.stores.copies.size !== sources * targets)
  throw new Error(`only ${informers.stores.copies.size} copies are in the store`);
globalThis.gc?.();
const grown = (name: string): number => {
  const { before = Number.NaN, after = Number.NaN } = heaps.get(name) ?? {};
  return after - before;
};
process.stdout.write(
  `${JSON.stringify({
    base,
    sources: grown("sharedsecrets"),
    copies: grown("copies"),
    resident: megabytes(process.memoryUsage().rss),
    peak: process.resourceUsage().maxRSS / 1024,
  })}\n`,
);
stop.abort();
await ended;
