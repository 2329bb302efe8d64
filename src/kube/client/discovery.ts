import { excessIn, type JsonBounds } from "../../api/bounded-json.ts";
import {
  aggregatedDiscovery,
  parseGroupDiscovery,
  type ResourceScope,
  type ServedResource,
  staleGroups,
} from "../../api/discovery.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/log.ts";
import { SharedWait } from "../../runtime/shared-wait.ts";
import type { TimeShare } from "../../runtime/time-share.ts";
import { bodyOf } from "./response-body.ts";
import { isKubeError, KubeError } from "./kube-error.ts";
import type { ApiRequest, ApiResponse, RoundTripper } from "./transport.ts";

/** The resource of a kind, as in paths and RBAC rules. */
export interface ServedKind {
  readonly group: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/**
 * The resources that the API server serves (Kubernetes API concepts, "Discovery API"), cached in
 * memory.
 */
export interface Discovery {
  /** The scope of a resource; undefined if it is not in the cache. */
  known(group: string, plural: string): Exclude<ResourceScope, "Unknown"> | undefined;
  /**
   * The scope of a resource; waits for one refresh if it is not in the cache. Rejects with a
   * KubeError if the refresh fails or the server of the group does not answer, and with the reason
   * of `left` as soon as it aborts: nothing refers to a caller that has left.
   */
  find(group: string, plural: string, left?: AbortSignal): Promise<ResourceScope>;
  /**
   * The resource of a kind; waits for one refresh if it is not in the cache. Undefined if the API
   * server does not serve it; rejects with a KubeError if the refresh fails.
   */
  kindOf(apiVersion: string, kind: string): Promise<ServedKind | undefined>;
  /** Refreshes the cache at the start and once an hour, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Dependencies of {@link createDiscovery}. */
interface DiscoveryDeps {
  readonly transport: RoundTripper;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "debug">;
  /** Absent for the API server of the cluster that Latchkey runs in. */
  readonly bounds?: DiscoveryBounds;
}

/** Bounds for an API server that others run. */
export interface DiscoveryBounds {
  /** Maximum number of resources, where each version counts; more of them fail a refresh. */
  readonly mostResources: number;
  /**
   * Milliseconds after a failed refresh without another one, doubled with each further failure:
   * what needs a refresh then fails at once, with the error of the last one.
   */
  readonly pauseMs: { readonly first: number; readonly longest: number };
  /** Of one document. */
  readonly document: JsonBounds;
  /** For the time that parsing them takes; a refresh waits when it is used up. */
  readonly share: TimeShare;
}

/**
 * Minimum time between the starts of two refreshes, independent of the number of unknown resources.
 */
const spacingMs = 1_000;
const refreshEveryMs = 60 * 60 * 1000;
const retryEveryMs = 5_000;

interface Known {
  readonly scopes: ReadonlyMap<string, ServedResource["scope"]>;
  readonly kinds: ReadonlyMap<string, ServedKind>;
  /** The groups whose resources may not all be known. */
  readonly stale: ReadonlySet<string>;
}

/** The longest name of a group (Kubernetes, "DNS Subdomain Names"); the other names are shorter. */
const longestName = 253;

/** The format of an apiVersion, `group/version` or `version`; any other text gets no refresh. */
const apiVersionForm = /^(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Creates a discovery with an empty cache. */
export function createDiscovery(deps: DiscoveryDeps): Discovery {
  return new CachedDiscovery(deps);
}

class CachedDiscovery implements Discovery {
  readonly #deps: DiscoveryDeps;
  readonly #pause: FailurePause;
  #known: Known = { scopes: new Map(), kinds: new Map(), stale: new Set() };
  #lastBegan = -Infinity;
  /** The refresh that reads now; a later call may not use it, and waits for the next one. */
  #reading: Promise<void> = Promise.resolve();
  #waiting: SharedWait<void> | undefined;

  constructor(deps: DiscoveryDeps) {
    this.#deps = deps;
    this.#pause = new FailurePause(deps);
  }

  known(group: string, plural: string): ServedResource["scope"] | undefined {
    return this.#known.scopes.get(resourceKey(group, plural));
  }

  async find(group: string, plural: string, left?: AbortSignal): Promise<ResourceScope> {
    if (this.known(group, plural) === undefined) await this.#refreshed(left);
    const scope = this.known(group, plural);
    if (scope === undefined && this.#known.stale.has(group)) throw unavailable(group);
    return scope ?? "Unknown";
  }

  async kindOf(apiVersion: string, kind: string): Promise<ServedKind | undefined> {
    if (!apiVersionForm.test(apiVersion)) return undefined;
    if (!this.#known.kinds.has(kindKey(apiVersion, kind))) await this.#refreshed();
    return this.#known.kinds.get(kindKey(apiVersion, kind));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    while (!signal.aborted) {
      const wait = await this.#refreshed().then(
        () => refreshEveryMs,
        (error: unknown) => {
          if (!isKubeError(error)) throw error;
          log.warn({ code: error.code, why: error.message }, "discovery failed, retrying");
          return retryEveryMs;
        },
      );
      await sleep(wait, { clock, signal });
    }
  }

  /** Resolves after a refresh whose requests were sent after this call. */
  #refreshed(left?: AbortSignal): Promise<void> {
    this.#waiting ??= new SharedWait(this.#refresh());
    return this.#waiting.wait(left);
  }

  async #refresh(): Promise<void> {
    const { clock, bounds } = this.#deps;
    await this.#reading.catch(() => undefined);
    const early = this.#lastBegan + spacingMs - clock.monotonic();
    if (!this.#pause.isOn) {
      if (early > 0) await sleep(early, { clock });
      await bounds?.share.caughtUp();
    }
    this.#waiting = undefined;
    this.#pause.check();
    this.#lastBegan = clock.monotonic();
    this.#reading = this.#read();
    await this.#reading;
  }

  async #read(): Promise<void> {
    try {
      const [core, groups] = await Promise.all([this.#resources("/api"), this.#resources("/apis")]);
      this.#known = {
        ...index([...core.resources, ...groups.resources]),
        stale: new Set(groups.stale),
      };
      this.#pause.succeeded();
    } catch (error) {
      this.#pause.failed(error);
      throw error;
    }
  }

  async #resources(path: string): Promise<ServedGroups> {
    const { transport, bounds } = this.#deps;
    const call = { method: "GET", path, accept: aggregatedDiscovery } as const;
    const response = await transport.request(call);
    const read = (): ReadDocument => readDocument(call, response, bounds);
    const found = bounds === undefined ? read() : bounds.share.timed(read);
    if (typeof found !== "string") return found;
    throw new KubeError(`GET ${path}: ${found}`, { code: "ServerError", status: 0 });
  }
}

/** What a document says. */
interface ServedGroups {
  readonly resources: readonly ServedResource[];
  readonly stale: readonly string[];
}

/** The content of a document, or why it is not read. */
type ReadDocument = ServedGroups | string;

function readDocument(
  call: ApiRequest,
  response: ApiResponse,
  bounds: DiscoveryBounds | undefined,
): ReadDocument {
  const excess = bounds && excessIn(response.text, bounds.document);
  if (excess !== undefined) return `the response has ${excess}`;
  const document = bodyOf(call, response);
  const resources = parseGroupDiscovery(document);
  if (resources === undefined) return "response is not an APIGroupDiscoveryList";
  const most = bounds?.mostResources ?? Infinity;
  return resources.length > most
    ? `the response has more than ${most} resources`
    : { resources, stale: staleGroups(document) };
}

/** The reason of an error about a group whose server does not answer. */
export const groupUnavailable = "GroupUnavailable";

function unavailable(group: string): KubeError {
  const explanation = `the API server of the group ${group} does not answer; retry`;
  return new KubeError(explanation, {
    code: "ServerError",
    status: 503,
    reason: groupUnavailable,
    explanation,
  });
}

/** Keeps a server that failed from being asked again at once, if it has bounds. */
class FailurePause {
  readonly #deps: DiscoveryDeps;
  #failures = 0;
  #endsAt = -Infinity;
  #error: unknown;

  constructor(deps: DiscoveryDeps) {
    this.#deps = deps;
  }

  get isOn(): boolean {
    return this.#deps.clock.monotonic() < this.#endsAt;
  }

  /** Throws the last error during the pause. */
  check(): void {
    if (this.isOn) throw this.#error;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  failed(error: unknown): void {
    const { clock, bounds, log } = this.#deps;
    if (bounds === undefined) return;
    const { first, longest } = bounds.pauseMs;
    const pauseMs = Math.min(first * 2 ** this.#failures, longest);
    this.#failures += 1;
    this.#endsAt = clock.monotonic() + pauseMs;
    this.#error = error;
    // A cluster may be away for days.
    log[this.#failures === 1 ? "warn" : "debug"](
      { error, seconds: pauseMs / 1000 },
      "discovery of a connected cluster failed, pausing",
    );
  }
}

function index(resources: readonly ServedResource[]): Omit<Known, "stale"> {
  const scopes = new Map<string, ServedResource["scope"]>();
  const kinds = new Map<string, ServedKind>();
  for (const { group, version, plural, kind, scope } of resources) {
    if ([group, version, plural, kind].some((name) => name.length > longestName)) continue;
    const resource = resourceKey(group, plural);
    // If the versions of a group differ, Namespaced applies, because fewer scope rules cover it.
    scopes.set(resource, scopes.get(resource) === "Namespaced" ? "Namespaced" : scope);
    const named = kindKey(group === "" ? version : [group, version].join("/"), kind);
    if (!kinds.has(named)) kinds.set(named, { group, plural, namespaced: scope === "Namespaced" });
  }
  return { scopes, kinds };
}

/** Names of groups, versions, resources and kinds contain no space, so the key is unique. */
function resourceKey(group: string, plural: string): string {
  return `${group} ${plural}`;
}

function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`;
}
