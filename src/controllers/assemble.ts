import { fieldManager, group, ownObjects } from "../api/names.ts";
import { keyOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import { Certificates, type ServiceNames } from "../certificates/certificates.ts";
import { BodyLimiter } from "../kube/client/body-limiter.ts";
import type { ProcessConnectionDeps } from "../kube/process-connection.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { createClient, type SizeOf } from "../kube/client/client.ts";
import { type ElectionEnd, LeaderElection, type LeaseTimes } from "../kube/leader-election.ts";
import { createListWatch } from "../kube/informer/list-watch.ts";
import { mostOwnResponseBytes } from "../kube/client/exchange.ts";
import { Recovery } from "../kube/informer/recovery.ts";
import {
  createTransport,
  type Transport,
  type TransportOptions,
} from "../kube/client/transport.ts";
import { Yielder } from "../runtime/yielder.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { type RequestMetrics, requestMetrics } from "../runtime/work-metrics.ts";
import { createController } from "./controller.ts";
import type { Informers } from "./informers.ts";
import type { Stores } from "./stores.ts";
import type { ControllerOptions } from "./world.ts";

/** Options of a controller process; `identity` is its name in the Lease. */
export interface AssemblyOptions extends ControllerOptions {
  readonly identity: string;
  readonly lease: LeaseTimes;
  /** Maximum bytes of request bodies, and of their responses, that are in memory at a time. */
  readonly maximumBodyBytesInFlight: number;
}

/** A controller with its transports, its Lease and the certificates of its issuer. */
export interface Assembly {
  readonly informers: Informers;
  /**
   * Runs the informers, waits for the Lease and leads, until the signal aborts or the Lease is
   * lost.
   */
  run(signal: AbortSignal): Promise<ElectionEnd>;
  /** The certificates of the issuer, which every replica runs. */
  issuerCertificates(names: ServiceNames): Certificates;
  /** Closes every connection, including those with requests in flight. */
  close(): Promise<void>;
}

const requestTimeoutMs = 30_000;

/** Builds a controller process without its HTTP server; nothing runs yet. */
export function assembleController(
  options: AssemblyOptions,
  deps: ProcessConnectionDeps,
): Assembly {
  const { clock, random, log, metrics } = deps;
  const yielder = new Yielder(clock);
  const transports = new Transports(deps, yielder);
  const recovery = new Recovery();
  const election = newElection(options, transports, { ...deps, recovery });
  const [copies, rest] = openFenced(options, transports, { election, metrics });
  // Not fenced by the Lease: every replica reports, and every replica keeps the certificates.
  const ownTransport = transports.open(3);
  const events = new EventRecorder({
    client: createClient(ownTransport, fieldManager),
    clock,
    log,
    reporter: `${group}/latchkey`,
    identity: options.identity,
  });
  const sizeOf: SizeOf = (resource, ref) => sizeOfIn(controller.informers.stores)(resource, ref);
  const copyClient = createClient(copies, fieldManager, sizeOf);
  const client = createClient(rest, fieldManager, sizeOf);
  const controller = createController(options, {
    clientOf: (queue) => (queue === "copy" ? copyClient : client),
    listWatch: createListWatch(rest, clock),
    yielder,
    events,
    clock,
    random,
    log,
    metrics,
    recovery,
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
    issuerCertificates: (names) =>
      new Certificates("issuer", names, {
        client: createClient(ownTransport, fieldManager),
        listWatch: createListWatch(ownTransport, clock),
        ...{ clock, yielder, random, log, metrics },
      }),
    async close() {
      await transports.close();
      await followed;
    },
  };
}

/** The transports of a process, which are closed together. */
class Transports {
  readonly #deps: ProcessConnectionDeps;
  readonly #yielder: Yielder;
  readonly #requests: RequestMetrics;
  readonly #opened: Transport[] = [];

  constructor(deps: ProcessConnectionDeps, yielder: Yielder) {
    this.#deps = deps;
    this.#yielder = yielder;
    this.#requests = requestMetrics(new URL(deps.credentials.server).host, deps.metrics);
  }

  open(connections: number, special: Partial<TransportOptions> = {}): Transport {
    const { credentials, clock } = this.#deps;
    const transport = createTransport({
      credentials,
      clock,
      yielder: this.#yielder,
      timeoutMs: requestTimeoutMs,
      mostBytes: mostOwnResponseBytes,
      metrics: this.#requests,
      ...special,
      connections,
    });
    this.#opened.push(transport);
    return transport;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((transport) => transport.close()));
  }
}

/**
 * Creates the leader election. Renewals have their own connection: they must not be fenced or
 * queued behind other requests. The timeout is half of the renew deadline, so that a hung socket
 * leaves time for another attempt.
 */
function newElection(
  { namespace, identity, lease: times }: AssemblyOptions,
  transports: Transports,
  {
    clock,
    random,
    log,
    metrics,
    recovery,
  }: ProcessConnectionDeps & { readonly recovery: Recovery },
): LeaderElection {
  const transport = transports.open(1, { timeoutMs: times.renewDeadline / 2 });
  return new LeaderElection({
    client: createClient(transport, fieldManager),
    clock,
    random,
    log,
    leading: metrics.gauge("leader_election_master_status", { name: ownObjects.lease }),
    lease: { namespace, name: ownObjects.lease },
    identity,
    times,
    onRestored: () => recovery.restarted(),
  });
}

/**
 * Opens the transports that the Lease fences. Copies have their own connections: kube-apiserver may
 * take 100 ms for a write of a RoleBinding, and a hundredth of that for a Secret.
 */
function openFenced(
  { writers, maximumBodyBytesInFlight }: AssemblyOptions,
  transports: Transports,
  { election, metrics }: { readonly election: LeaderElection; readonly metrics: Metrics },
): readonly [copies: Transport, rest: Transport] {
  const bodies = new BodyLimiter(maximumBodyBytesInFlight);
  const open = (pool: "copies" | "rest"): Transport => {
    const limit = metrics.gauge("latchkey_request_concurrency_limit", { pool });
    limit.set(writers);
    return transports.open(writers, {
      bodies,
      fence: () => election.remainingMs(),
      onLimit: (concurrent) => limit.set(concurrent),
    });
  };
  return [open("copies"), open("rest")];
}

/** Assumed bytes of an object of unknown size (etcd, --max-request-bytes). */
const largestObject = 1.5 * 1024 * 1024;

/**
 * Returns a function for the approximate size of an object in bytes, from the stores; 0 for kinds
 * with small objects.
 */
export function sizeOfIn({ sharedSecrets }: Stores): SizeOf {
  return (resource, ref) => {
    if (resource === resources.sharedSecrets)
      return (
        sharedSecrets.get(keyOf({ namespace: ref.namespace ?? "", name: ref.name }))?.size ??
        largestObject
      );
    return resource === resources.secrets ? largestObject : 0;
  };
}
