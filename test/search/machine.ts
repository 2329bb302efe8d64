import { type Resource, resources } from "../../src/api/resources.ts";
import type { ObjectRef } from "../../src/api/object.ts";
import { parseMetadata } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { following } from "../../src/controllers/followed-sources.ts";
import { newMemory } from "../../src/controllers/memory.ts";
import {
  type Answer,
  answerTo,
  isQuestion,
  questionKey,
  readOf,
  type Request,
} from "../../src/controllers/question.ts";
import { createQueues, type KeyQueue, type QueueName } from "../../src/controllers/queues.ts";
import type { Outcome, ReconcileAttempt } from "../../src/controllers/reconcile.ts";
import { send } from "../../src/controllers/send.ts";
import { SourceData } from "../../src/controllers/source-data.ts";
import type { SyncWorld } from "../../src/controllers/sync-world.ts";
import type { Plan } from "../../src/domain/plan/plan.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { urgencyOf } from "../../src/controllers/kinds/copy.ts";
import { dueKeys, emptyQueue, takeKey, wakeKey } from "../../src/kube/queue/queue-state.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { controllerOptions } from "../support/controller-options.ts";
import { wordsOf } from "./canonical.ts";
import { agentActions, agentStep } from "./cluster-agent.ts";
import { type Broken, clientOf, isBroken } from "./client.ts";
import {
  type Basis,
  copyOfAttempt,
  copyOfLeader,
  endRunning,
  keyQueueOf,
  type Leader,
  nextKeys,
  nextTime,
  queueNames,
  type Running,
} from "./leader.ts";
import {
  type Acting,
  agentProcess,
  arrivingEvent,
  arrivingList,
  connectedCluster,
  controllerProcess,
  digestOf,
  type Place,
  type Process,
} from "./process.ts";
import { type ReadSecret, sourceWith } from "../specification/followed.ts";
import { isRaw, nameOf, type Raw } from "../specification/raw.ts";
import { hasFilter } from "../specification/stored.ts";
import {
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
  amend,
  deliver,
  emptyView,
  isEcho,
  isSelected,
  isStored,
  observe,
  observeDelete,
  refresh,
  relist,
  type View,
  type Viewing,
} from "./view.ts";
import type {
  Actor,
  Clusters,
  Instance,
  Judge,
  LateWrite,
  PlannedWrite,
  State,
  Step,
  Stream,
} from "./state.ts";
import type { SearchWorld } from "./world.ts";

/** The time at which every search begins, in milliseconds since the epoch. */
export const beginning = Date.UTC(2026, 0, 1);

const workersOfQueue = 2;
const mostLate = 2;
/** Longer than every wait but those for the end of a lifetime, in milliseconds. */
const longestWork = 31_000;
/** A state that changes during one action. */
interface Draft {
  server: Server;
  connected: Server;
  late: readonly LateWrite[];
  instances: { actor: Actor; streams: Stream[]; leader: Leader | undefined }[];
  violations: string[];
}

/** What decides, at which step a reduction of the search is left out. */
export interface MachineOptions {
  /** Events of own writes are delivered at once; see `isEcho`. */
  readonly deliversEchoes: boolean;
  /** Time passes only while no key waits and no request is in flight. */
  readonly isTimeQuiet: boolean;
}

/** How a machine is led to rest. */
interface RestOptions {
  readonly mostSteps?: number;
  readonly stopsCalm?: boolean;
  readonly onStep?: (state: State) => void;
}

const reduced: MachineOptions = { deliversEchoes: true, isTimeQuiet: true };
const empty = serverOf(beginning, []);
const agentQueues: readonly QueueName[] = ["copy", "sharedSecret", "clusterReport"];

/**
 * The controller of src over a server that is a value: its kinds, reconcilers and enqueuer, with
 * streams that deliver late and requests that are answered in any order.
 */
export class Machine {
  readonly world: SearchWorld;
  readonly #judges: Readonly<Record<Actor, Judge>>;
  readonly #options: MachineOptions;
  readonly #processes: Readonly<Record<Actor, Process>>;
  /** What a restore of etcd returns to. */
  #backup = empty;
  #draft: Draft = { server: empty, connected: empty, late: [], instances: [], violations: [] };
  /** The instance whose stores decisions read. */
  #at = 0;
  #made: Acting | undefined;
  /** What decides now. */
  #attempt: ReconcileAttempt | undefined;
  /** What the server had when a Secret was read, by the answer. */
  readonly #reads = new WeakMap<object, ReadSecret>();

  constructor(
    world: SearchWorld,
    judges: Readonly<Record<Actor, Judge>>,
    options: MachineOptions = reduced,
  ) {
    [this.world, this.#judges, this.#options] = [world, judges, options];
    const viewOf = (kind: number): View => this.#streams()[kind]?.view ?? emptyView;
    this.#processes = { controller: controllerProcess(viewOf), agent: agentProcess(viewOf) };
  }

  /** The state in which the search begins. */
  async begin(): Promise<State> {
    const { objects, menu, userActions, mostFaults, begins, faults } = this.world;
    const clusters = {
      server: serverOf(beginning, objects),
      connected: serverOf(beginning, this.world.connected ?? []),
    };
    const led = await this.led(clusters, faults.includes("failover") ? 2 : 1);
    const state = { ...led, menu: Object.keys(menu), userActions, faults: mostFaults };
    const begin =
      begins === "at rest" ? (await this.rest(state, { stopsCalm: true })).state : state;
    this.#backup = begin.server;
    return begin;
  }

  /** A state in which new leaders with fresh caches begin, without users and faults. */
  async led({ server, connected }: Clusters, controllers = 1): Promise<State> {
    const agents = this.world.connected === undefined ? 0 : 1;
    const actors = [
      ...Array.from({ length: controllers }, () => "controller" as const),
      ...Array.from({ length: agents }, () => "agent" as const),
    ];
    const stream = { view: emptyView, pending: [], isStale: false };
    const instances = actors.map((actor) => ({
      actor,
      leader: undefined,
      streams: this.#processes[actor].kinds.map(() => stream),
    }));
    this.#draft = { server, connected, late: [], instances, violations: [] };
    instances.forEach((_, at) => this.#relistAll(at));
    for (const actor of new Set(actors)) await this.#lead(actors.indexOf(actor));
    return this.#ended({ ...this.#draft, menu: [], userActions: 0, faults: 0 }).state;
  }

  /** Takes the first enabled action of the machine itself until there is none: no user, no fault. */
  async rest(
    state: State,
    { mostSteps = 2_000, stopsCalm = false, onStep }: RestOptions = {},
  ): Promise<Step & { readonly isAtRest: boolean }> {
    let current: Step = { state, violations: [] };
    for (let steps = 0; steps < mostSteps; steps += 1) {
      const [action] = this.ownActions(current.state);
      if (action === undefined || (stopsCalm && this.isCalm(current.state)))
        return { ...current, isAtRest: true };
      const { state: next, violations } = await this.step(current.state, action);
      onStep?.(next);
      current = { state: next, violations: [...current.violations, ...violations] };
    }
    return { ...current, isAtRest: false };
  }

  /** What the machine does without a user and without a fault; time is last. */
  ownActions(state: State): readonly string[] {
    const { server, connected, instances } = state;
    const actions: string[] = [];
    const { hasSlowAnswers = false } = this.world;
    for (const { actor, leader } of instances) {
      const prefix = prefixes[actor];
      for (const { queue: name, attempt } of leader?.running ?? [])
        attempt.slots.forEach(({ isDone }, slot) => {
          if (!isDone) actions.push(`${prefix}answer ${name} ${attempt.key} ${slot}`);
        });
      for (const [name, keys] of Object.entries(leader?.queues ?? {})) {
        const running = leader?.running.filter((one) => one.queue === name).length ?? 0;
        if (running < workersOfQueue)
          for (const key of nextKeys(keys)) actions.push(`${prefix}start ${name} ${key}`);
      }
    }
    const isBusy = actions.some((action) => !(hasSlowAnswers && isAnswer(action)));
    instances.forEach(({ actor, streams }, at) =>
      streams.forEach(({ pending, isStale }, kind) => {
        const name = this.#processes[actor].kinds[kind]?.name;
        if (pending.length > 0) actions.push(`deliver ${at} ${name}`);
        if (isStale) actions.push(`relist ${at} ${name}`);
      }),
    );
    for (const id of server.objects.keys())
      if (backgroundStep(server, id) !== undefined) actions.push(`background ${id}`);
    for (const id of connected.objects.keys())
      if (backgroundStep(connected, id) !== undefined)
        actions.push(`${prefixes.agent}background ${id}`);
    actions.push(...agentActions(server));
    if (!(this.#options.isTimeQuiet && isBusy) && this.#nextTime(state) !== undefined)
      actions.push("time");
    return actions;
  }

  /** Everything that can happen in a state; `own` is what the machine does. */
  actions(state: State, own = this.ownActions(state)): readonly string[] {
    const { menu, userActions, faults, late, instances } = state;
    const users = userActions > 0 ? menu.map((name) => `user ${name}`) : [];
    const lateWrites = late.map((_, at) => `late ${at}`);
    const allowed = faults > 0 ? this.world.faults : [];
    const answers = own.filter(isAnswer);
    const streams = own.filter((action) => action.startsWith("deliver "));
    const leaders = new Set(instances.map(({ actor }) => actor));
    const broken = allowed.flatMap((fault) => {
      if (fault === "relist") return streams.map((action) => action.replace("deliver", "relist"));
      if (fault === "crash") return [...leaders].map((actor) => `${prefixes[actor]}crash`);
      if (fault === "failover") return instances.length > leaders.size ? ["failover"] : [];
      return answers.map((action) => action.replace("answer", fault));
    });
    return [...own, ...users, ...lateWrites, ...broken];
  }

  /**
   * Whether nothing happens for so long that only the end of a lifetime is awaited, or the next
   * repair of what a policy changes.
   */
  isCalm(state: State): boolean {
    const { hasLifetimes, hasFights } = this.world;
    if (!hasLifetimes && !(hasFights && hasFilter(state.server))) return false;
    const next = this.#nextTime(state) ?? Infinity;
    return this.ownActions(state).join() === "time" && next > state.server.now + longestWork;
  }

  /**
   * When a key is added next. A report that says what its agent knows is composed again and again,
   * for which no time passes.
   */
  #nextTime(state: State): number | undefined {
    const next = state.instances.flatMap(({ actor, leader }, at) => {
      if (leader === undefined) return [];
      const isIdle = (name: QueueName, key: string): boolean =>
        actor === "agent" && name === "clusterReport" && this.#isReported(state, at, key);
      return nextTime(leader, isIdle) ?? [];
    });
    return next.length === 0 ? undefined : Math.min(...next);
  }

  /** Whether a report of an agent would stay as it is in the central cluster. */
  #isReported(state: State, at: number, key: string): boolean {
    const leader = state.instances[at]?.leader;
    const report = reportIn(state, key);
    if (leader === undefined || report === undefined) return true;
    this.#draft = draftOf(state);
    this.#at = at;
    const writtenReports = new Map(leader.memory.writtenReports);
    const now = state.server.now + 3_600_000;
    const memory = { ...leader.memory, writtenReports };
    const acting = this.#newActing({ ...leader, memory }, now);
    const metadata = parseMetadata(report);
    const read = readOf(resources.configMaps, { namespace: outbox, name: key });
    const answer = { do: "read", object: { kind: "there", metadata, managers: [] } } as const;
    const answers = new Map([[questionKey(read), answer]]);
    return !("steps" in acting.decide("clusterReport", key, answers));
  }

  /** Takes an action, which must be enabled. */
  async step(state: State, action: string): Promise<Step> {
    const isAgent = action.startsWith(prefixes.agent);
    const actor = isAgent ? "agent" : "controller";
    const place = isAgent ? "connected" : "central";
    const [what = "", ...words] = action.slice(prefixes[actor].length).split(" ");
    const [first = "", second = "", third = ""] = words;
    const next = what === "time" ? this.#nextTime(state) : undefined;
    const { hasFights } = this.world;
    this.#draft = draftOf(state, (instance, at) => {
      const changes = ["deliver", "relist"].includes(what)
        ? at === Number(first)
        : what === "time" || (instance.actor === actor && !isOfOthers.includes(what));
      return changes ? { used: this.#queuesOf(instance.actor), hasFights } : undefined;
    });
    let { menu, userActions, faults } = state;
    switch (what) {
      case "user":
        [menu, userActions] = [menu.filter((name) => name !== words.join(" ")), userActions - 1];
        this.#user(words.join(" "));
        break;
      case "deliver":
        this.#deliver(Number(first), this.#kindNamed(Number(first), second));
        break;
      case "relist": {
        const kind = this.#kindNamed(Number(first), second);
        if (!this.#draft.instances[Number(first)]?.streams[kind]?.isStale) faults -= 1;
        this.#relist(Number(first), kind);
        break;
      }
      case "start":
        await this.#start(actor, queueNamed(first), second);
        break;
      case "answer":
        await this.#answer(actor, { name: queueNamed(first), key: second, slot: Number(third) });
        break;
      case "late":
        this.#late(Number(first));
        break;
      case "background":
        this.#commit(backgroundStep(isAgent ? state.connected : state.server, first), place);
        break;
      case "agent":
        this.#commit(agentStep(state.server, first, second));
        break;
      case "time":
        this.#pass(next);
        break;
      case "crash":
      case "failover":
        faults -= 1;
        await this.#replaceLeader(actor, what);
        break;
      default: {
        if (!isBroken(what)) throw new Error(`unknown action ${action}`);
        faults -= 1;
        const slot = { name: queueNamed(first), key: second, slot: Number(third), broken: what };
        await this.#answer(actor, slot);
      }
    }
    if (this.#options.deliversEchoes) this.#deliverEchoes();
    return this.#ended({ ...state, menu, userActions, faults });
  }

  #queuesOf(actor: Actor): readonly QueueName[] {
    return actor === "agent" ? agentQueues : this.world.queues;
  }

  #ended(state: State): Step {
    const { violations, ...changed } = this.#draft;
    return { state: { ...state, ...changed }, violations };
  }

  #streams(): readonly Stream[] {
    return this.#draft.instances[this.#at]?.streams ?? [];
  }

  #processAt(at: number): Process {
    return this.#processes[this.#draft.instances[at]?.actor ?? "controller"];
  }

  #kindNamed(at: number, name: string): number {
    return this.#processAt(at).kinds.findIndex((kind) => kind.name === name);
  }

  #serverAt(place: Place): Server {
    return place === "central" ? this.#draft.server : this.#draft.connected;
  }

  #user(name: string): void {
    const action = this.world.menu[name];
    if (action === undefined) throw new Error(`${name} is not on the menu`);
    if (action.do === "restore") return this.#restore();
    const { plural, at = "central" } = action;
    const server = this.#serverAt(at);
    if (action.do === "delete") return this.#commit(userDelete(server, plural, action.ref), at);
    const exists = server.objects.has(`${plural}/${nameOf(action.object.metadata)}`);
    if (exists || action.do === "apply") this.#commit(userWrite(server, plural, action.object), at);
  }

  /**
   * Restores the central etcd of the begin: watches receive nothing until they list again. The lists
   * that agree with their view come first: they change nothing, and an event that follows is as late
   * as the other lists.
   */
  #restore(): void {
    const { server, instances } = this.#draft;
    this.#draft.server = restored(server, this.#backup);
    const { objects } = this.#draft.server;
    for (const instance of instances) {
      if (instance.leader !== undefined && instance.actor === "controller")
        instance.leader = { ...instance.leader, ownDeletes: new Set() };
      instance.streams = instance.streams.map((stream, at) => {
        const kind = this.#processes[instance.actor].kinds[at];
        if (kind?.place !== "central") return stream;
        const { view } = stream;
        const now = arrivingList(kind, objects);
        const isSame = now.length === view.entries.size && now.every((one) => isStored(view, one));
        return { view, pending: [], isStale: !isSame };
      });
    }
  }

  /** Makes a change of a server, and its events. */
  #commit(handled: Handled | undefined, place: Place = "central"): void {
    if (handled?.change === undefined) return;
    const { change, server } = handled;
    if (place === "central") this.#draft.server = server;
    else this.#draft.connected = server;
    for (const instance of this.#draft.instances)
      instance.streams = instance.streams.map((stream, at) => {
        const kind = this.#processes[instance.actor].kinds[at];
        if (stream.isStale || kind?.place !== place) return stream;
        const event = arrivingEvent(kind, change);
        return event === undefined ? stream : { ...stream, pending: [...stream.pending, event] };
      });
  }

  #viewing(at: number, kind: number): Viewing {
    const instance = this.#draft.instances[at];
    const [viewed, stream] = [this.#processAt(at).kinds[kind], instance?.streams[kind]];
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
        if (instance.leader !== undefined) this.#actingAs(instance.leader).enqueue(kind, change);
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
    const [viewing, listed] = [this.#viewing(at, kind), this.#processAt(at).kinds[kind]];
    const { streams } = this.#draft.instances[at] ?? { streams: [] };
    if (listed === undefined) throw new Error(`no kind ${kind}`);
    const { objects, version } = this.#serverAt(listed.place);
    streams[kind] = { view: viewing.view, pending: [], isStale: false };
    relist(viewing, arrivingList(listed, objects), version);
  }

  /** Lists every kind; those that read others are listed after them. */
  #relistAll(at: number): void {
    for (const isLast of [false, true])
      this.#processAt(at).kinds.forEach((viewed, kind) => {
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
    await this.#actingAs(instance.leader).enqueueAll();
  }

  /** Ends the leader, whose writes in flight may still be committed; another one leads. */
  async #replaceLeader(actor: Actor, how: "crash" | "failover"): Promise<void> {
    const { running } = this.#leader(actor);
    for (const { attempt, basis, queue } of running)
      for (const { request, isDone } of attempt.slots)
        if (!isDone && !isQuestion(request))
          await this.#outcomeOf(request, { queue, basis, own: [] }, "lose-request");
    const at = this.#at;
    const first = this.#draft.instances[at];
    if (first === undefined) return;
    first.leader = undefined;
    if (how === "failover") this.#draft.instances.splice(at, 1);
    else this.#relistAll(at);
    await this.#lead(at);
  }

  #late(at: number): void {
    const write = this.#draft.late[at];
    this.#draft.late = this.#draft.late.filter((one) => one !== write);
    if (write !== undefined) this.#send(write, "late");
  }

  /** Sends a write, and judges it. */
  #send(sent: LateWrite, how: "answered" | "lost" | "late"): Reply {
    const { call, place, by } = sent;
    const before = this.#serverAt(place);
    const handled = handle(before, call);
    this.#commit(handled, place);
    const isWrite = !call.verb.startsWith("get") && !(call.verb === "create" && call.isDryRun);
    if (isWrite && "answer" in handled.outcome) {
      const { change } = handled;
      const isChange = change !== undefined;
      const leader = this.#draft.instances[this.#at]?.leader;
      if (how === "answered" && change?.before !== undefined && change.after === undefined)
        leader?.ownDeletes.add(change.before.metadata.uid);
      const after = this.#serverAt(place);
      const committed = { ...sent, before, after, isChange, isLate: how === "late" };
      this.#draft.violations.push(...this.#judges[by].committed(committed));
    }
    return handled.outcome;
  }

  /** The leader among the controllers or the agents, which acts from now on. */
  #leader(actor: Actor): Leader {
    const at = this.#draft.instances.findIndex(
      (instance) => instance.actor === actor && instance.leader !== undefined,
    );
    const leader = this.#draft.instances[at]?.leader;
    if (leader === undefined) throw new Error("no leader");
    this.#at = at;
    return leader;
  }

  /** What the leader has seen now, without what it has deleted itself. */
  #basis(): Basis {
    const streams = [...this.#streams()];
    const { kinds } = this.#processAt(this.#at);
    const ownDeletes = new Set(this.#acting().ownDeletes);
    return (name) => {
      const at = kinds.findIndex((kind) => kind.name === name);
      const entries = [...(streams[at]?.view.entries.values() ?? [])];
      const known = entries.filter(({ uid }) => !ownDeletes.has(uid));
      return name === "sharedSecrets"
        ? known.map(({ raw, followed }) => sourceWith(raw, followed?.read ?? "unread"))
        : known.map(({ raw }) => raw);
    };
  }

  #acting(): Leader {
    const leader = this.#draft.instances[this.#at]?.leader;
    if (leader === undefined) throw new Error("nobody acts");
    return leader;
  }

  async #start(actor: Actor, name: QueueName, key: string): Promise<void> {
    takeKey(this.#leader(actor).queues[name], key, this.#draft.server.now);
    this.#attempt = undefined;
    const attempt = this.#actingAs(this.#acting()).begin(name, key);
    await this.#advance({ queue: name, attempt, basis: this.#basis() });
  }

  async #answer(actor: Actor, { name, key, slot: at, broken }: AnsweredSlot): Promise<void> {
    const leader = this.#leader(actor);
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
    const sent = { queue, basis, own: [...attempt.written.keys()] };
    const outcome = await this.#outcomeOf(slot.request, sent, broken);
    this.#attempt = attempt;
    this.#actingAs(this.#acting()).settle(queue, attempt, slot, outcome);
  }

  /** Goes on with a reconcile until it waits for the API server, or has ended. */
  async #advance(running: Running, former?: Plan): Promise<void> {
    const { attempt } = running;
    let { basis } = running;
    let plan = former;
    for (;;) {
      if (attempt.plan !== plan && attempt.phase !== "asking") {
        [plan, basis] = [attempt.plan, this.#basis()];
        const { planned } = this.#judges[this.#actor()];
        this.#draft.violations.push(...planned(writesOf(plan), basis, this.#draft.server));
      }
      if (attempt.end !== undefined) return this.#end(running);
      const local = attempt.slots.findIndex(({ isDone, request }) => !isDone && isLocal(request));
      if (local === -1) break;
      await this.#settle({ ...running, basis }, local);
    }
    this.#setRunning([...this.#acting().running, { ...running, basis }]);
  }

  #actor(): Actor {
    return this.#draft.instances[this.#at]?.actor ?? "controller";
  }

  #end({ attempt, queue }: Running): void {
    const bug = endRunning(attempt, this.#acting().queues[queue], this.#draft.server.now);
    if (bug !== undefined) this.#draft.violations.push(`a reconcile ends with ${wordsOf(bug)}`);
  }

  #setRunning(running: readonly Running[]): void {
    const instance = this.#draft.instances[this.#at];
    if (instance?.leader !== undefined) instance.leader = { ...instance.leader, running };
  }

  /** Sends a request as src does; a signature is made up, because real ones differ. */
  async #outcomeOf(
    request: Request,
    { queue, ...sent }: Omit<LateWrite, "call" | "by" | "place"> & { readonly queue: QueueName },
    broken?: Broken,
  ): Promise<Outcome> {
    const { signingKid, clientOf: pick } = this.#processAt(this.#at);
    if (request.do === "sign") {
      const kid = signingKid();
      const token = new SecretText(`signed ${JSON.stringify(request.claims)}`);
      return { answer: { do: "sign", minted: kid === undefined ? undefined : { token, kid } } };
    }
    const by = this.#actor();
    const clientAt = (place: Place) =>
      clientOf(
        {
          send: (call) =>
            this.#send({ ...sent, call, by, place }, broken === undefined ? "answered" : "lost"),
          late: (call) => {
            this.#draft.late = [...this.#draft.late, { ...sent, call, by, place }].slice(-mostLate);
          },
          server: () => this.#serverAt(place),
        },
        broken,
      );
    const client = pick(queue, { central: clientAt("central"), connected: clientAt("connected") });
    const { world, answerOther } = this.#actingAs(this.#acting());
    const outcome = await send(request, {
      client,
      state: world,
      answerOther,
      sourceData: new SourceData({ client, digestOf, namespace: controllerOptions.namespace }),
      forEach: world.enqueuer.yielder.forEach.bind(world.enqueuer.yielder),
      recordEvent: async () => {},
      refresh: async (resource, ref) =>
        broken === undefined ? this.#refresh({ resource, ref }) : undefined,
    });
    if ("answer" in outcome) this.#noteRead(request, outcome.answer);
    return outcome;
  }

  /** Remembers the Secret that was read, and judges data that is read for a write. */
  #noteRead(request: Request, answer: Answer): void {
    const { objects } = this.#draft.server;
    if (request.do === "read-source" && answer.do === "read-source") {
      const found = objects.get(`secrets/${nameOf(request.ref)}`);
      this.#reads.set(answer.source, found ?? "gone");
    }
    if (request.do !== "read-data" || answer.do !== "read-data" || answer.data === undefined)
      return;
    const { secret, followed } = request.source;
    const key = nameOf(secret.metadata);
    const source = this.#basis()("sharedSecrets").find(({ metadata }) => nameOf(metadata) === key);
    if (followed === undefined || source === undefined) return;
    const ref = { ...source.metadata, name: followed.name };
    const current = sourceWith(source, objects.get(`secrets/${nameOf(ref)}`) ?? "gone");
    if (current.followed?.state !== "data")
      this.#draft.violations.push(`data of ${nameOf(ref)} is read without its consent`);
  }

  /** Puts what src has made of a Secret into the view of the SharedSecret that follows it. */
  #recordFollowed(...[key, data, pace]: Parameters<SyncWorld["recordFollowed"]>): void {
    const viewing = this.#viewing(this.#at, this.#kindNamed(this.#at, "sharedSecrets"));
    const stored = viewing.view.entries.get(key);
    const source = this.#actingAs(this.#acting()).world.stores.sharedSecrets.get(key);
    const next = source && following(source, { data, ...pace }, digestOf);
    if (stored === undefined || next?.followed === undefined) return;
    const { namespace = "" } = next.secret.metadata;
    const ref = { namespace, name: next.followed.name };
    const answer = answerTo({ do: "read-source", ref }, this.#attempt?.answers ?? new Map());
    const read = (answer && this.#reads.get(answer.source)) ?? "unreadable";
    const { digest, ownDigest, options, followed } = next;
    const { secretType, problem, refusal } = options;
    const says = [
      ...[followed.state, followed.changesOften, digest, ownDigest, secretType],
      ...[problem, refusal].map((why) => why?.message),
    ].join();
    amend(viewing, key, viewing.kind.amended(stored, next, { read, says }));
  }

  /** The world of a leader, which is made once for each action. */
  #actingAs(leader: Leader): Acting {
    const { now } = this.#draft.server;
    const made = this.#made;
    if (made?.world.memory === leader.memory && made.world.clock.now() === now) return made;
    const acting = this.#newActing(leader, now);
    this.#made = acting;
    return acting;
  }

  #newActing({ memory, queues }: Leader, now: number): Acting {
    const { kinds, actingIn } = this.#processAt(this.#at);
    const used = this.#queuesOf(this.#actor());
    const clock = { now: () => now, monotonic: () => now };
    const ignored: KeyQueue = { add: () => {}, addAt: () => {}, retry: () => {}, depth: 0 };
    const queueOf = (name: QueueName): KeyQueue => {
      if (!used.includes(name)) return ignored;
      const queue = keyQueueOf(queues[name], now);
      if (name !== "clusterReport") return queue;
      // Reports that a world does not have are left out: they are tried again for ever.
      const add: KeyQueue["add"] = (key, urgency) => {
        if (reportIn(this.#draft, key) !== undefined) queue.add(key, urgency);
      };
      return { ...queue, add };
    };
    const { plural: resource } = resources.ownedAccessKeys;
    return actingIn({
      queues: createQueues(queueOf),
      memory,
      clock,
      yielder: new Yielder(clock),
      log: { info: () => {}, warn: () => {} },
      watches: () => [{ resource, openedAt: now / 1000, objects: 0 }],
      has: ({ resource, ref }) =>
        kinds.some(
          ({ listOptions }, kind) =>
            listOptions.resource === resource &&
            this.#streams()[kind]?.view.entries.has(nameOf(ref)) === true,
        ),
      recordFollowed: (...recorded) => this.#recordFollowed(...recorded),
      recordWrite: (resource, answer) => {
        if (!isRaw(answer)) return;
        kinds.forEach(({ listOptions, isReadOnly }, kind) => {
          if (isReadOnly || listOptions.resource !== resource) return;
          const viewing = this.#viewing(this.#at, kind);
          const isSeen = viewing.view.entries.has(nameOf(answer.metadata));
          if (isSeen || isSelected(listOptions, answer)) observe(viewing, answer);
        });
      },
      recordDelete: (resource, ref, uid) =>
        kinds.forEach(({ listOptions, isReadOnly }, kind) => {
          if (!isReadOnly && listOptions.resource === resource)
            observeDelete(this.#viewing(this.#at, kind), nameOf(ref), uid);
        }),
    });
  }

  /** Reads an object into the views that may contain it, as the informers of src do. */
  #refresh({ resource, ref }: { readonly resource: Resource; readonly ref: ObjectRef }): void {
    const { kinds } = this.#processAt(this.#at);
    const key = nameOf(ref);
    const named = (name: string): number => this.#kindNamed(this.#at, name);
    const has = (name: string): boolean =>
      this.#streams()[named(name)]?.view.entries.has(key) === true;
    const read = (at: number): void => {
      const kind = kinds[at];
      if (kind === undefined) return;
      const found = this.#serverAt(kind.place).objects.get(`${resource.plural}/${key}`);
      refresh(this.#viewing(this.#at, at), key, found && kind.read(found));
    };
    if (resource !== resources.secrets)
      return read(
        kinds.findIndex(
          ({ listOptions, isReadOnly }) => !isReadOnly && listOptions.resource === resource,
        ),
      );
    read(named("unmanagedSecrets"));
    if (!has("copies") && has("unmanagedSecrets")) return;
    read(named("copies"));
    if (!has("copies")) read(named("placeholders"));
  }

  /** Lets time pass until the next scheduled key. */
  #pass(next = 0): void {
    const draft = this.#draft;
    const now = Math.max(draft.server.now, Math.ceil(next));
    [draft.server, draft.connected] = [
      { ...draft.server, now },
      { ...draft.connected, now },
    ];
    for (const { leader } of draft.instances)
      for (const [name, keys] of Object.entries(leader?.queues ?? {}))
        for (const times of ["instants", "retries"] as const)
          for (const key of dueKeys(keys[times], now)) {
            const isCopy = name === "copy" && leader !== undefined;
            const urgency = isCopy ? urgencyOf(key, leader.memory.repairs) : "high";
            wakeKey(keys, times, { key, urgency }, now);
          }
  }
}

/** The slot of a request in flight, and how it fails. */
interface AnsweredSlot {
  readonly name: QueueName;
  readonly key: string;
  readonly slot: number;
  readonly broken?: Broken;
}

/** Before the actions in the connected cluster, and of its agent. */
const prefixes: Readonly<Record<Actor, string>> = { controller: "", agent: `${connectedCluster} ` };
/** What other controllers and users do does not change a leader. */
const isOfOthers: readonly string[] = ["user", "late", "background", "agent"];

/** A draft of a state; `changing` says what is copied of an instance that may change. */
function draftOf(
  { server, connected, late, instances }: State,
  changing: (
    instance: Instance,
    at: number,
  ) => Parameters<typeof copyOfLeader>[1] | undefined = () => undefined,
): Draft {
  const copied = instances.map((instance, at) => {
    const { actor, streams, leader } = instance;
    const copied = changing(instance, at);
    const changed = leader && copied ? copyOfLeader(leader, copied) : leader;
    return { actor, streams: [...streams], leader: changed };
  });
  return { server, connected, late, instances: copied, violations: [] };
}

const outbox = outboxNamespace(connectedCluster);

/** The ConfigMap of a report in the central cluster. */
function reportIn({ server }: Pick<Clusters, "server">, name: string): Raw | undefined {
  return server.objects.get(`configmaps/${outbox}/${name}`);
}

function isAnswer(action: string): boolean {
  return /^(?:east )?answer /.test(action);
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
