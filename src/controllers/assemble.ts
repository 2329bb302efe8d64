import { fieldManager, group, ownObjects } from "../api/names.ts";
import type { Credentials } from "../kube/credentials.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { BodyLimiter } from "../kube/body-limiter.ts";
import { createClient, type SizeOf } from "../kube/http-client.ts";
import { type ElectionEnd, LeaderElection, type LeaseTimes } from "../kube/leader-election.ts";
import { createListWatch } from "../kube/list-watch.ts";
import { createTransport, type Transport, type TransportOptions } from "../kube/transport.ts";
import { Yielder } from "../kube/yielder.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics, RequestPool } from "../runtime/metrics.ts";
import { type ControllerOptions, createController } from "./controller.ts";
import type { Informers } from "./informers.ts";
import { sizeOfIn } from "./object-size.ts";

/** How a controller process behaves; `identity` names it in the Lease. */
export interface AssemblyOptions extends ControllerOptions {
  readonly identity: string;
  readonly lease: LeaseTimes;
  /**
   * The most bytes of bodies of single requests, and of their answers, that are in memory at a
   * time.
   */
  readonly maximumBodyBytesInFlight: number;
}

/** What a controller process is made of. */
export interface AssemblyDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** A controller with its ways to the API server and its Lease. */
export interface Assembly {
  readonly informers: Informers;
  /**
   * Follows the API server, waits for the Lease and leads, until the signal aborts or the Lease is
   * lost.
   */
  run(signal: AbortSignal): Promise<ElectionEnd>;
  /** Ends every connection, whatever is in flight. */
  close(): Promise<void>;
}

const requestTimeoutMs = 30_000;

/** Builds a controller process without its HTTP server; nothing runs yet. */
export function assembleController(options: AssemblyOptions, deps: AssemblyDeps): Assembly {
  const { clock, random, log, metrics } = deps;
  const yielder = new Yielder(clock);
  const transports = new Transports(deps, yielder);
  const election = newElection(options, transports, deps);
  const [copies, rest] = openFenced(options, transports, { election, metrics });
  const events = new EventRecorder({
    client: createClient(transports.open({ connections: 2 }), fieldManager),
    clock,
    log,
    reporter: `${group}/latchkey`,
    identity: options.identity,
  });
  const sizeOf: SizeOf = (resource, ref) => sizeOfIn(controller.informers.stores)(resource, ref);
  const controller = createController(options, {
    client: createClient(rest, fieldManager, sizeOf),
    copyClient: createClient(copies, fieldManager, sizeOf),
    listWatch: createListWatch(rest, clock),
    yielder,
    events,
    clock,
    random,
    log,
    metrics,
  });

  let followed = Promise.resolve();
  return {
    informers: controller.informers,
    async run(signal) {
      const following = new AbortController();
      followed = controller.follow(following.signal);
      const end = await election.run({ signal, onLeading: (leading) => controller.lead(leading) });
      following.abort();
      return end;
    },
    async close() {
      await transports.close();
      await followed;
    },
  };
}

/** The transports of a process, which are closed together. */
class Transports {
  readonly #deps: AssemblyDeps;
  readonly #yielder: Yielder;
  readonly #opened: Transport[] = [];

  constructor(deps: AssemblyDeps, yielder: Yielder) {
    this.#deps = deps;
    this.#yielder = yielder;
  }

  open(
    rest: Pick<TransportOptions, "bodies" | "connections" | "fence" | "onLimit"> & {
      readonly timeoutMs?: number;
    },
  ): Transport {
    const { credentials, clock, metrics } = this.#deps;
    const { host } = new URL(credentials.server);
    const transport = createTransport({
      credentials,
      clock,
      yielder: this.#yielder,
      timeoutMs: requestTimeoutMs,
      onResponse: (seen) => metrics.request({ ...seen, host }),
      ...rest,
    });
    this.#opened.push(transport);
    return transport;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((transport) => transport.close()));
  }
}

/**
 * Renewals have a connection of their own: they must neither be fenced nor wait behind anything. A
 * socket that hangs may use up half of the deadline, so that another try is left.
 */
function newElection(
  { namespace, identity, lease: times }: AssemblyOptions,
  transports: Transports,
  { clock, random, log, metrics }: AssemblyDeps,
): LeaderElection {
  const transport = transports.open({ connections: 1, timeoutMs: times.renewDeadline / 2 });
  return new LeaderElection({
    client: createClient(transport, fieldManager),
    clock,
    random,
    log,
    metrics,
    lease: { namespace, name: ownObjects.lease },
    identity,
    times,
  });
}

/**
 * The transports that the Lease fences. Copies have connections of their own: kube-apiserver may
 * take 100 ms over one write of a RoleBinding, and a hundredth over a Secret's.
 */
function openFenced(
  { writers, maximumBodyBytesInFlight }: AssemblyOptions,
  transports: Transports,
  { election, metrics }: { readonly election: LeaderElection; readonly metrics: Metrics },
): readonly [copies: Transport, rest: Transport] {
  const bodies = new BodyLimiter(maximumBodyBytesInFlight);
  const open = (pool: RequestPool): Transport => {
    metrics.requestLimit(pool, writers);
    return transports.open({
      bodies,
      connections: writers,
      fence: () => election.remainingMs(),
      onLimit: (limit) => metrics.requestLimit(pool, limit),
    });
  };
  return [open("copies"), open("rest")];
}
