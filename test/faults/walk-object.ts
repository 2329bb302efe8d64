import { setTimeout as pause } from "node:timers/promises";
import { isRecord, recordAt, stringMapAt } from "../../src/api/parse.ts";
import { requesters } from "../support/actions.ts";
import { admin, type Answer, type Caller } from "../support/cluster-connection.ts";
import { snapshotOf, type Snapshot } from "../support/snapshot.ts";
import { difference } from "./oracles.ts";
import { type Course, inOwnRun, type Rest, type Stage, type WalkModel } from "./walk.ts";
import { isAccepted, WalkCluster } from "./walk-cluster.ts";
import { changesTo, firstNamespaces, type Namespaces } from "./walk-namespaces.ts";
import { type ObjectAction, objectSteps, type Wanted } from "./walk-object-steps.ts";
import { reportOf } from "./walk-report.ts";
import { elders, pluralOf, requesterNames, rightObjects, type WalkKind } from "./walk-values.ts";

/** The desired state: the object as stored in the API server, its requester, and the namespaces. */
interface State {
  readonly object: (Wanted & { readonly by: string }) | undefined;
  readonly namespaces: Namespaces;
}

/** A state that users created, and whether the controller became idle in it. */
interface Moment {
  readonly state: State;
  readonly settled: boolean;
  /** Whether existing copies are kept in this state, as earlier states have left them. */
  readonly keepsCopies: boolean;
}

/** An object and its age: the clock of its run when it was created, and when it was read. */
interface Reached {
  readonly endState: Snapshot;
  readonly bornAt: number;
  readonly endedAt: number;
}

/** The result of states that were each applied directly, or why there is none. */
type Afresh = Pick<Reached, "endState"> & { readonly mistakes: readonly string[] };

/** Results of the valid states, by kind, name and requester: computed once. */
type RightStates = Map<string, Promise<Afresh>>;

const [firstRequester] = requesterNames;

/** Walks with one object of a kind. */
export async function objectModel(kind: WalkKind): Promise<WalkModel<ObjectAction>> {
  const rightStates: RightStates = new Map();
  return {
    kind,
    steps: await objectSteps(kind),
    courseOf: (stage, name) => new ObjectCourse(stage, { kind, name }, rightStates),
  };
}

/**
 * One object that is edited again and again. At the end it is as another one of the same age, to
 * which only the last states were applied, with another controller.
 */
class ObjectCourse implements Course<ObjectAction> {
  readonly #stage: Stage;
  readonly #subject: { readonly kind: WalkKind; readonly name: string };
  readonly #rightStates: RightStates;
  readonly #cluster: WalkCluster;
  readonly #collection: string;
  readonly #path: string;
  #by: string = firstRequester;
  #elderSince = 0;
  #bornAt = 0;
  #history: Moment[] = [];
  #end: Reached & ReturnType<typeof whatCounts> = { ...notReached, ...whatCounts([]) };
  #rightState: Snapshot = [];
  #rightBy: string = firstRequester;

  constructor(stage: Stage, subject: { kind: WalkKind; name: string }, rightStates: RightStates) {
    this.#stage = stage;
    this.#subject = subject;
    this.#rightStates = rightStates;
    this.#cluster = new WalkCluster(stage);
    this.#collection = collectionOf(subject.kind);
    this.#path = `${this.#collection}/${this.#nameOf(subject.name)}`;
  }

  /**
   * Creates the namespaces, an unmanaged Secret that blocks copies called `taken`, and an older
   * object of the kind.
   */
  async prepare(): Promise<void> {
    await this.#cluster.createNamespaces();
    await this.#cluster.perform({
      method: "POST",
      path: "/api/v1/namespaces/the-web/secrets",
      body: { metadata: { name: "taken" }, data: { foreign: "Zm9yZWlnbg==" } },
    });
    const elder = this.#manifest("elder", { ...elders[this.#subject.kind], labels: {} });
    const request = { method: "POST" as const, path: this.#collection, body: elder };
    const { code } = await this.#cluster.ask(request, this.#callerFor(firstRequester));
    if (code !== 201) throw new Error(`the older object is refused: ${code}`);
    this.#elderSince = Date.now();
  }

  /** A new object is newer than the older one: creation timestamps have whole seconds. */
  async begin(): Promise<void> {
    await pause(Math.max(0, this.#elderSince + 1_000 - Date.now()));
  }

  async take(action: ObjectAction): Promise<boolean> {
    const isDone = await this.#execute(action);
    await this.#note();
    return isDone;
  }

  async atRest(): Promise<Rest> {
    await this.#note();
    const standing = await this.#cluster.find(this.#path);
    const report = standing && reportOf(standing);
    const keepsCopies = report?.keepsCopies === true;
    const last = this.#history.pop();
    if (last !== undefined) this.#history.push({ ...last, settled: true, keepsCopies });
    return {
      problems: report?.isCurrent === false ? ["its status is not about the current spec"] : [],
      sights: [
        ...(report?.isReady === false ? ["not ready"] : []),
        ...(keepsCopies ? ["with copies that are kept"] : []),
      ],
    };
  }

  async atEnd(): Promise<readonly string[]> {
    const reached = {
      bornAt: this.#bornAt,
      endedAt: this.#clock,
      endState: await this.#snapshot(),
    };
    this.#end = { ...reached, ...whatCounts(this.#history) };
    return [];
  }

  /** The spec of a token is immutable: the valid state needs a new token. */
  async makeRight(): Promise<void> {
    const { kind } = this.#subject;
    if (kind === "DirectClusterEndpointToken") {
      await this.#cluster.remove(this.#path);
      await this.#cluster.perform({ method: "GET", path: this.#path }, [404]);
    }
    if (kind !== "SharedSecret") this.#rightBy = (await this.#state()).object?.by ?? firstRequester;
    await this.#reach(rightState(kind, this.#rightBy));
  }

  async atRight(): Promise<readonly string[]> {
    this.#rightState = await this.#snapshot();
    const standing = await this.#cluster.find(this.#path);
    return standing && reportOf(standing).isReady ? [] : ["the right state is not ready"];
  }

  async compare(): Promise<readonly string[]> {
    const { states, isExact, endState } = this.#end;
    const fresh = await this.#afresh(states, this.#end);
    const { kind, name } = this.#subject;
    const title = `${kind} ${name} ${this.#rightBy}`;
    const known =
      this.#rightStates.get(title) ?? this.#afresh([rightState(kind, this.#rightBy)], notReached);
    this.#rightStates.set(title, known);
    const right = await known;
    return [
      ...fresh.mistakes.map((problem) => `afresh: ${problem}`),
      ...compared(fresh.endState, endState, isExact).map((problem) => `end state: ${problem}`),
      ...right.mistakes.map((problem) => `right state: ${problem}`),
      ...compared(right.endState, this.#rightState, true).map((one) => `right again: ${one}`),
    ];
  }

  /** The result of states, each followed by idle time, for an object of the same age. */
  async #afresh(states: readonly State[], age: Omit<Reached, "endState">): Promise<Afresh> {
    const { worker, seed } = this.#stage;
    let endState: Snapshot = [];
    const courseOf = (stage: Stage) => new ObjectCourse(stage, this.#subject, this.#rightStates);
    const { mistakes } = await inOwnRun({ worker, seed }, courseOf, async (course, run) => {
      await course.#passTo(age.bornAt);
      for (const state of states) {
        await course.#reach(state);
        await run.settle();
      }
      await course.#passTo(age.endedAt);
      await run.settle();
      endState = await course.#snapshot();
    });
    return { endState, mistakes };
  }

  async #execute(action: ObjectAction): Promise<boolean> {
    switch (action.do) {
      case "put":
        return this.#put(action);
      case "merge":
        return isAccepted(await this.#cluster.merge(this.#path, action.body));
      case "delete":
        return isAccepted(await this.#cluster.remove(this.#path, action));
      case "namespace":
        await this.#cluster.changeNamespace(action);
        return true;
      case "pass":
        await this.#passTo(this.#clock + action.seconds * 1_000);
        return true;
    }
  }

  async #put(action: Extract<ObjectAction, { do: "put" }>): Promise<boolean> {
    return isAccepted(await this.#send(action));
  }

  async #send(action: Extract<ObjectAction, { do: "put" }>): Promise<Answer> {
    const { kind, name } = this.#subject;
    const answer = await this.#cluster.put({
      collection: this.#collection,
      object: this.#manifest(name, action.object),
      keepsFinalizers: action.keepsFinalizers,
      creator: this.#callerFor(action.by),
      // Only the requester may change the identity of a key.
      editor: kind === "OwnedAccessKey" ? this.#callerFor(this.#by) : admin,
    });
    if (answer.code === 201) [this.#by, this.#bornAt] = [action.by, this.#clock];
    return answer;
  }

  /** Creates a state directly, without the states before it. */
  async #reach({ object, namespaces }: State): Promise<void> {
    for (const change of changesTo(namespaces)) {
      if (JSON.stringify(change.wants) !== JSON.stringify(this.#cluster.namespaces[change.name]))
        await this.#cluster.changeNamespace(change);
    }
    if (object === undefined) return;
    const answer = await this.#send({ do: "put", object, by: object.by, keepsFinalizers: true });
    const { code, message } = answer;
    if (!isAccepted(answer))
      throw new Error(`what was stored once is refused: ${code} ${message ?? ""}`);
  }

  async #state(): Promise<State> {
    const standing = await this.#cluster.find(this.#path);
    const object =
      standing === undefined || "deletionTimestamp" in standing.metadata
        ? undefined
        : { ...wantedOf(standing), by: this.#by };
    return { object, namespaces: this.#cluster.namespaces };
  }

  async #note(): Promise<void> {
    const state = await this.#state();
    if (JSON.stringify(this.#history.at(-1)?.state) !== JSON.stringify(state))
      this.#history.push({ state, settled: false, keepsCopies: false });
  }

  /** Without Events, which depend on the history, and with the same signing keys for all workers. */
  async #snapshot(): Promise<Snapshot> {
    const { worker, view } = this.#stage;
    return (await snapshotOf(worker.cluster, view.prefix.slice(0, -1)))
      .filter((text) => kindOf(text) !== "EventList")
      .map((text) => text.replaceAll(/"keyID": "[\w-]{43}"/g, '"keyID": "kid"'));
  }

  /** Milliseconds by which the clock of the run is ahead of real time. */
  get #clock(): number {
    return this.#stage.run.backend.ahead;
  }

  /** Advances the clock of the run, in steps that are shorter than a Lease. */
  async #passTo(clock: number): Promise<void> {
    const jumpMs = 20_000;
    while (this.#clock < clock)
      await this.#stage.run.backend.jump(Math.min(clock - this.#clock, jumpMs));
  }

  #nameOf(name: string): string {
    return this.#subject.kind === "SharedSecret" ? name : `the-${name}`;
  }

  #callerFor(requester: string): Caller {
    if (this.#subject.kind === "SharedSecret") return admin;
    const user = requester.replaceAll("the-", this.#stage.view.prefix);
    return { user, groups: [requesters] };
  }

  #manifest(name: string, { spec, annotations, labels }: Wanted) {
    return {
      apiVersion: "management.service/v1",
      kind: this.#subject.kind,
      metadata: { name: this.#nameOf(name), annotations, labels },
      ...(spec === undefined ? {} : { spec }),
    };
  }
}

const notReached: Reached = { endState: [], bornAt: 0, endedAt: 0 };

function rightState(kind: WalkKind, by: string): State {
  const object = { ...rightObjects[kind], labels: {}, by };
  return { object, namespaces: firstNamespaces };
}

/** The desired part of an object, as stored in the API server. */
function wantedOf(object: Answer): Wanted {
  return {
    annotations: stringMapAt(object.metadata, "annotations"),
    labels: stringMapAt(object.metadata, "labels"),
    ...("spec" in object ? { spec: object.spec } : {}),
  };
}

/**
 * The states that determine the end state: the last one and, if that one keeps existing copies,
 * those since the copies last matched a state. They determine it exactly if the controller became
 * idle in each.
 */
function whatCounts(history: readonly Moment[]) {
  const isFree = ({ state, settled, keepsCopies }: Moment) =>
    settled && (!keepsCopies || state.object === undefined);
  const moments = history.slice(Math.max(0, history.findLastIndex(isFree)));
  return {
    states: moments.map(({ state }) => state),
    isExact: moments.every(({ settled }) => settled),
  };
}

/** The differences of two results; copies count only if the result determines them. */
function compared(expected: Snapshot, found: Snapshot, isExact: boolean): readonly string[] {
  const chosen = (snapshot: Snapshot) =>
    isExact ? snapshot : snapshot.filter((text) => !isCopy(text));
  return difference(chosen(expected), chosen(found)).map((line) =>
    line.length > 1_000 ? `${line.slice(0, 1_000)}...` : line,
  );
}

function kindOf(text: string): unknown {
  const object: unknown = JSON.parse(text);
  return isRecord(object) ? object.kind : undefined;
}

function isCopy(text: string): boolean {
  const metadata = recordAt(JSON.parse(text), "metadata");
  return (
    kindOf(text) === "SecretList" && "management.service/copy-of" in recordAt(metadata, "annotated")
  );
}

function collectionOf(kind: WalkKind): string {
  const namespace = kind === "SharedSecret" ? "namespaces/the-home/" : "";
  return `/apis/management.service/v1/${namespace}${pluralOf[kind]}`;
}
