import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { copyOfText } from "../../src/domain/sync/copy.ts";
import type { ListOptions } from "../../src/kube/informer/list-options.ts";
import type { ListWatch, WatchStart } from "../../src/kube/informer/list-watch.ts";
import type { WatchEvent } from "../../src/kube/informer/watch-stream.ts";
import { dataOf, home } from "../support/bench-objects.ts";

/** SharedSecrets, namespaces with a copy of each, and keys. */
export interface ListedObjects {
  readonly sources: number;
  readonly targets: number;
  readonly keys: number;
  /** Whether SharedSecrets and keys have a status; every hundredth is not ready. */
  readonly isReconciled: boolean;
  /** Whether each SharedSecret follows a Secret instead of having data. */
  readonly isFollowing?: boolean;
}

/** Called before a list of a kind; returns what is called after it. */
export type OnList = (kind: string) => () => void;

const created = "2026-01-01T00:00:00Z";
const dayMs = 86_400_000;

/** An API server that lists these objects, one kind after the other, and sends no events. */
export function listedObjects(objects: ListedObjects, onList: OnList = () => () => {}): ListWatch {
  const add = adding();
  let turn: Promise<void> = Promise.resolve();
  return {
    async list(selection, _signal, onEvents) {
      const begin = turn;
      const end = Promise.withResolvers<void>();
      turn = end.promise;
      await begin;
      const isCopies = selection.labelSelector === labels.sourceUid;
      const onListed = onList(isCopies ? "copies" : selection.resource.plural);
      let batch: WatchEvent[] = [];
      for (const event of eventsOf(selection, objects, add)) {
        batch.push(event);
        if (batch.length < 500) continue;
        await onEvents(batch);
        batch = [];
      }
      await onEvents(batch);
      onListed();
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
}

type Add = (metadata: { namespace?: string; name: string }, rest: object) => WatchEvent;

/** Makes the event of a new object; `metadata` of the rest is added to its metadata. */
function adding(): Add {
  let made = 0;
  return (named, rest) => {
    made += 1;
    const { metadata, ...fields } = { metadata: {}, ...rest };
    const object = {
      ...fields,
      metadata: {
        ...named,
        uid: `00000000-0000-4000-8000-${String(made).padStart(12, "0")}`,
        resourceVersion: String(1_000_000 + made),
        creationTimestamp: created,
        ...metadata,
      },
    };
    // Texts of a parsed line share no memory with other objects.
    const parsed: WatchEvent = JSON.parse(JSON.stringify({ type: "ADDED", object }));
    return parsed;
  };
}

function eventsOf(
  { resource, labelSelector }: ListOptions,
  objects: ListedObjects,
  add: Add,
): Iterable<WatchEvent> {
  if (resource.plural === "sharedsecrets") return sources(objects, add);
  if (resource.plural === "ownedaccesskeys") return keys(objects, add);
  if (resource.plural === "namespaces") return namespaces(objects, add);
  return labelSelector === labels.sourceUid ? copies(objects, add) : [];
}

const sourceUid = (index: number): string =>
  `10000000-0000-4000-8000-${String(index).padStart(12, "0")}`;

function* sources(objects: ListedObjects, add: Add): Iterable<WatchEvent> {
  const { targets, isFollowing = false } = objects;
  for (let index = 0; index < objects.sources; index += 1)
    yield add(
      { namespace: home, name: `shared-${index}` },
      {
        apiVersion,
        kind: "SharedSecret",
        metadata: {
          uid: sourceUid(index),
          generation: 1,
          annotations: {
            [annotations.syncToProjects]: "many",
            ...(isFollowing && { [annotations.dataFrom]: `source-${index}` }),
          },
        },
        spec: isFollowing ? {} : { data: dataOf(index) },
        ...statusOf(index, objects, ["Synced", "Conflict"], {
          sync: { desired: targets, synced: targets },
        }),
      },
    );
}

function* copies(objects: ListedObjects, add: Add): Iterable<WatchEvent> {
  for (let index = 0; index < objects.sources; index += 1) {
    const name = `shared-${index}`;
    for (let target = 0; target < objects.targets; target += 1) {
      const namespace = `many-${target}`;
      const copyOf = copyOfText({ namespace: home, name }, { namespace, name });
      yield add(
        { namespace, name },
        {
          metadata: {
            labels: { [labels.sourceUid]: sourceUid(index) },
            annotations: { [annotations.copyOf]: copyOf },
          },
          type: "Opaque",
          data: dataOf(index),
        },
      );
    }
  }
}

function* keys(objects: ListedObjects, add: Add): Iterable<WatchEvent> {
  for (let index = 0; index < objects.keys; index += 1)
    yield add(
      { name: `key-${index}` },
      {
        apiVersion,
        kind: "OwnedAccessKey",
        metadata: { generation: 1 },
        spec: { user: `user-${index % 100}`, key: `sha256:${String(index).padStart(64, "0")}` },
        ...statusOf(index, objects, ["Ready", "InvalidScope"], {
          expiresAt: new Date(Date.now() + (index % 365) * dayMs).toISOString(),
        }),
      },
    );
}

/** Every hundredth object is not ready, for the second reason. */
function statusOf(
  index: number,
  { isReconciled }: ListedObjects,
  [well, trouble]: readonly [string, string],
  rest: object,
): object {
  if (!isReconciled) return {};
  const isWell = index % 100 !== 0;
  const common = { message: "", observedGeneration: 1, lastTransitionTime: created };
  const conditions = [
    { type: "Ready", status: isWell ? "True" : "False", reason: isWell ? well : trouble },
  ];
  return { status: { ...rest, conditions: conditions.map((one) => ({ ...one, ...common })) } };
}

function* namespaces({ targets }: ListedObjects, add: Add): Iterable<WatchEvent> {
  for (let target = 0; target < targets; target += 1)
    yield add(
      { name: `many-${target}` },
      {
        metadata: {
          labels: { [labels.project]: "many" },
          annotations: { [annotations.sync]: "enabled" },
        },
      },
    );
}
