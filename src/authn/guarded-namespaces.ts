import { labels } from "../api/names.ts";
import { recordAt, stringAt, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { ScopeLimit } from "../api/scope.ts";
import {
  connectedLocation,
  namedUpstream,
  upstreamName,
} from "../domain/gateway/connected-cluster.ts";
import { connectedPolicies } from "../domain/gateway/connected-policy.ts";
import { dependsOnLabels } from "../domain/scope/entry-kinds.ts";
import { locationOf, type RequestLocation } from "../domain/scope/scoped-request.ts";
import type { Client } from "../kube/client/client.ts";
import { isFresh, staleReason } from "../kube/informer/cache-freshness.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { ListWatch } from "../kube/informer/list-watch.ts";
import type { Change } from "../kube/informer/store.ts";
import { aborted, type Leaving, sleep } from "../runtime/clock.ts";
import { saidOnce } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { ProcessPart } from "../runtime/run-process.ts";
import { SharedWait } from "../runtime/shared-wait.ts";
import { FollowedPolicy } from "../policies/followed-policy.ts";
import { type LatchkeyNamespacesDeps, withLatchkeyNamespaces } from "./latchkey-namespaces.ts";
import { exposeLabelTrust, oneLocation, type RequestLocations } from "./request-locations.ts";

/** What following the namespaces of a cluster needs; the client is that of the cluster. */
interface GuardedNamespacesDeps extends InformerDeps {
  readonly client: Pick<Client, "get">;
  /** Called for each change of what decides about requests. */
  readonly onChange: () => void;
}

/** The labels of a namespace that say where it belongs. */
type ProjectLabels = Readonly<Record<string, string>>;

/** The namespaces in the cluster, until they are too many. */
interface Following {
  readonly informer: Informer<ProjectLabels>;
  readonly stop: AbortController;
}

/** How soon all requests in progress are decided again when labels do not count any more. */
const lookEveryMs = 1_000;
/** How long the first request waits; later ones get the answer of now. */
const mostWaitMs = 5_000;
const pollMs = 100;
/**
 * Maximum number of namespaces with a project: twice as many as a cluster should have of all
 * (Kubernetes, "Considerations for large clusters"). Another administrator decides their number.
 */
const mostNamespaces = 20_000;
/** Of names, uids and values of labels. */
const mostLength = 63;

const effect = "projects, spaces, virtual clusters and roles cover nothing";
const excess = `more than ${mostNamespaces} namespaces have the label ${labels.project}`;

/**
 * The project, space and virtual cluster of the namespaces of a cluster that is not the central
 * one. Labels count only while the cluster enforces the policy that guards them and its namespaces
 * are known: else a user who may change a namespace there moves it into the scope of a credential.
 */
export class GuardedNamespaces implements RequestLocations {
  readonly #base: RequestLocation;
  readonly #deps: GuardedNamespacesDeps;
  readonly #policy: FollowedPolicy;
  readonly #stop = new AbortController();
  #ran: Promise<unknown> | undefined;
  #isDecided: SharedWait<void> | undefined;
  #following: Following | undefined;
  #read: Promise<void> | undefined;
  #isExceeded = false;
  /** What was logged last; undefined before. */
  #said: string | undefined;
  #counted = false;

  /** `base` is the location of every request to the cluster. */
  constructor(base: RequestLocation, deps: GuardedNamespacesDeps) {
    this.#base = base;
    this.#deps = deps;
    this.#policy = new FollowedPolicy(connectedPolicies.projectAssignment, {
      ...deps,
      onAnswer: () => this.#policyAnswered(),
    });
  }

  /** Follows the cluster until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#start();
    await aborted(signal);
    await this.close();
  }

  /** Ends what {@link run} or {@link decided} began. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#following?.stop.abort();
    await Promise.all([this.#ran, this.#read]);
  }

  /**
   * Follows the cluster from now on, if one of the scopes depends on labels, and waits until it is
   * known whether labels count, for at most 5 s after the first request. Rejects with the reason of
   * `left` as soon as it aborts.
   */
  async decided(scopes: readonly ScopeLimit[], left?: Leaving): Promise<void> {
    if (scopes.some(dependsOnLabels)) await this.#start().wait(left?.signal);
  }

  locationOf(namespace: string): RequestLocation {
    const store = this.#counts() ? this.#following?.informer.store : undefined;
    return locationOf(this.#base, store?.get(namespace));
  }

  get areTrusted(): boolean | undefined {
    return this.#ran === undefined ? undefined : this.#counts();
  }

  warnings(): readonly string[] {
    const problem = this.#ran === undefined ? undefined : this.#problem();
    return problem === undefined ? [] : [`${effect} in cluster ${this.#base.cluster}: ${problem}`];
  }

  denialOf(reason: string, scopes: readonly ScopeLimit[]): string {
    const problem = scopes.some(dependsOnLabels) ? this.#problem() : undefined;
    return problem === undefined ? reason : `${reason}; ${effect} in this cluster: ${problem}`;
  }

  #counts(): boolean {
    const { clock } = this.#deps;
    const informer = this.#following?.informer;
    return (
      informer !== undefined &&
      this.#policy.problem() === undefined &&
      isFresh(informer.watchState, clock.monotonic())
    );
  }

  #problem(): string | undefined {
    const problem = this.#policy.problem() ?? (this.#isExceeded ? excess : undefined);
    if (problem !== undefined) return problem;
    if (this.#following === undefined) return "its namespaces have not been read yet";
    const { informer } = this.#following;
    const now = this.#deps.clock.monotonic();
    return staleReason(informer.resource.plural, informer.watchState, now);
  }

  #start(): SharedWait<void> {
    const { signal } = this.#stop;
    this.#ran ??= Promise.all([this.#policy.run(signal), this.#look(signal)]);
    return (this.#isDecided ??= new SharedWait(this.#untilDecided(signal)));
  }

  async #untilDecided(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const until = clock.monotonic() + mostWaitMs;
    const isDecided = (): boolean =>
      this.#counts() || this.#isExceeded || (this.#policy.isKnown && !!this.#policy.problem());
    while (!isDecided() && !signal.aborted && clock.monotonic() < until)
      await sleep(pollMs, { clock, signal });
  }

  /** The namespaces are read once the policy is there: before, none of their labels counts. */
  #policyAnswered(): void {
    const isDue = this.#following === undefined && !this.#stop.signal.aborted;
    if (isDue && this.#policy.problem() === undefined) this.#follow();
    this.#report();
  }

  #follow(): void {
    this.#isExceeded = false;
    const stop = new AbortController();
    const { listWatch, log } = this.#deps;
    const exceed = (): void => {
      this.#isExceeded = true;
      this.#following = undefined;
      stop.abort();
      this.#report();
    };
    const informer = new Informer<ProjectLabels>(
      {
        listOptions: {
          resource: resources.namespaces,
          metadataOnly: true,
          labelSelector: labels.project,
        },
        parse: projectLabels,
        onChange: (change) => {
          if (informer.store.size > mostNamespaces) exceed();
          if (isChanged(change) && this.#counts()) this.#deps.onChange();
        },
      },
      { ...this.#deps, listWatch: boundedLists(listWatch, exceed), log: saidOnce(log) },
    );
    this.#following = { informer, stop };
    this.#read = informer.run(stop.signal);
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#report();
      await sleep(lookEveryMs, { clock: this.#deps.clock, signal });
    }
  }

  /** Logs whether labels count if that has changed, and has requests in progress decided again. */
  #report(): void {
    const { log, onChange } = this.#deps;
    const { cluster } = this.#base;
    const counts = this.#counts();
    if (counts !== this.#counted) onChange();
    this.#counted = counts;
    const why = this.#problem();
    // The reason of a silent watch has the seconds in it.
    const said = this.#policy.problem() ?? String(counts);
    if (!this.#policy.isKnown || said === this.#said) return;
    if (counts) log.info({ cluster }, "labels of namespaces count in the cluster");
    else if (this.#said !== undefined || this.#policy.problem() !== undefined)
      log.warn({ cluster, why }, "labels of namespaces do not count in the cluster");
    this.#said = said;
  }
}

/** The name of a cluster, as `--cluster-name` gives it. */
interface NamedCluster {
  readonly clusterName: string;
  readonly virtualClusterNamespace: string | undefined;
}

/** Where requests to the cluster of the process itself are, with its metric. */
export function ownLocations(
  { clusterName, virtualClusterNamespace }: NamedCluster,
  deps: GuardedNamespacesDeps & LatchkeyNamespacesDeps & { readonly metrics: Metrics },
): RequestLocations & ProcessPart {
  const connected = namedUpstream(clusterName);
  const base = connectedLocation(connected, virtualClusterNamespace);
  // In the cluster of a project, labels of namespaces are those of a tenant.
  if (base.project !== undefined) return withLatchkeyNamespaces(oneLocation(base), deps);
  const namespaces = new GuardedNamespaces(base, deps);
  const name = upstreamName(connected) ?? clusterName;
  exposeLabelTrust(() => [[name, namespaces.areTrusted === true]], deps.metrics);
  const run = (signal: AbortSignal): Promise<void> => namespaces.run(signal);
  return Object.assign(withLatchkeyNamespaces(namespaces, deps), { run });
}

/** The labels that count, of a namespace; undefined for one that no API server would have. */
function projectLabels(raw: unknown): ProjectLabels | undefined {
  const metadata = recordAt(raw, "metadata");
  const found = stringMapAt(metadata, "labels");
  const own = [labels.project, labels.space, labels.virtualCluster].flatMap((label) => {
    const value = found[label];
    return value === undefined ? [] : [[label, value] as const];
  });
  const kept = ["name", "uid", "resourceVersion"].map((field) => stringAt(metadata, field) ?? "");
  const isSmall = [...kept, ...own.flat()].every((text) => text.length <= mostLength);
  return isSmall ? Object.fromEntries(own) : undefined;
}

function isChanged({ before, after }: Change<ProjectLabels>): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

/** Ends a list that has more than {@link mostNamespaces} objects. */
function boundedLists(listWatch: ListWatch, exceed: () => void): ListWatch {
  return {
    list(selection, signal, onEvents) {
      let listed = 0;
      return listWatch.list(selection, signal, async (events) => {
        listed += events.length;
        if (listed > mostNamespaces) exceed();
        signal.throwIfAborted();
        await onEvents(events);
      });
    },
    watch: (selection, from, onEvents) => listWatch.watch(selection, from, onEvents),
    version: (selection) => listWatch.version(selection),
    get: (selection, ref) => listWatch.get(selection, ref),
  };
}
