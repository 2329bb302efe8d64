import { createKeyResolver } from "../authn/key-resolver.ts";
import type { Key } from "../api/object.ts";
import { type Resource, resources } from "../api/resources.ts";
import type { Prefixes } from "../domain/shared-secret/access-rules.ts";
import type { OwnedAccessKeyConfig } from "../domain/access-key/owned-access-key.ts";
import type { EndpointTokenConfig } from "../domain/endpoint-token/token-state.ts";
import type { Client } from "../kube/client.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import type { ListWatch } from "../kube/list-watch.ts";
import { type Result, runLoop } from "../kube/loop.ts";
import { WorkQueue } from "../kube/queue.ts";
import { Recovery } from "../kube/recovery.ts";
import type { Yielder } from "../kube/yielder.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { type Changes, createChanges, type Queues } from "./changes.ts";
import { reconcileConnectorData } from "./connector-data.ts";
import { reconcileCopy } from "./copy.ts";
import { Deletions } from "./deletions.ts";
import { reconcileEndpointToken } from "./endpoint-token.ts";
import { Failures, type FailuresDeps } from "./failures.ts";
import { FinalizedObjects } from "./finalized-objects.ts";
import { type ChangeHandlers, createInformers, type Informers } from "./informers.ts";
import { countingObjects } from "./object-counts.ts";
import { reconcileOwnedAccessKey } from "./owned-access-key.ts";
import { reconcileRequesterGrant } from "./requester-grant.ts";
import { reconcileSharedSecret } from "./shared-secret.ts";
import { reconcileSigningKeys } from "./signing-keys.ts";
import { SourceData } from "./source-data.ts";
import { TargetFailures } from "./target-failures.ts";
import { TokenQuota, type TokenQuotaConfig } from "./token-quota.ts";

/** How the controller behaves; durations in seconds. */
export interface ControllerOptions
  extends OwnedAccessKeyConfig, EndpointTokenConfig, TokenQuotaConfig {
  readonly namespace: string;
  readonly prefixes: Prefixes;
  /** Whether namespaces without `sync-from` take no copies. */
  readonly requireSyncFrom: boolean;
  /** Objects of a kind that are worked on at a time. */
  readonly workers: number;
  /** Targets that are written at a time. */
  readonly writers: number;
  /** How long grants stay after a deletion, and the object after its grants, in milliseconds. */
  readonly grantSettleTime: number;
}

/** What the controller needs around it; both clients are fenced by the Lease. */
export interface ControllerDeps {
  readonly client: Client;
  /** Writes copies alone. */
  readonly copyClient: Client;
  readonly listWatch: ListWatch;
  /** Shared by all that would keep the event loop to itself. */
  readonly yielder: Yielder;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * The controller: its informers follow the API server in every process, its loops run in the
 * leader's.
 */
export interface Controller {
  readonly informers: Informers;
  /** Follows the API server until the signal aborts. */
  follow(signal: AbortSignal): Promise<void>;
  /**
   * Keeps everything true until the signal aborts; resolves when the passes in flight have ended.
   */
  lead(signal: AbortSignal): Promise<void>;
}

/** Builds the controller; nothing runs yet. */
export function createController(options: ControllerOptions, deps: ControllerDeps): Controller {
  let handlers: ChangeHandlers | undefined;
  const { yielder } = deps;
  const recovery = new Recovery();
  const informers = createInformers(
    { ...deps, recovery },
    {
      ...options,
      on: countingObjects(
        forwardTo(() => handlers),
        deps.metrics,
      ),
    },
  );
  deps.metrics.watches(informers.watches);
  return {
    informers,
    follow: (signal) => informers.run(signal),
    async lead(signal) {
      await informers.current(signal);
      if (signal.aborted) return;
      const queues = createQueues(deps);
      const deletions = new Deletions(deps.clock);
      const failures = createFailures(queues, deps, () => changes);
      const changes: Changes = createChanges({
        queues,
        stores: informers.stores,
        deletions,
        copyFailures: failures.copyFailures,
        clock: deps.clock,
        yielder,
      });
      handlers = changes.handlers;
      const stopRetrying = recovery.onRecovered(() =>
        Object.values(queues).forEach((queue) => queue.retryNow()),
      );
      try {
        await changes.addEverything();
        await runLoops({ options, deps, yielder, informers, deletions, queues, failures, signal });
      } finally {
        stopRetrying();
        handlers = undefined;
      }
    },
  };
}

interface Leading {
  readonly options: ControllerOptions;
  readonly deps: ControllerDeps;
  readonly yielder: Yielder;
  readonly informers: Informers;
  readonly deletions: Deletions;
  readonly queues: Queues;
  readonly failures: AllFailures;
  readonly signal: AbortSignal;
}

async function runLoops({
  options,
  deps,
  yielder,
  informers,
  deletions,
  queues,
  failures,
  signal,
}: Leading): Promise<void> {
  const { client, copyClient, clock, log, metrics, events } = deps;
  const { stores } = informers;
  const held = new FinalizedObjects();
  const tokenQuota = new TokenQuota(options);
  // What is valid counts before anything is minted.
  await yielder.forEach(stores.tokens.values(), (token) => tokenQuota.note(token));
  const observe = (resource: Resource, answer: unknown): void => {
    if (resource === resources.ownedAccessKeys || resource === resources.endpointTokens)
      held.note(answer);
    informers.observe(resource, answer);
  };
  const shared = {
    ...options,
    config: options,
    client,
    clock,
    yielder,
    log,
    stores,
    deletions,
    ...failures,
    keyResolver: createKeyResolver({
      keys: stores.keys,
      policies: stores.requesterPolicies,
      config: options,
    }),
    held,
    tokenQuota,
    observe,
    refresh: informers.refresh,
    recordEvent: events.record.bind(events),
  };
  const copying = {
    ...shared,
    client: copyClient,
    sourceData: new SourceData({ client, digestOf: informers.digestOf }),
  };
  const sharing = {
    ...shared,
    failureAt: (target: Key) => failures.copyFailures.at(target),
    waitingSince: new Map<string, number>(),
  };
  const loop = (
    name: string,
    queue: WorkQueue,
    reconcile: (key: Key) => Promise<Result>,
    workers = options.workers,
  ): Promise<void> =>
    runLoop({
      name,
      queue,
      reconcile,
      workers,
      signal,
      clock,
      yielder,
      log,
      metrics: metrics.controller(name),
    });
  await Promise.all([
    loop("sharedsecret", queues.sharedSecret, (key) => reconcileSharedSecret(key, sharing)),
    loop("copy", queues.copy, (key) => reconcileCopy(key, copying), options.writers),
    loop("ownedaccesskey", queues.key, (key) => reconcileOwnedAccessKey(key, shared)),
    loop("directclusterendpointtoken", queues.token, (key) => reconcileEndpointToken(key, shared)),
    loop("requestergrant", queues.grant, (key) => reconcileRequesterGrant(key, shared)),
    loop("connectordata", queues.connectorData, (key) => reconcileConnectorData(key, shared)),
    loop("signingkeys", queues.signingKeys, () => reconcileSigningKeys(shared), 1),
  ]);
}

interface AllFailures {
  readonly copyFailures: TargetFailures;
  readonly sharedSecretFailures: Failures;
  readonly keyFailures: Failures;
  readonly tokenFailures: Failures;
  readonly grantFailures: Failures;
}

/** What this leader remembers of failures; `changes` follow what is said of targets and grants. */
function createFailures(
  queues: Queues,
  { clock, log }: Pick<ControllerDeps, "clock" | "log">,
  changes: () => Pick<Changes, "recount" | "addStampedBy"> | undefined,
): AllFailures {
  const again = (queue: WorkQueue): Pick<FailuresDeps, "clock" | "lookAgainAt"> => ({
    clock,
    lookAgainAt: (key, at) => queue.addAt(key, at),
  });
  // What is said no longer leaves the status with the next pass; what is said is written by the
  // pass that failed.
  const own = (queue: WorkQueue): Failures =>
    new Failures({
      ...again(queue),
      onChange: (key, said) => (said === undefined ? queue.add(key, "high") : undefined),
    });
  return {
    copyFailures: new TargetFailures({
      ...again(queues.copy),
      log,
      recount: (target) => changes()?.recount(target),
    }),
    sharedSecretFailures: own(queues.sharedSecret),
    keyFailures: own(queues.key),
    tokenFailures: own(queues.token),
    grantFailures: new Failures({
      ...again(queues.grant),
      onChange: (hash) => changes()?.addStampedBy(hash),
    }),
  };
}

function createQueues({ clock, random, metrics }: ControllerDeps): Queues {
  const queue = (name: string): WorkQueue =>
    new WorkQueue({ clock, random, metrics: metrics.queue(name) });
  return {
    sharedSecret: queue("sharedsecret"),
    copy: queue("copy"),
    key: queue("ownedaccesskey"),
    token: queue("directclusterendpointtoken"),
    grant: queue("requestergrant"),
    signingKeys: queue("signingkeys"),
    connectorData: queue("connectordata"),
  };
}

/** Handlers that reach whoever leads now, and nobody while nobody does. */
function forwardTo(current: () => ChangeHandlers | undefined): ChangeHandlers {
  return {
    sharedSecret: (change) => current()?.sharedSecret(change),
    namespace: (change) => current()?.namespace(change),
    copy: (change) => current()?.copy(change),
    unmanagedSecret: (change) => current()?.unmanagedSecret(change),
    role: (change) => current()?.role(change),
    grant: (change) => current()?.grant(change),
    key: (change) => current()?.key(change),
    token: (change) => current()?.token(change),
    policy: () => current()?.policy(),
    signingKeys: () => current()?.signingKeys(),
    connectorData: (change) => current()?.connectorData(change),
    scopeRole: () => current()?.scopeRole(),
    resourceQuota: (change) => current()?.resourceQuota(change),
  };
}
