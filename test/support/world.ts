import type { Event } from "../../src/api/event.ts";
import { keyOf, type ObjectRef } from "../../src/api/object.ts";
import type { Resource } from "../../src/api/resources.ts";
import type { Result } from "../../src/api/result.ts";
import { centralProgram } from "../../src/controllers/central-program.ts";
import type { Program } from "../../src/controllers/controller.ts";
import type { Request as Sent } from "../../src/controllers/question.ts";
import { createQueues, type KeyQueue, type QueueName } from "../../src/controllers/queues.ts";
import { type Outcome, reconcile } from "../../src/controllers/reconcile.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { send } from "../../src/controllers/send.ts";
import { SourceData } from "../../src/controllers/source-data.ts";
import type { SyncWorld } from "../../src/controllers/sync-world.ts";
import type { ControllerOptions, World } from "../../src/controllers/world.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { controllerOptions } from "./controller-options.ts";
import { FakeClient, type Request } from "./fake-client.ts";
import { type FakeInformers, type syncedInformers, syncedInformersOf } from "./fake-informers.ts";
import { rawObject } from "./fake-list-watch.ts";
import { TestClock } from "./test-clock.ts";

/** A world over a fake API server: the stores have what is listed. */
export interface FakeWorld<W extends SyncWorld = World> extends Omit<FakeInformers, "informers"> {
  readonly world: W;
  readonly client: FakeClient;
  /**
   * What was enqueued, such as `copy ns/name high`, `copy ns/name retried` and
   * `copy ns/name in 5000 ms`; changes of the stores enqueue, too.
   */
  readonly enqueued: string[];
  /** The objects that were read into the stores, such as `secrets ns/name`. */
  readonly refreshed: string[];
  /** The responses to writes, and `no secrets ns/name uid` for a deleted object. */
  readonly recorded: unknown[];
  /** The reasons of the recorded Events. */
  readonly events: string[];
  /** The same Events. */
  readonly recordedEvents: Event[];
  /** Enqueues all objects, as a new leader does. */
  readonly enqueueAll: () => Promise<void>;
  /** Sends a request of a reconcile. */
  readonly send: (request: Sent) => Promise<Outcome>;
  /** Reconciles a key once. */
  readonly reconcile: (reconciler: Reconciler<W>, key: string) => Promise<Result>;
  readonly reconcilerOf: (queue: QueueName) => Reconciler<W>;
}

/** What differs from a world without objects. */
export interface FakeWorldOptions {
  /** The response to a request, or its error; undefined if the API server accepts it. */
  readonly answer?: (request: Request) => unknown;
  readonly options?: Partial<ControllerOptions>;
  /** The depth of every queue. */
  readonly depth?: number;
  /** The age of the store of keys, in milliseconds. */
  readonly keysAgeMs?: number;
}

/** Creates a world in which these objects are listed, by plural. */
export async function fakeWorld(
  listed: Parameters<typeof syncedInformers>[0],
  { options: changes = {}, ...rest }: FakeWorldOptions = {},
): Promise<FakeWorld> {
  const program = centralProgram({ ...controllerOptions, ...changes }, new TestClock());
  return fakeWorldOf(program, listed, rest);
}

/** The same for the world of a program. */
export async function fakeWorldOf<W extends SyncWorld>(
  program: Program<W>,
  listed: Parameters<typeof syncedInformers>[0],
  { answer, depth = 0, keysAgeMs = 0 }: Omit<FakeWorldOptions, "options"> = {},
): Promise<FakeWorld<W>> {
  let leading: W["enqueuer"] | undefined;
  const { informers, ...fakes } = await syncedInformersOf(program.watched, {
    listed,
    options: program.options,
    onChange: (changed) => leading !== undefined && changed.enqueue(leading),
  });
  const { clock, log } = fakes;
  const { stores, digestOf } = informers;
  const recording = {
    enqueued: new Array<string>(),
    refreshed: new Array<string>(),
    events: new Array<string>(),
    recordedEvents: new Array<Event>(),
  };
  const recorded: unknown[] = [];
  const queues = createQueues((name): KeyQueue => {
    const heard = (line: string): void => void recording.enqueued.push(`${name} ${line}`);
    return {
      depth,
      add: (key, priority) => heard(`${key} ${priority}`),
      addAt: (key, at) => heard(`${key} in ${at - clock.now()} ms`),
      retry: (key) => heard(`${key} retried`),
    };
  });
  const yielder = new Yielder(clock);
  const openedAt = (): number => (clock.now() - keysAgeMs) / 1_000;
  const world = program.worldOf({
    queues,
    stores,
    memory: program.newMemory(),
    clock,
    yielder,
    log,
    watches: () => informers.watches().map((watch) => ({ ...watch, openedAt: openedAt() })),
    has: informers.has,
    recordWrite: (_, response) => void recorded.push(response),
    recordFollowed: informers.recordFollowed,
    recordDelete: ({ plural }, ref, uid) => void recorded.push(`no ${plural} ${keyOf(ref)} ${uid}`),
  });
  const { enqueuer } = world;
  leading = enqueuer;
  const client = new FakeClient((request) => answer?.(request) ?? accepted(request));
  const deps = {
    client,
    state: world,
    sourceData: new SourceData({ client, digestOf, namespace: program.options.namespace }),
    forEach: yielder.forEach.bind(yielder),
    answerOther: program.answersIn?.(world),
    recordEvent: async (event: Event) => {
      recording.events.push(event.reason);
      recording.recordedEvents.push(event);
    },
    refresh: async ({ plural }: Resource, ref: ObjectRef) =>
      void recording.refreshed.push(`${plural} ${keyOf(ref)}`),
  };
  const sending = (request: Sent): Promise<Outcome> => send(request, deps);
  return {
    ...fakes,
    ...recording,
    recorded,
    world,
    client,
    enqueueAll: () => informers.enqueueAll(enqueuer),
    send: sending,
    reconcilerOf(queue) {
      const found = informers.reconcilers.find((reconciler) => reconciler.queue === queue);
      if (found === undefined) throw new Error(`nothing reconciles ${queue}`);
      return found;
    },
    reconcile: (reconciler, key) => reconcile(key, { reconciler, world }, sending),
  };
}

function accepted({ verb, ref }: Request): unknown {
  if (verb !== "create" && verb !== "replace" && verb !== "patch") return {};
  const { resourceVersion: _, ...kept }: { readonly resourceVersion?: string } & ObjectRef = ref;
  return rawObject(kept);
}
