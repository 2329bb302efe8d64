import { createKeyResolver } from "../../src/authn/key-resolver.ts";
import { type Resource, resources } from "../../src/api/resources.ts";
import type { Metadata, ObjectRef } from "../../src/api/object.ts";
import { parseMetadata } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import {
  type ReconcileContext,
  beginAttempt,
  type Outcome,
  settle,
} from "../../src/controllers/reconcile.ts";
import { Enqueuer } from "../../src/controllers/enqueuer.ts";
import { watchKinds } from "../../src/controllers/kinds/kinds.ts";
import { newMemory } from "../../src/controllers/memory.ts";
import { isQuestion, type Request } from "../../src/controllers/question.ts";
import { createQueues, type KeyQueue, type QueueName } from "../../src/controllers/queues.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { send } from "../../src/controllers/send.ts";
import { SourceData } from "../../src/controllers/source-data.ts";
import type { Stores } from "../../src/controllers/stores.ts";
import type { World } from "../../src/controllers/world.ts";
import type { Plan } from "../../src/domain/plan/plan.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { dueKeys, emptyQueue, takeKey, wakeKey } from "../../src/kube/queue/queue-state.ts";
import { Store } from "../../src/kube/informer/store.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";
import { controllerOptions } from "../support/controller-options.ts";
import { wordsOf } from "./canonical.ts";
import { agentActions, agentStep } from "./cluster-agent.ts";
import { type Broken, clientOf, isBroken } from "./client.ts";
import {
  type Basis,
  copyOfAttempt,
  copyOfLeader,
  endRunning,
  facadeOf,
  keyQueueOf,
  type Leader,
  nextKeys,
  nextTime,
  type Running,
} from "./leader.ts";
import { isRaw, nameOf, type Raw } from "./raw.ts";
import {
  type Call,
  type Handled,
  handle,
  namespaceStep,
  quotaStep,
  restored,
  type Outcome as Reply,
  type Server,
  serverOf,
  userDelete,
  userWrite,
} from "./server.ts";
import {
  deliver,
  emptyView,
  type Event,
  eventOf,
  isEcho,
  isSelected,
  isStored,
  listed,
  observe,
  observeDelete,
  refresh,
  relist,
  type View,
  type ViewedKind,
  viewedKind,
  type Viewing,
} from "./view.ts";
import type { SearchWorld } from "./world.ts";

/** A watch: what its informer knows, and the events that are still to arrive. */
export interface Stream {
  readonly view: View;
  readonly pending: readonly Event[];
  /** Whether etcd was restored since the last list: the watch receives nothing. */
  readonly isStale: boolean;
}

/** A controller process. */
export interface Instance {
  readonly streams: readonly Stream[];
  readonly leader?: Leader | undefined;
}

/** A write without a reader of its answer, which may still be committed. */
export interface LateWrite {
  readonly call: Call;
  readonly basis: Basis;
  /** The ids of the objects that the same reconcile has written before. */
  readonly own: readonly string[];
}

/** A state of the machine, as an immutable value. */
export interface State {
  readonly server: Server;
  readonly instances: readonly Instance[];
  readonly late: readonly LateWrite[];
  /** The actions of the menu that are left, and how many of them users may take. */
  readonly menu: readonly string[];
  readonly userActions: number;
  readonly faults: number;
}

/** A committed write of a controller. */
export interface Committed extends LateWrite {
  readonly before: Server;
  readonly after: Server;
  /** Whether the write has changed anything. */
  readonly isChange: boolean;
  /** Whether another leader may have written since it was sent. */
  readonly isLate: boolean;
}

/** A write of a plan, as JSON; without dry runs and Events. */
export interface PlannedWrite {
  readonly verb: "create" | "replace" | "patch" | "delete";
  readonly plural: string;
  readonly key: string;
  /** The object that is sent, or the patch. */
  readonly object: Raw | undefined;
}

/** What must hold at every write. */
export interface Judge {
  readonly planned: (
    writes: readonly PlannedWrite[],
    basis: Basis,
    live: Server,
  ) => readonly string[];
  readonly committed: (committed: Committed) => readonly string[];
}

/** A state after an action, and what was wrong with the action. */
export interface Step {
  readonly state: State;
  readonly violations: readonly string[];
}

/** The time at which every search begins, in milliseconds since the epoch. */
export const beginning = Date.UTC(2026, 0, 1);

const workersOfQueue = 2;
const mostLate = 2;
/** Longer than every wait but those for the end of a lifetime, in milliseconds. */
const longestWork = 31_000;
/** A state that changes during one action. */
interface Draft {
  server: Server;
  late: readonly LateWrite[];
  instances: { streams: Stream[]; leader: Leader | undefined }[];
  violations: string[];
}

/** What decides, at which step a reduction of the search is left out. */
export interface MachineOptions {
  /** Events of own writes are delivered at once; see `isEcho`. */
  readonly deliversEchoes: boolean;
  /** Time passes only while no key waits and no request is in flight. */
  readonly isTimeQuiet: boolean;
}

const reduced: MachineOptions = { deliversEchoes: true, isTimeQuiet: true };

/**
 * The controller of src over a server that is a value: its kinds, reconcilers and enqueuer, with
 * streams that deliver late and requests that are answered in any order.
 */
export class Machine {
  readonly world: SearchWorld;
  readonly #judge: Judge;
  readonly #options: MachineOptions;
  readonly #kinds: readonly ViewedKind[];
  readonly #names: readonly string[];
  readonly #stores: Stores;
  readonly #reconcilers: ReadonlyMap<QueueName, Reconciler>;
  readonly #digestOf = createDataDigest();
  readonly #keyResolver: World["keyResolver"];
  /** What a restore of etcd returns to. */
  #backup = serverOf(beginning, []);
  #draft: Draft = { server: serverOf(0, []), late: [], instances: [], violations: [] };
  /** The instance whose stores decisions read. */
  #at = 0;
  #made: World | undefined;

  constructor(world: SearchWorld, judge: Judge, options: MachineOptions = reduced) {
    [this.world, this.#judge, this.#options] = [world, judge, options];
    const kinds: ViewedKind[] = [];
    const facades: unknown[] = [];
    const reconcilers = new Map<QueueName, Reconciler>();
    const watched = watchKinds(
      { ...controllerOptions, digestOf: this.#digestOf, stores: () => this.#stores },
      (kind) => {
        const [at, { storeOf, kind: viewed }] = [kinds.length, viewedKind(kind)];
        const store = facadeOf(() => storeOf(this.#streams()[at]?.view ?? emptyView));
        kinds.push(viewed);
        facades.push(store);
        if (kind.reconciler !== undefined) reconcilers.set(kind.reconciler.queue, kind.reconciler);
        return store;
      },
    );
    this.#stores = { ...watched, requesterPolicies: policyStores };
    [this.#kinds, this.#reconcilers] = [kinds, reconcilers];
    const names = new Map<unknown, string>(
      Object.entries(watched).map(([name, store]) => [store, name]),
    );
    this.#names = facades.map((store) => names.get(store) ?? "");
    const { keys } = this.#stores;
    this.#keyResolver = createKeyResolver({
      keys,
      policies: policyStores,
      config: controllerOptions,
    });
  }

  /** The state in which the search begins. */
  async begin(): Promise<State> {
    const { objects, menu, userActions, mostFaults, begins, faults, hasLifetimes } = this.world;
    const led = await this.led(serverOf(beginning, objects), faults.includes("failover") ? 2 : 1);
    const state = { ...led, menu: Object.keys(menu), userActions, faults: mostFaults };
    const begin =
      begins === "at rest" ? (await this.rest(state, { stopsCalm: hasLifetimes })).state : state;
    this.#backup = begin.server;
    return begin;
  }

  /** A state in which a new leader with fresh caches begins, without users and faults. */
  async led(server: Server, processes = 1): Promise<State> {
    const streams = this.#kinds.map(() => ({ view: emptyView, pending: [], isStale: false }));
    const instances = Array.from({ length: processes }, () => ({
      streams: [...streams],
      leader: undefined,
    }));
    this.#draft = { server, late: [], instances, violations: [] };
    instances.forEach((_, at) => this.#relistAll(at));
    await this.#lead(0);
    return this.#ended({ ...this.#draft, menu: [], userActions: 0, faults: 0 }).state;
  }

  /** Takes the first enabled action of the machine itself until there is none: no user, no fault. */
  async rest(
    state: State,
    { mostSteps = 2_000, stopsCalm = false } = {},
  ): Promise<Step & { readonly isAtRest: boolean }> {
    let current: Step = { state, violations: [] };
    for (let steps = 0; steps < mostSteps; steps += 1) {
      const [action] = this.ownActions(current.state);
      if (action === undefined || (stopsCalm && this.isCalm(current.state)))
        return { ...current, isAtRest: true };
      const { state: next, violations } = await this.step(current.state, action);
      current = { state: next, violations: [...current.violations, ...violations] };
    }
    return { ...current, isAtRest: false };
  }

  /** What the machine does without a user and without a fault; time is last. */
  ownActions({ server, instances }: State): readonly string[] {
    const actions: string[] = [];
    let isBusy = false;
    const { hasSlowAnswers = false } = this.world;
    instances.forEach(({ leader }) => {
      for (const { queue: name, attempt } of leader?.running ?? [])
        attempt.slots.forEach(({ isDone }, slot) => {
          if (!isDone) actions.push(`answer ${name} ${attempt.key} ${slot}`);
        });
      for (const [name, keys] of Object.entries(leader?.queues ?? {})) {
        const running = leader?.running.filter((one) => one.queue === name).length ?? 0;
        if (running < workersOfQueue)
          for (const key of nextKeys(keys)) actions.push(`start ${name} ${key}`);
      }
      isBusy = actions.some((action) => !(hasSlowAnswers && action.startsWith("answer ")));
    });
    instances.forEach(({ streams }, at) =>
      streams.forEach(({ pending, isStale }, kind) => {
        if (pending.length > 0) actions.push(`deliver ${at} ${this.#names[kind]}`);
        if (isStale) actions.push(`relist ${at} ${this.#names[kind]}`);
      }),
    );
    for (const id of server.objects.keys())
      if (backgroundStep(server, id) !== undefined) actions.push(`background ${id}`);
    actions.push(...agentActions(server));
    if (
      !(this.#options.isTimeQuiet && isBusy) &&
      instances.some(({ leader }) => leader !== undefined && nextTime(leader) !== undefined)
    )
      actions.push("time");
    return actions;
  }

  /** Everything that can happen in a state. */
  actions(state: State): readonly string[] {
    const { menu, userActions, faults, late, instances } = state;
    const own = this.ownActions(state);
    const users = userActions > 0 ? menu.map((name) => `user ${name}`) : [];
    const lateWrites = late.map((_, at) => `late ${at}`);
    const allowed = faults > 0 ? this.world.faults : [];
    const answers = own.filter((action) => action.startsWith("answer "));
    const streams = instances.flatMap(({ streams: all }, at) =>
      all.flatMap(({ pending }, kind) =>
        pending.length > 0 ? [`relist ${at} ${this.#names[kind]}`] : [],
      ),
    );
    const broken = allowed.flatMap((fault) => {
      if (fault === "relist") return streams;
      if (fault === "crash") return ["crash"];
      if (fault === "failover") return instances.length > 1 ? ["failover"] : [];
      return answers.map((action) => `${fault} ${action.slice("answer ".length)}`);
    });
    return [...own, ...users, ...lateWrites, ...broken];
  }

  /** Whether nothing happens for so long that only the end of a lifetime is awaited. */
  isCalm(state: State): boolean {
    const { now } = state.server;
    const next = state.instances.map(({ leader }) => (leader && nextTime(leader)) ?? Infinity);
    return this.ownActions(state).join() === "time" && Math.min(...next) > now + longestWork;
  }

  /** Takes an action, which must be enabled. */
  async step(state: State, action: string): Promise<Step> {
    const { server, late, instances } = state;
    this.#draft = {
      server,
      late,
      instances: instances.map((one) => this.#draftOf(one, action)),
      violations: [],
    };
    const [what = "", ...words] = action.split(" ");
    const [first = "", second = "", third = ""] = words;
    let { menu, userActions, faults } = state;
    switch (what) {
      case "user":
        [menu, userActions] = [menu.filter((name) => name !== words.join(" ")), userActions - 1];
        this.#user(words.join(" "));
        break;
      case "deliver":
        this.#deliver(Number(first), this.#names.indexOf(second));
        break;
      case "relist": {
        const kind = this.#names.indexOf(second);
        if (!this.#draft.instances[Number(first)]?.streams[kind]?.isStale) faults -= 1;
        this.#relist(Number(first), kind);
        break;
      }
      case "start":
        await this.#start(queueNamed(first), second);
        break;
      case "answer":
        await this.#answer(queueNamed(first), second, { slot: Number(third) });
        break;
      case "late":
        this.#late(Number(first));
        break;
      case "background":
        this.#commit(backgroundStep(server, first));
        break;
      case "agent":
        this.#commit(agentStep(server, first, second));
        break;
      case "time":
        this.#pass();
        break;
      case "crash":
      case "failover":
        faults -= 1;
        await this.#replaceLeader(what);
        break;
      default:
        if (!isBroken(what)) throw new Error(`unknown action ${action}`);
        faults -= 1;
        await this.#answer(queueNamed(first), second, { slot: Number(third), broken: what });
    }
    if (this.#options.deliversEchoes) this.#deliverEchoes();
    return this.#ended({ ...state, menu, userActions, faults });
  }

  /** What other controllers and users do does not change a leader. */
  #draftOf({ streams, leader }: Instance, action: string): Draft["instances"][number] {
    const isOfOthers = /^(?:user|late|background|agent) /.test(action);
    const copy = leader && !isOfOthers ? copyOfLeader(leader, this.world.queues) : leader;
    return { streams: [...streams], leader: copy };
  }

  #ended(state: State): Step {
    const { server, late, instances, violations } = this.#draft;
    return { state: { ...state, server, late, instances }, violations };
  }

  #streams(): readonly Stream[] {
    return this.#draft.instances[this.#at]?.streams ?? [];
  }

  #user(name: string): void {
    const { server } = this.#draft;
    const action = this.world.menu[name];
    if (action === undefined) throw new Error(`${name} is not on the menu`);
    if (action.do === "restore") return this.#restore();
    if (action.do === "delete") return this.#commit(userDelete(server, action.plural, action.ref));
    const exists = server.objects.has(`${action.plural}/${nameOf(action.object.metadata)}`);
    if (exists || action.do === "apply")
      this.#commit(userWrite(server, action.plural, action.object));
  }

  /**
   * Restores the etcd of the begin: watches receive nothing until they list again. The lists that
   * agree with their view come first: they change nothing, and an event that follows is as late as
   * the other lists.
   */
  #restore(): void {
    const { server, instances } = this.#draft;
    this.#draft.server = restored(server, this.#backup);
    const { objects } = this.#draft.server;
    for (const instance of instances) {
      if (instance.leader !== undefined)
        instance.leader = { ...instance.leader, ownDeletes: new Set() };
      instance.streams = instance.streams.map(({ view }, kind) => {
        const options = this.#kinds[kind]?.listOptions;
        const objectsNow = options === undefined ? [] : listed(options, objects);
        const isSame =
          objectsNow.length === view.entries.size && objectsNow.every((one) => isStored(view, one));
        return { view, pending: [], isStale: !isSame };
      });
    }
  }

  /** Makes a change of the server, and its events. */
  #commit(handled: Handled | undefined): void {
    if (handled?.change === undefined) return;
    const { change } = handled;
    this.#draft.server = handled.server;
    for (const instance of this.#draft.instances)
      instance.streams = instance.streams.map((stream, kind) => {
        const options = this.#kinds[kind]?.listOptions;
        if (stream.isStale || options?.resource.plural !== change.plural) return stream;
        const event = eventOf(options, change);
        return event === undefined ? stream : { ...stream, pending: [...stream.pending, event] };
      });
  }

  #viewing(at: number, kind: number): Viewing {
    const instance = this.#draft.instances[at];
    const [viewed, stream] = [this.#kinds[kind], instance?.streams[kind]];
    if (instance === undefined || viewed === undefined || stream === undefined)
      throw new Error(`no stream ${at} ${kind}`);
    const streams = instance.streams;
    this.#at = at;
    return {
      kind: viewed,
      get view() {
        return streams[kind]?.view ?? emptyView;
      },
      set view(view) {
        streams[kind] = { ...stream, ...streams[kind], view };
      },
      changed: (change) => {
        if (instance.leader !== undefined)
          viewed.enqueue(change, this.#worldOf(instance.leader).enqueuer);
      },
    };
  }

  #deliver(at: number, kind: number): void {
    const viewing = this.#viewing(at, kind);
    const { streams } = this.#draft.instances[at] ?? { streams: [] };
    const stream = streams[kind];
    const [event, ...pending] = stream?.pending ?? [];
    if (stream === undefined || event === undefined) throw new Error("no event is pending");
    streams[kind] = { ...stream, pending };
    deliver(viewing, event);
  }

  /**
   * Delivers the events that tell a view nothing. No other action reads whether such an event is
   * pending, but the relist that drops it, so its delivery commutes with every action.
   */
  #deliverEchoes(): void {
    this.#draft.instances.forEach(({ streams }, at) =>
      streams.forEach((_, kind) => {
        for (;;) {
          const stream = streams[kind];
          const [event] = stream?.pending ?? [];
          if (stream === undefined || event === undefined || !isEcho(stream.view, event)) return;
          this.#deliver(at, kind);
        }
      }),
    );
  }

  #relist(at: number, kind: number): void {
    const viewing = this.#viewing(at, kind);
    const { streams } = this.#draft.instances[at] ?? { streams: [] };
    const { objects, version } = this.#draft.server;
    const { view } = viewing;
    streams[kind] = { view, pending: [], isStale: false };
    relist(viewing, listed(viewing.kind.listOptions, objects), version);
  }

  /** Lists every kind; those that read others are listed after them. */
  #relistAll(at: number): void {
    for (const isLast of [false, true])
      this.#kinds.forEach((viewed, kind) => {
        if (viewed.isLast === isLast) this.#relist(at, kind);
      });
  }

  async #lead(at: number): Promise<void> {
    const instance = this.#draft.instances[at];
    if (instance === undefined) throw new Error(`no instance ${at}`);
    this.#at = at;
    const queues = createQueues(emptyQueue);
    const ownDeletes = new Set<string>();
    instance.leader = { memory: newMemory(controllerOptions), queues, running: [], ownDeletes };
    const { enqueuer } = this.#worldOf(instance.leader);
    for (const kind of this.#kinds) await kind.enqueueAll(enqueuer);
  }

  /** Ends the leader, whose writes in flight may still be committed; another one leads. */
  async #replaceLeader(how: "crash" | "failover"): Promise<void> {
    const [first, standby] = this.#draft.instances;
    const running = first?.leader?.running ?? [];
    for (const { attempt, basis } of running)
      for (const { request, isDone } of attempt.slots)
        if (!isDone && !isQuestion(request))
          await this.#outcomeOf(request, { basis, own: [] }, "lose-request");
    if (first === undefined) return;
    first.leader = undefined;
    if (how === "failover" && standby !== undefined) this.#draft.instances = [standby];
    else this.#relistAll(0);
    await this.#lead(0);
  }

  #late(at: number): void {
    const write = this.#draft.late[at];
    this.#draft.late = this.#draft.late.filter((one) => one !== write);
    if (write !== undefined) this.#send(write, "late");
  }

  /** Sends a write, and judges it. */
  #send({ call, ...sent }: LateWrite, how: "answered" | "lost" | "late"): Reply {
    const before = this.#draft.server;
    const handled = handle(before, call);
    this.#commit(handled);
    const isWrite = !call.verb.startsWith("get") && !(call.verb === "create" && call.isDryRun);
    if (isWrite && "answer" in handled.outcome) {
      const { change } = handled;
      const isChange = change !== undefined;
      const leader = this.#draft.instances[this.#at]?.leader;
      if (how === "answered" && change?.before !== undefined && change.after === undefined)
        leader?.ownDeletes.add(change.before.metadata.uid);
      const after = this.#draft.server;
      this.#draft.violations.push(
        ...this.#judge.committed({
          call,
          ...sent,
          before,
          after,
          isChange,
          isLate: how === "late",
        }),
      );
    }
    return handled.outcome;
  }

  #leader(): Leader {
    const at = this.#draft.instances.findIndex(({ leader }) => leader !== undefined);
    const leader = this.#draft.instances[at]?.leader;
    if (leader === undefined) throw new Error("no leader");
    this.#at = at;
    return leader;
  }

  /** What the leader has seen now, without what it has deleted itself. */
  #basis(): Basis {
    const streams = [...this.#streams()];
    const ownDeletes = new Set(this.#leader().ownDeletes);
    return (kind) => {
      const entries = streams[this.#names.indexOf(kind)]?.view.entries ?? new Map();
      return [...entries.values()].flatMap(({ raw, uid }) => (ownDeletes.has(uid) ? [] : [raw]));
    };
  }

  async #start(name: QueueName, key: string): Promise<void> {
    takeKey(this.#leader().queues[name], key, this.#draft.server.now);
    const attempt = beginAttempt(key, this.#contextOf(name));
    await this.#advance({ queue: name, attempt, basis: this.#basis() });
  }

  async #answer(
    name: QueueName,
    key: string,
    { slot: at, broken }: { readonly slot: number; readonly broken?: Broken },
  ): Promise<void> {
    const leader = this.#leader();
    const former = leader.running.find((one) => one.queue === name && one.attempt.key === key);
    const slot = former?.attempt.slots[at];
    if (former === undefined || slot === undefined) throw new Error(`${key} has no request ${at}`);
    this.#setRunning(leader.running.filter((one) => one !== former));
    const attempt = copyOfAttempt(former.attempt);
    await this.#settle(
      { ...former, attempt },
      attempt.slots.indexOf(attempt.slots[at] ?? slot),
      broken,
    );
    await this.#advance({ ...former, attempt }, former.attempt.plan);
  }

  async #settle({ attempt, queue, basis }: Running, at: number, broken?: Broken): Promise<void> {
    const slot = attempt.slots[at];
    if (slot === undefined) throw new Error(`${attempt.key} has no request ${at}`);
    const sent = { basis, own: [...attempt.written.keys()] };
    const outcome = await this.#outcomeOf(slot.request, sent, broken);
    settle(attempt, slot, outcome, this.#contextOf(queue));
  }

  /** Goes on with a reconcile until it waits for the API server, or has ended. */
  async #advance(running: Running, former?: Plan): Promise<void> {
    const { attempt } = running;
    let { basis } = running;
    let plan = former;
    for (;;) {
      if (attempt.plan !== plan && attempt.phase !== "asking") {
        [plan, basis] = [attempt.plan, this.#basis()];
        this.#draft.violations.push(
          ...this.#judge.planned(writesOf(plan), basis, this.#draft.server),
        );
      }
      if (attempt.end !== undefined) return this.#end(running);
      const local = attempt.slots.findIndex(({ isDone, request }) => !isDone && isLocal(request));
      if (local === -1) break;
      await this.#settle({ ...running, basis }, local);
    }
    this.#setRunning([...this.#leader().running, { ...running, basis }]);
  }

  #end({ attempt, queue }: Running): void {
    const bug = endRunning(attempt, this.#leader().queues[queue], this.#draft.server.now);
    if (bug !== undefined) this.#draft.violations.push(`a reconcile ends with ${wordsOf(bug)}`);
  }

  #setRunning(running: readonly Running[]): void {
    const instance = this.#draft.instances[this.#at];
    if (instance?.leader !== undefined) instance.leader = { ...instance.leader, running };
  }

  /** Sends a request as src does; a signature is made up, because real ones differ. */
  async #outcomeOf(
    request: Request,
    sent: Omit<LateWrite, "call">,
    broken?: Broken,
  ): Promise<Outcome> {
    if (request.do === "sign") {
      const [keys] = this.#stores.signingKeys.values();
      const token = new SecretText(`signed ${JSON.stringify(request.claims)}`);
      return { answer: { do: "sign", minted: keys && { token, kid: keys.signing.kid } } };
    }
    const client = clientOf(
      {
        send: (call) => this.#send({ call, ...sent }, broken === undefined ? "answered" : "lost"),
        late: (call) => {
          this.#draft.late = [...this.#draft.late, { call, ...sent }].slice(-mostLate);
        },
        server: () => this.#draft.server,
      },
      broken,
    );
    const { world } = this.#contextOf("copy");
    return send(request, {
      ...{ client, world, sourceData: new SourceData({ client, digestOf: this.#digestOf }) },
      forEach: world.enqueuer.yielder.forEach.bind(world.enqueuer.yielder),
      recordEvent: async () => {},
      refresh: async (resource, ref) =>
        broken === undefined ? this.#refresh({ resource, ref }) : undefined,
    });
  }

  #contextOf(name: QueueName): ReconcileContext {
    const reconciler = this.#reconcilers.get(name);
    if (reconciler === undefined) throw new Error(`${name} has no reconciler`);
    return { reconciler, world: this.#worldOf(this.#leader()) };
  }

  /** The world of a leader, which is made once for each action. */
  #worldOf(leader: Leader): World {
    const { now } = this.#draft.server;
    const made = this.#made;
    if (made?.memory === leader.memory && made.clock.now() === now) return made;
    const world = this.#newWorld(leader);
    this.#made = world;
    return world;
  }

  #newWorld({ memory, queues }: Leader): World {
    const { now } = this.#draft.server;
    const clock = { now: () => now, monotonic: () => now };
    const ignored: KeyQueue = { add: () => {}, addAt: () => {}, retry: () => {}, depth: 0 };
    const queueOf = (name: QueueName): KeyQueue =>
      this.world.queues.includes(name) ? keyQueueOf(queues[name], now) : ignored;
    const state = { queues: createQueues(queueOf), stores: this.#stores, memory, clock };
    return {
      ...{ ...state, options: controllerOptions },
      enqueuer: new Enqueuer(state, new Yielder(clock)),
      keyResolver: this.#keyResolver,
      log: { info: () => {}, warn: () => {} },
      keysAsOf: () => now,
      has: ({ resource, ref }) =>
        this.#kinds.some(
          ({ listOptions }, kind) =>
            listOptions.resource === resource &&
            this.#streams()[kind]?.view.entries.has(nameOf(ref)) === true,
        ),
      recordWrite: (resource, answer) => {
        if (!isRaw(answer)) return;
        this.#kinds.forEach(({ listOptions, isReadOnly }, kind) => {
          if (isReadOnly || listOptions.resource !== resource) return;
          const viewing = this.#viewing(this.#at, kind);
          const isSeen = viewing.view.entries.has(nameOf(answer.metadata));
          if (isSeen || isSelected(listOptions, answer)) observe(viewing, answer);
        });
      },
      recordDelete: (resource, ref, uid) =>
        this.#kinds.forEach(({ listOptions, isReadOnly }, kind) => {
          if (!isReadOnly && listOptions.resource === resource)
            observeDelete(this.#viewing(this.#at, kind), nameOf(ref), uid);
        }),
    };
  }

  /** Reads an object into the views that may contain it, as the informers of src do. */
  #refresh({ resource, ref }: { readonly resource: Resource; readonly ref: ObjectRef }): void {
    const key = nameOf(ref);
    const has = (name: string): boolean =>
      this.#streams()[this.#names.indexOf(name)]?.view.entries.has(key) === true;
    const read = (kind: number): void =>
      refresh(
        this.#viewing(this.#at, kind),
        key,
        this.#draft.server.objects.get(`${resource.plural}/${key}`),
      );
    if (resource !== resources.secrets) {
      const kind = this.#kinds.findIndex(
        ({ listOptions, isReadOnly }) => !isReadOnly && listOptions.resource === resource,
      );
      return read(kind);
    }
    read(this.#names.indexOf("unmanagedSecrets"));
    if (!has("copies") && has("unmanagedSecrets")) return;
    read(this.#names.indexOf("copies"));
    if (!has("copies")) read(this.#names.indexOf("placeholders"));
  }

  /** Lets time pass until the next scheduled key. */
  #pass(): void {
    const next = nextTime(this.#leader());
    const now = Math.max(this.#draft.server.now, Math.ceil(next ?? 0));
    this.#draft.server = { ...this.#draft.server, now };
    for (const state of Object.values(this.#leader().queues))
      for (const times of ["instants", "retries"] as const)
        for (const key of dueKeys(state[times], now)) wakeKey(state, times, key, now);
  }
}

/** Requests that no API server answers. Events are sent, but nobody reads them. */
function isLocal(request: Request): boolean {
  return request.do === "count-targets" || request.do === "sign" || request.do === "record-event";
}

function writesOf({ steps }: Plan): readonly PlannedWrite[] {
  return steps.flat().flatMap((write) => {
    if (write.do === "record-event" || write.do === "dry-run-create") return [];
    const key = nameOf("ref" in write ? write.ref : write.object.metadata);
    const sent = write.do === "patch" ? write.body : "object" in write ? write.object : {};
    const object: unknown = JSON.parse(encodeBody(sent));
    const raw = isRaw(object) ? object : undefined;
    return [{ verb: write.do, plural: write.resource.plural, key, object: raw }];
  });
}

/** The next change by another controller of the cluster. */
function backgroundStep(server: Server, id: string): Handled | undefined {
  return namespaceStep(server, id) ?? quotaStep(server, id);
}

function queueNamed(name: string): QueueName {
  const [found] = queueNames.filter((one) => one === name);
  if (found === undefined) throw new Error(`no queue ${name}`);
  return found;
}

const queueNames = Object.values(createQueues((name) => name));

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
