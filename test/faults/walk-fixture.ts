import { setTimeout as pause } from "node:timers/promises";
import { resources } from "../../src/api/resources.ts";
import {
  admin,
  patchTypes,
  type Answer,
  type Ask,
  type Caller,
} from "../support/cluster-connection.ts";
import { requesters } from "../support/actions.ts";
import type { InProcessRun } from "./in-process-backend.ts";
import type { View } from "../support/visible-objects.ts";
import { clockOf, passTo } from "./walk-clock.ts";
import { type Report, reportOf } from "./walk-report.ts";
import { entriesOf, firstNamespaces, type State, wantedOf } from "./walk-state.ts";
import { elders, requesterNames, type WalkKind } from "./walk-values.ts";
import { type WalkAction, namespaceMetadata, type Walk, type Wanted } from "./walk-steps.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** The options of a fixture. */
export interface WalkFixtureOptions {
  readonly run: InProcessRun;
  readonly cluster: ProxiedCluster;
  readonly view: View;
  readonly subject: Pick<Walk, "kind" | "name">;
}

/**
 * One object in one run: executes users' actions and reads their results. In written values, names
 * of the run begin with `the-`.
 */
export class WalkFixture {
  readonly #options: WalkFixtureOptions;
  readonly #collection: string;
  readonly #path: string;
  #namespaces = firstNamespaces;
  #by = "";
  #elderSince = 0;
  /** The creation time of the object on the run's clock, in milliseconds since its start. */
  bornAt = 0;

  constructor(options: WalkFixtureOptions) {
    this.#options = options;
    const { subject, view } = options;
    this.#collection = collectionOf(subject.kind, view);
    this.#path = `${this.#collection}/${this.#name}`;
  }

  /**
   * Creates the namespaces, an unmanaged Secret that blocks copies called `taken`, and an older
   * object of the kind.
   */
  async prepare(): Promise<void> {
    for (const [name, wants] of Object.entries(this.#namespaces)) {
      await this.#arrange({
        method: "POST",
        path: "/api/v1/namespaces",
        body: { metadata: { name: `the-${name}`, ...withoutNulls(namespaceMetadata(wants)) } },
      });
    }
    await this.#arrange({
      method: "POST",
      path: "/api/v1/namespaces/the-web/secrets",
      body: { metadata: { name: "taken" }, data: { foreign: "Zm9yZWlnbg==" } },
    });
    const elder = this.#manifest(
      { ...elders[this.#options.subject.kind], labels: {} },
      { name: this.#nameOf("elder") },
    );
    const { code } = await this.#ask(this.#callerFor(requesterNames[0]), {
      method: "POST",
      path: this.#collection,
      body: elder,
    });
    if (code !== 201) throw new Error(`the older object is refused: ${code}`);
    this.#elderSince = Date.now();
  }

  /**
   * Waits until a new object is newer than the older one: creation timestamps have whole seconds.
   */
  async becomesYounger(): Promise<void> {
    await pause(Math.max(0, this.#elderSince + 1_000 - Date.now()));
  }

  /**
   * Executes an action; returns false if the API server rejects it. Throws if there is no result.
   */
  async take(action: WalkAction): Promise<boolean> {
    switch (action.do) {
      case "put":
        return this.#put(action);
      case "merge":
        return this.#merge(action.body);
      case "delete":
        if (action.byForce) await this.#merge({ metadata: { finalizers: null } });
        return isAccepted(await this.#ask(admin, { method: "DELETE", path: this.#path }));
      case "namespace":
        this.#namespaces = { ...this.#namespaces, [action.name]: action.wants };
        await this.#arrange({
          method: "PATCH",
          path: `/api/v1/namespaces/the-${action.name}`,
          type: patchTypes.merge,
          body: { metadata: namespaceMetadata(action.wants) },
        });
        return true;
      case "pass":
        await passTo(this.#options.run, clockOf(this.#options.run) + action.seconds * 1_000);
        return true;
    }
  }

  /** Creates a state directly, without the states before it. */
  async reach({ object, namespaces }: State): Promise<void> {
    for (const [name, wants] of entriesOf(namespaces)) {
      if (JSON.stringify(wants) !== JSON.stringify(this.#namespaces[name]))
        await this.take({ do: "namespace", name, wants });
    }
    if (object === undefined) return;
    if (!(await this.take({ do: "put", object, by: object.by, keepsFinalizers: true })))
      throw new Error("what was stored once is refused");
  }

  /** Waits until the object no longer exists. */
  async becomesGone(): Promise<void> {
    await this.#perform({ method: "GET", path: this.#path }, [404]);
  }

  async state(): Promise<State> {
    const standing = await this.#standing();
    const object =
      standing === undefined || "deletionTimestamp" in standing.metadata
        ? undefined
        : { ...wantedOf(this.#unreal(standing)), by: this.#by };
    return { object, namespaces: this.#namespaces };
  }

  /** The status of the object; undefined if it does not exist. */
  async report(): Promise<Report | undefined> {
    const standing = await this.#standing();
    return standing === undefined ? undefined : reportOf(standing);
  }

  get #name(): string {
    return this.#nameOf(this.#options.subject.name);
  }

  #nameOf(name: string): string {
    return this.#options.subject.kind === "SharedSecret"
      ? name
      : `${this.#options.view.prefix}${name}`;
  }

  #callerFor(requester: string): Caller {
    return this.#options.subject.kind === "SharedSecret"
      ? admin
      : { user: this.#real(requester), groups: [requesters] };
  }

  async #merge(body: unknown): Promise<boolean> {
    return isAccepted(
      await this.#ask(admin, { method: "PATCH", path: this.#path, type: patchTypes.merge, body }),
    );
  }

  async #put({
    object,
    by,
    keepsFinalizers,
  }: Extract<WalkAction, { do: "put" }>): Promise<boolean> {
    for (let tries = 0; tries < 50; tries += 1) {
      const standing = await this.#standing();
      if (standing !== undefined && "deletionTimestamp" in standing.metadata)
        await this.becomesGone();
      const answer =
        standing === undefined || "deletionTimestamp" in standing.metadata
          ? await this.#create(object, by)
          : await this.#replace(object, standing, keepsFinalizers);
      if (answer.code !== 409) return isAccepted(answer);
      await pause(5);
    }
    throw new Error("the object can neither be created nor replaced");
  }

  async #create(object: Wanted, by: string): Promise<Answer> {
    const answer = await this.#ask(this.#callerFor(by), {
      method: "POST",
      path: this.#collection,
      body: this.#manifest(object, {}),
    });
    if (answer.code === 201) {
      this.#by = by;
      this.bornAt = clockOf(this.#options.run);
    }
    return answer;
  }

  #replace(object: Wanted, { metadata }: Answer, keepsFinalizers: boolean): Promise<Answer> {
    const { resourceVersion, finalizers } = metadata;
    // Only the requester may change the identity of a key.
    const by = this.#options.subject.kind === "OwnedAccessKey" ? this.#callerFor(this.#by) : admin;
    return this.#ask(by, {
      method: "PUT",
      path: this.#path,
      body: this.#manifest(object, { resourceVersion, ...(keepsFinalizers ? { finalizers } : {}) }),
    });
  }

  #manifest({ spec, annotations, labels }: Wanted, metadata: object) {
    const { kind } = this.#options.subject;
    return {
      apiVersion: "management.service/v1",
      kind,
      metadata: { name: this.#name, annotations, labels, ...metadata },
      ...(spec === undefined ? {} : { spec }),
    };
  }

  async #standing(): Promise<Answer | undefined> {
    const answer = await this.#ask(admin, { method: "GET", path: this.#path });
    return answer.code === 404 ? undefined : answer;
  }

  async #ask(by: Caller, request: Ask): Promise<Answer> {
    const answer = await this.#options.cluster.ask(by, this.#real(request));
    // A run waits until its controller has received the users' writes.
    if (request.method !== "GET")
      await this.#perform({ method: "GET", path: this.#path }, [200, 404]);
    return answer;
  }

  async #arrange(request: Ask): Promise<void> {
    await this.#perform(request, [200, 201]);
  }

  async #perform(request: Ask, until: readonly number[]): Promise<void> {
    await this.#options.run.perform([{ ...this.#real(request), by: admin, until }]);
  }

  #real<T>(value: T): T {
    return JSON.parse(JSON.stringify(value).replaceAll("the-", this.#options.view.prefix));
  }

  #unreal(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value).replaceAll(this.#options.view.prefix, "the-"));
  }
}

/** Whether the API server has accepted a write; throws if it has neither accepted nor rejected it. */
export function isAccepted({ code, message }: Answer): boolean {
  if (code < 300) return true;
  if ([400, 403, 404, 413, 422].includes(code) || message.includes("too large")) return false;
  throw new Error(`the API server neither takes nor refuses what is written: ${code}`);
}

function collectionOf(kind: WalkKind, { prefix }: View): string {
  const { plural } = Object.values(resources).find((resource) => resource.kind === kind) ?? {
    plural: "",
  };
  return `/apis/management.service/v1/${kind === "SharedSecret" ? `namespaces/${prefix}home/` : ""}${plural}`;
}

/** A value without fields that are null. */
export function withoutNulls(value: unknown): object {
  return JSON.parse(
    JSON.stringify(value, (_, inner: unknown) => (inner === null ? undefined : inner)),
  );
}
