import { keyOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import type { BodyLimiter } from "../kube/client/body-limiter.ts";
import { createClient, type SizeOf } from "../kube/client/client.ts";
import { mostOwnResponseBytes } from "../kube/client/exchange.ts";
import {
  createTransport,
  type Transport,
  type TransportOptions,
} from "../kube/client/transport.ts";
import type { Recovery } from "../kube/informer/recovery.ts";
import { LeaderElection, type LeaseNotes, type LeaseTimes } from "../kube/leader-election.ts";
import type { ProcessConnectionDeps } from "../kube/process-connection.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { type RequestMetrics, requestMetrics } from "../runtime/work-metrics.ts";
import type { Yielder } from "../runtime/yielder.ts";
import type { SyncStores } from "./sync-state.ts";

const requestTimeoutMs = 30_000;

/** The transports of a process to one API server, which are closed together. */
export class ProcessTransports {
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

/** The Lease of the replicas of a process; `identity` is the name of this one in it. */
interface ProcessLease {
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly times: LeaseTimes;
  readonly fieldManager: string;
  readonly notes?: LeaseNotes;
}

/**
 * Creates the leader election. Renewals have their own connection: they must not be fenced or
 * queued behind other requests. The timeout is half of the renew deadline, so that a hung socket
 * leaves time for another attempt.
 */
export function newElection(
  { namespace, name, fieldManager, ...lease }: ProcessLease,
  transports: ProcessTransports,
  {
    clock,
    random,
    log,
    metrics,
    recovery,
  }: ProcessConnectionDeps & { readonly recovery: Recovery },
): LeaderElection {
  const transport = transports.open(1, { timeoutMs: lease.times.renewDeadline / 2 });
  return new LeaderElection({
    client: createClient(transport, fieldManager),
    clock,
    random,
    log,
    ...lease,
    leading: metrics.gauge("leader_election_master_status", { name }),
    lease: { namespace, name },
    onRestored: () => recovery.restarted(),
  });
}

/** Connections whose writes the Lease fences; `pool` is their name in the metrics. */
interface FencedPool {
  readonly pool: string;
  readonly connections: number;
  readonly bodies: BodyLimiter;
}

/** Opens connections whose writes the Lease fences. */
export function openFenced(
  { pool, connections, bodies }: FencedPool,
  transports: ProcessTransports,
  { election, metrics }: { readonly election: LeaderElection; readonly metrics: Metrics },
): Transport {
  const limit = metrics.gauge("latchkey_request_concurrency_limit", { pool });
  limit.set(connections);
  return transports.open(connections, {
    bodies,
    fence: () => election.remainingMs(),
    onLimit: (concurrent) => limit.set(concurrent),
  });
}

/** Assumed bytes of an object of unknown size (etcd, --max-request-bytes). */
const largestObject = 1.5 * 1024 * 1024;

/**
 * Returns a function for the approximate size of an object in bytes, from the stores; 0 for kinds
 * with small objects.
 */
export function sizeOfIn({ sharedSecrets }: Pick<SyncStores, "sharedSecrets">): SizeOf {
  return (resource, ref) => {
    if (resource === resources.sharedSecrets)
      return (
        sharedSecrets.get(keyOf({ namespace: ref.namespace ?? "", name: ref.name }))?.size ??
        largestObject
      );
    return resource === resources.secrets ? largestObject : 0;
  };
}
