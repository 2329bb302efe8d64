import type { ApiRequest } from "../support/api-request.ts";
import type { Action } from "../support/actions.ts";
import type { NoAnswer, ProxyOptions, Steering } from "../support/fault-proxy.ts";
import type { ProxyAnswer } from "../support/proxy-messages.ts";
import type { OpenWatch } from "../support/open-watch.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import type { Backend, BackendContext, InstanceOf } from "./backend.ts";
import { EarlierLists } from "./earlier-lists.ts";
import { Logbook } from "./logbook.ts";

/** A write of a run, or a read of a Secret with its data, at which a fault may be injected. */
export interface Call<B extends Backend> {
  readonly request: ApiRequest;
  readonly instance: InstanceOf<B>;
  readonly forward: () => Promise<ProxyAnswer>;
}

/** A disturbance of a run; see the tables of faults. */
export interface ActiveFault<B extends Backend> {
  /** Called before each write is sent; undefined forwards it. */
  onCall?(call: Call<B>): Promise<ProxyAnswer | NoAnswer> | undefined;
  /** Called before each read of a Secret with its data is sent; undefined forwards it. */
  onRead?(call: Call<B>): Promise<ProxyAnswer | NoAnswer> | undefined;
  readonly steering?: Steering;
  /**
   * Ends a lasting fault: called when the system is idle; returns true if that may have caused new
   * work.
   */
  finish?(): Promise<boolean>;
}

/** The options of a run. */
export interface RunOptions<B extends Backend> {
  readonly cluster: ProxiedCluster;
  /** The prefix of every name of the run. */
  readonly view: View;
  /** Milliseconds of the clock that all instances of the run share. */
  readonly now: () => number;
  readonly backend: (context: BackendContext<InstanceOf<B>>) => B;
  /** The instance into which a fault before a change is injected. */
  readonly target: (backend: B) => InstanceOf<B> | undefined;
}

/** Latchkey's programs and their traffic, while a scenario is played. */
export class Run<B extends Backend> {
  readonly logbook: Logbook;
  readonly backend: B;
  readonly lists: EarlierLists;
  /** Unexpected errors in Latchkey's logs, and conditions that were never met. */
  readonly mistakes: string[] = [];
  readonly #cluster: ProxiedCluster;
  readonly #target: RunOptions<B>["target"];
  #active: ActiveFault<B> = {};

  constructor({ cluster, view, now, backend, target }: RunOptions<B>) {
    this.#target = target;
    this.#cluster = cluster;
    this.logbook = new Logbook(view, now);
    this.lists = new EarlierLists(cluster);
    this.backend = backend({
      cluster,
      view,
      logbook: this.logbook,
      traffic: (instance) => this.#traffic(instance),
      onMistake: (mistake) => void this.mistakes.push(mistake),
    });
  }

  /** Activates this fault, and deactivates any other. */
  activate(fault: ActiveFault<B>): void {
    this.#active = fault;
  }

  /** The instance into which a fault before a change is injected. */
  get target(): InstanceOf<B> | undefined {
    return this.#target(this.backend);
  }

  get watches(): readonly OpenWatch[] {
    return [...this.backend.instances].flatMap(({ proxy }) => proxy.watches);
  }

  /** Waits until the system is idle, then ends lasting faults and waits again. */
  async settle(): Promise<void> {
    do await this.backend.untilQuiet();
    while ((await this.#active.finish?.()) === true);
  }

  /** Waits while nothing changes; returns the writes that were requested in that time. */
  async quiet(): Promise<readonly string[]> {
    const asked = this.logbook.writes.length;
    await this.backend.idle();
    return this.logbook.writes
      .slice(asked)
      .map(({ process, sentence }) => `${process}: ${sentence}`);
  }

  /** Sends requests in parallel, each repeatedly until its response is as expected. */
  async perform(step: readonly Action[]): Promise<void> {
    await Promise.all(step.map((action) => this.#perform(action)));
  }

  /** Ends all instances. */
  end(): Promise<void> {
    return this.backend.stop();
  }

  async #perform({ by = {}, until, ...request }: Action): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const { code, message } = await this.#cluster.ask(by, request);
      this.logbook.touch(request.path);
      if (until.includes(code)) return;
      const last = `${request.method} ${request.path}: ${code} ${message}`;
      await this.backend.beforeRetry(tries, last);
    }
  }

  #traffic(self: () => InstanceOf<B>): Pick<ProxyOptions, "steering" | "events"> {
    const steering: Steering = {
      write: (request, forward) =>
        this.#active.onCall?.({ request, forward, instance: self() }) ??
        this.#active.steering?.write?.(request, forward) ??
        forward(),
      read: (request, forward) => {
        this.logbook.ledger.read(request);
        return this.#active.onRead?.({ request, forward, instance: self() }) ?? forward();
      },
      refuses: (request) => this.#active.steering?.refuses?.(request) === true,
      list: (request) => this.#active.steering?.list?.(request),
      event: (watch, line, deliver) => {
        const { steering: active } = this.#active;
        if (active?.event === undefined) deliver();
        else active.event(watch, line, deliver);
      },
    };
    const events = this.logbook.eventsOf(() => self().process);
    return {
      steering,
      events: { ...events, onList: (request) => this.lists.add(request) },
    };
  }
}
