import { centralProgram } from "../../src/controllers/central-program.ts";
import { agentProgram } from "../../src/controllers/cluster-agent/agent-controller.ts";
import { agentKinds } from "../../src/controllers/cluster-agent/agent-kinds.ts";
import { translatedClient } from "../../src/controllers/cluster-agent/translated-client.ts";
import {
  outboxListWatch,
  swappedListWatch,
} from "../../src/controllers/cluster-agent/translated-list-watch.ts";
import type { NewLeader, Program } from "../../src/controllers/controller.ts";
import type { Watched } from "../../src/controllers/kinds/watched-kind.ts";
import type { LeaderMemory } from "../../src/controllers/memory.ts";
import type { Answers, ReconcileDecision } from "../../src/controllers/question.ts";
import type { QueueName } from "../../src/controllers/queues.ts";
import {
  beginAttempt,
  type Outcome,
  type ReconcileAttempt,
  type ReconcileContext,
  settle,
} from "../../src/controllers/reconcile.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import type { AnswerOther } from "../../src/controllers/send.ts";
import type { SyncWorld } from "../../src/controllers/sync-world.ts";
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
import {
  type Event,
  eventOf,
  listed,
  type SeenChange,
  type View,
  type ViewedKind,
  viewedKind,
} from "./view.ts";

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
interface StreamedKind extends Omit<ViewedKind, "enqueue" | "enqueueAll">, Arrival {
  readonly name: string;
}

/** A leader while it acts: its world, and what is decided in it. */
export interface Acting {
  readonly world: SyncWorld;
  readonly begin: (queue: QueueName, key: string) => ReconcileAttempt;
  readonly settle: (queue: QueueName, ...settled: Settled) => void;
  readonly decide: (queue: QueueName, key: string, answers: Answers) => ReconcileDecision;
  readonly enqueue: (kind: number, change: SeenChange) => void;
  readonly enqueueAll: () => Promise<void>;
  readonly answerOther: AnswerOther | undefined;
}

type Settled = [ReconcileAttempt, ReconcileAttempt["slots"][number], Outcome];

/** What a world is made of besides the stores; the memory may be that of either process. */
type WorldParts = Omit<NewLeader<SyncWorld>, "stores"> & { readonly memory: LeaderMemory };

/** A process of src: what it watches, and what it reconciles. */
export interface Process {
  readonly kinds: readonly StreamedKind[];
  readonly actingIn: (parts: WorldParts) => Acting;
  /** The signing key in its stores. */
  readonly signingKid: () => string | undefined;
  readonly clientOf: (queue: QueueName, clients: Readonly<Record<Place, Client>>) => Client;
}

/** Of all processes: digests are compared between them. */
export const digestOf = createDataDigest();

/** The controller of the central cluster, over the views of its kinds. */
export function controllerProcess(viewOf: (kind: number) => View): Process {
  const arrivalOf = (selection: ListOptions): Arrival => ({
    place: "central",
    selection,
    read: (sent) => sent,
  });
  const program = centralProgram(controllerOptions, new TestClock());
  const watched = watchedBy(program.watched, { viewOf, arrivalOf });
  const { kinds, stores } = watched;
  return {
    kinds,
    actingIn: (parts) => actingOf(program, watched, { ...parts, stores }),
    signingKid: () => [...stores.signingKeys.values()][0]?.signing.kid,
    clientOf: (_, { central }) => central,
  };
}

/** The agent of the connected cluster, which has what it needs to work. */
export function agentProcess(viewOf: (kind: number) => View): Process {
  const cluster = connectedCluster;
  const clock = new TestClock();
  const outbox = new Arriving((inner) => outboxListWatch(inner, { cluster, onExcess: () => {} }));
  const own = new Arriving((inner) => swappedListWatch(inner, cluster));
  const kinds = agentKinds({
    central: {
      clock,
      yielder: new Yielder(clock),
      log: recordingLog(),
      random: () => 0,
      listWatch: outbox.listWatch,
    },
    outbox: outboxNamespace(cluster),
    writes: () => ({ kind: "all" }),
    problem: () => undefined,
  });
  const program = agentProgram(controllerOptions, kinds);
  const watched = watchedBy(program.watched, {
    viewOf,
    arrivalOf: (selection, isRemote) =>
      isRemote
        ? { place: "central", ...outbox.of(selection) }
        : { place: "connected", ...own.of(selection) },
  });
  return {
    kinds: watched.kinds,
    actingIn: (parts) => actingOf(program, watched, { ...parts, stores: watched.stores }),
    signingKid: () => undefined,
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

/** What a process watches, over views. */
interface Viewed<W extends SyncWorld> {
  readonly kinds: readonly (StreamedKind & ViewedKind<W>)[];
  readonly stores: W["stores"];
  readonly reconcilers: ReadonlyMap<QueueName, Reconciler<W>>;
}

function watchedBy<W extends SyncWorld>(
  watched: Watched<W>,
  { viewOf, arrivalOf }: Source,
): Viewed<W> {
  const kinds: (ViewedKind<W> & Arrival & { readonly store: unknown })[] = [];
  const reconcilers = new Map(watched.reconcilers.map((each) => [each.queue, each]));
  const stores: W["stores"] = watched.kinds(
    { ...controllerOptions, digestOf, stores: () => stores },
    (kind, from) => {
      if (kind.mayBeUnserved === true) return storeOfPolicy(kind.parse);
      const [at, { storeOf, kind: viewed }] = [kinds.length, viewedKind(kind)];
      const store = facadeOf(() => storeOf(viewOf(at)));
      kinds.push({ ...viewed, ...arrivalOf(kind.listOptions, from !== undefined), store });
      if (kind.reconciler !== undefined) reconcilers.set(kind.reconciler.queue, kind.reconciler);
      return store;
    },
  );
  const names = new Map<unknown, string>(
    Object.entries(stores).map(([name, store]) => [store, name]),
  );
  return {
    stores,
    reconcilers,
    kinds: kinds.map(({ store, ...kind }) => ({ ...kind, name: names.get(store) ?? "" })),
  };
}

function actingOf<W extends SyncWorld>(
  { worldOf, answersIn }: Program<W>,
  { kinds, reconcilers }: Viewed<W>,
  leader: NewLeader<W>,
): Acting {
  const world = worldOf(leader);
  const contextOf = (queue: QueueName): ReconcileContext<W> => {
    const reconciler = reconcilers.get(queue);
    if (reconciler === undefined) throw new Error(`${queue} has no reconciler`);
    return { reconciler, world };
  };
  return {
    world,
    answerOther: answersIn?.(world),
    begin: (queue, key) => beginAttempt(key, contextOf(queue)),
    settle: (queue, ...settled) => settle(...settled, contextOf(queue)),
    decide: (queue, ...asked) => contextOf(queue).reconciler.decide(asked[0], world, asked[1]),
    enqueue: (kind, change) => kinds[kind]?.enqueue(change, world.enqueuer),
    async enqueueAll() {
      for (const kind of kinds) await kind.enqueueAll(world.enqueuer);
    },
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
      list: unused,
      version: unused,
      get: unused,
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

/** A store with a policy that makes requesters trusted, and is older than every object. */
function storeOfPolicy<T>(parse: (raw: unknown) => T | undefined): Store<T> {
  const store = new Store<T>();
  const raw = {
    metadata: {
      name: "policy",
      uid: "policy",
      resourceVersion: "1",
      creationTimestamp: "2025-01-01T00:00:00Z",
    },
  };
  const value = parse(raw);
  if (value !== undefined) store.set("policy", { uid: "policy", resourceVersion: "1", value });
  return store;
}
