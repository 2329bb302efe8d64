import { createKeyResolver } from "../../src/authn/key-resolver.ts";
import type { Metadata } from "../../src/api/object.ts";
import { parseMetadata } from "../../src/api/parse.ts";
import { agentKinds } from "../../src/controllers/cluster-agent/agent-kinds.ts";
import { translatedClient } from "../../src/controllers/cluster-agent/translated-client.ts";
import {
  outboxListWatch,
  swappedListWatch,
} from "../../src/controllers/cluster-agent/translated-list-watch.ts";
import { centralKinds, type Watched } from "../../src/controllers/kinds/kinds.ts";
import type { QueueName } from "../../src/controllers/queues.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import type { Stores } from "../../src/controllers/stores.ts";
import type { World } from "../../src/controllers/world.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import type { Client } from "../../src/kube/client/client.ts";
import type { ListOptions } from "../../src/kube/informer/list-options.ts";
import type { ListWatch } from "../../src/kube/informer/list-watch.ts";
import { Store } from "../../src/kube/informer/store.ts";
import type { WatchEvent } from "../../src/kube/informer/watch-stream.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";
import { controllerOptions } from "../support/controller-options.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";
import { facadeOf } from "./leader.ts";
import { isRaw, type Raw } from "../specification/raw.ts";
import type { Change } from "./server.ts";
import { type Event, eventOf, listed, type View, type ViewedKind, viewedKind } from "./view.ts";

/** The API servers: of the central cluster, and of the connected cluster `east`. */
export type Place = "central" | "connected";

/** The name of the connected cluster whose agent is that of src. */
export const connectedCluster = "east";

/** What arrives of a kind: from where, by which selection, and as what. */
interface Arrival {
  readonly place: Place;
  readonly selection: ListOptions;
  /** Undefined for an object that the process does not read. */
  readonly read: (sent: Raw) => Raw | undefined;
}

/** A kind with the name of its store. */
interface StreamedKind extends ViewedKind, Arrival {
  readonly name: string;
}

/** A process of src: what it watches, and what it reconciles. */
export interface Process {
  readonly kinds: readonly StreamedKind[];
  readonly stores: Stores;
  readonly reconcilers: ReadonlyMap<QueueName, Reconciler>;
  readonly keyResolver: World["keyResolver"];
  readonly clientOf: (queue: QueueName, clients: Readonly<Record<Place, Client>>) => Client;
}

/** Of all processes: digests are compared between them. */
export const digestOf = createDataDigest();

/** The controller of the central cluster, over the views of its kinds. */
export function controllerProcess(viewOf: (kind: number) => View): Process {
  const arrivalOf = (selection: ListOptions): Arrival => ({
    ...{ place: "central", selection, read: (sent) => sent },
  });
  return {
    ...watchedBy(centralKinds, { viewOf, arrivalOf }),
    clientOf: (_, { central }) => central,
  };
}

/** The agent of the connected cluster, which has what it needs to work. */
export function agentProcess(viewOf: (kind: number) => View): Process {
  const cluster = connectedCluster;
  const clock = new TestClock();
  const outbox = new Arriving((inner) => outboxListWatch(inner, { cluster, onExcess: () => {} }));
  const own = new Arriving((inner) => swappedListWatch(inner, cluster));
  const watched = agentKinds({
    central: {
      ...{ clock, yielder: new Yielder(clock), log: recordingLog(), random: () => 0 },
      listWatch: outbox.listWatch,
    },
    ...{ outbox: outboxNamespace(cluster), writes: () => ({ kind: "all" }) },
    problem: () => undefined,
  });
  return {
    ...watchedBy(watched, {
      viewOf,
      arrivalOf: (selection, isRemote) =>
        isRemote
          ? { place: "central", ...outbox.of(selection) }
          : { place: "connected", ...own.of(selection) },
    }),
    clientOf: (queue, { central, connected }) =>
      queue === "clusterReport"
        ? central
        : translatedClient({ local: connected, central, cluster }),
  };
}

interface Source {
  readonly viewOf: (kind: number) => View;
  readonly arrivalOf: (selection: ListOptions, isRemote: boolean) => Arrival;
}

function watchedBy(
  watched: Pick<Watched, "kinds" | "reconcilers">,
  { viewOf, arrivalOf }: Source,
): Omit<Process, "clientOf"> {
  const kinds: (ViewedKind & Arrival & { readonly store: unknown })[] = [];
  const reconcilers = new Map(watched.reconcilers.map((each) => [each.queue, each]));
  const all = watched.kinds(
    { ...controllerOptions, digestOf, stores: () => stores },
    (kind, from) => {
      const [at, { storeOf, kind: viewed }] = [kinds.length, viewedKind(kind)];
      const store = facadeOf(() => storeOf(viewOf(at)));
      kinds.push({ ...viewed, ...arrivalOf(kind.listOptions, from !== undefined), store });
      if (kind.reconciler !== undefined) reconcilers.set(kind.reconciler.queue, kind.reconciler);
      return store;
    },
  );
  const stores: Stores = { ...all, requesterPolicies: policyStores };
  const names = new Map<unknown, string>(Object.entries(all).map(([name, store]) => [store, name]));
  return {
    ...{ stores, reconcilers },
    kinds: kinds.map(({ store, ...kind }) => ({ ...kind, name: names.get(store) ?? "" })),
    keyResolver: createKeyResolver({
      ...{ keys: stores.keys, policies: policyStores, config: controllerOptions },
    }),
  };
}

/** What a ListWatch of src asks an API server for, and what it makes of the answers. */
class Arriving {
  readonly listWatch: ListWatch;
  #asked: { selection: ListOptions; take: (events: readonly WatchEvent[]) => void } | undefined;

  constructor(translated: (inner: ListWatch) => ListWatch) {
    const unused = async (): Promise<never> => {
      throw new Error("only watches are translated");
    };
    this.listWatch = translated({
      ...{ list: unused, version: unused, get: unused },
      watch: async (selection, _, take) => void (this.#asked = { selection, take }),
    });
  }

  of(listOptions: ListOptions): Omit<Arrival, "place"> {
    const arrived: WatchEvent[] = [];
    const start = { resourceVersion: "", timeoutSeconds: 0, openMs: 0, onOpen: () => {} };
    const from = { ...start, signal: AbortSignal.abort() };
    void this.listWatch.watch(listOptions, from, (events) => arrived.push(...events));
    const asked = this.#asked;
    if (asked === undefined) throw new Error("nothing is watched");
    const known = new WeakMap<Raw, { readonly object: Raw | undefined }>();
    return {
      selection: asked.selection,
      read(sent) {
        const former = known.get(sent);
        if (former !== undefined) return former.object;
        asked.take([{ type: "MODIFIED", object: sent }]);
        const event = arrived.pop();
        const isRead = event?.type === "MODIFIED" && isRaw(event.object);
        const object = isRead && isRaw(event.object) ? event.object : undefined;
        known.set(sent, { object });
        return object;
      },
    };
  }
}

/** The event of a committed change, as a process reads it; undefined if there is none. */
export function arrivingEvent({ selection, read }: Arrival, change: Change): Event | undefined {
  const event = eventOf(selection, change);
  const object = event && read(event.object);
  return event && object && { ...event, object };
}

/** The objects in a list, as a process reads them. */
export function arrivingList(
  { selection, read }: Arrival,
  objects: ReadonlyMap<string, Raw>,
): readonly Raw[] {
  return listed(selection, objects).flatMap((object) => read(object) ?? []);
}

/** The policies that make the requester of an object trusted, older than every object. */
const policyStores: Stores["requesterPolicies"] = {
  annotating: [[storeOfPolicy()]],
  guarding: [storeOfPolicy()],
};

function storeOfPolicy(): Store<Metadata> {
  const store = new Store<Metadata>();
  const raw = {
    metadata: {
      name: "policy",
      uid: "policy",
      resourceVersion: "1",
      creationTimestamp: "2025-01-01T00:00:00Z",
    },
  };
  store.set("policy", { uid: "policy", resourceVersion: "1", value: parseMetadata(raw) });
  return store;
}
