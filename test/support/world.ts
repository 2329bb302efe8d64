import { createKeyResolver } from "../../src/authn/key-resolver.ts";
import { keyOf, type ObjectRef } from "../../src/api/object.ts";
import type { Resource } from "../../src/api/resources.ts";
import type { Result } from "../../src/api/result.ts";
import type { ControllerOptions } from "../../src/controllers/controller-options.ts";
import { Enqueuer } from "../../src/controllers/enqueuer.ts";
import { newMemory } from "../../src/controllers/memory.ts";
import { createQueues, type KeyQueue } from "../../src/controllers/queues.ts";
import { reconcile } from "../../src/controllers/reconcile.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { send } from "../../src/controllers/send.ts";
import { SourceData } from "../../src/controllers/source-data.ts";
import type { World } from "../../src/controllers/world.ts";
import { Yielder } from "../../src/kube/yielder.ts";
import { controllerOptions } from "./controller-options.ts";
import { FakeClient, type Request } from "./fake-client.ts";
import { type FakeInformers, syncedInformers } from "./fake-informers.ts";

/** A world over a fake API server: the stores have what is listed. */
export interface FakeWorld extends Omit<FakeInformers, "informers"> {
  readonly world: World;
  readonly client: FakeClient;
  /** What was enqueued, such as `copy ns/name`, and `copy ns/name in 5000 ms`. */
  readonly enqueued: string[];
  /** The objects that were read into the stores. */
  readonly refreshed: string[];
  /** Reconciles a key once. */
  readonly reconcile: (reconciler: Reconciler, key: string) => Promise<Result>;
}

/** What differs from a world without objects. */
export interface FakeWorldOptions {
  readonly answer?: (request: Request) => unknown;
  readonly options?: Partial<ControllerOptions>;
}

/** Creates a world in which these objects are listed, by plural. */
export async function fakeWorld(
  listed: Parameters<typeof syncedInformers>[0],
  { answer, options: changes = {} }: FakeWorldOptions = {},
): Promise<FakeWorld> {
  const options = { ...controllerOptions, ...changes };
  const { informers, ...fakes } = await syncedInformers(listed, undefined, options);
  const { clock, log } = fakes;
  const { stores } = informers;
  const [enqueued, refreshed] = [new Array<string>(), new Array<string>()];
  const queues = createQueues((queue): KeyQueue => {
    const add = (key: string): void => void enqueued.push(`${queue} ${key}`);
    const addAt = (key: string, at: number): void =>
      void enqueued.push(`${queue} ${key} in ${at - clock.now()} ms`);
    return { depth: 0, add, addAt, retry: add };
  });
  const memory = newMemory(options);
  const yielder = new Yielder(clock);
  const enqueuer = new Enqueuer({ queues, stores, memory, clock, yielder });
  const keyResolver = createKeyResolver({
    ...{ keys: stores.keys, policies: stores.requesterPolicies, config: options },
  });
  const world: World = {
    ...{ options, stores, memory, enqueuer, keyResolver, clock, log },
    keysAsOf: () => clock.now(),
    recordWrite: () => {},
    recordDelete: () => {},
  };
  const client = new FakeClient(answer);
  const deps = {
    ...{ client, world },
    sourceData: new SourceData({ client, digestOf: informers.digestOf }),
    forEach: yielder.forEach.bind(yielder),
    recordEvent: async () => {},
    refresh: async (_: Resource, ref: ObjectRef) => void refreshed.push(keyOf(ref)),
  };
  return {
    ...fakes,
    ...{ world, client, enqueued, refreshed },
    reconcile: (reconciler, key) =>
      reconcile(key, { reconciler, world }, (request) => send(request, deps)),
  };
}
