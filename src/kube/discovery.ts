import {
  aggregatedDiscovery,
  parseGroupDiscovery,
  type ResourceScope,
  type ServedResource,
} from "../api/discovery.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { sleep } from "../runtime/sleep.ts";
import { bodyOf } from "./responses.ts";
import { isKubeError, KubeError } from "./errors.ts";
import type { Transport } from "./transport.ts";

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
   * KubeError if the refresh fails.
   */
  find(group: string, plural: string): Promise<ResourceScope>;
  /**
   * The resource of a kind; waits for one refresh if it is not in the cache. Undefined if the API
   * server does not serve it; rejects with a KubeError if the refresh fails.
   */
  kindOf(apiVersion: string, kind: string): Promise<ServedKind | undefined>;
  /** Refreshes the cache at the start and once an hour, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Dependencies of {@link createDiscovery}. */
export interface DiscoveryDeps {
  readonly transport: Pick<Transport, "request">;
  readonly clock: Pick<Clock, "monotonic" | "wakeAfter">;
  readonly log: Pick<Logger, "warn">;
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
}

/** The format of an apiVersion, `group/version` or `version`; any other text gets no refresh. */
const apiVersionForm = /^(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Creates a discovery with an empty cache. */
export function createDiscovery({ transport, clock, log }: DiscoveryDeps): Discovery {
  let known: Known = { scopes: new Map(), kinds: new Map() };
  let lastBegan = -Infinity;
  let waiting: Promise<void> | undefined;

  async function read(path: string): Promise<readonly ServedResource[]> {
    const call = { method: "GET", path, accept: aggregatedDiscovery } as const;
    const resources = parseGroupDiscovery(bodyOf(call, await transport.request(call)));
    if (resources === undefined)
      throw new KubeError(`GET ${path}: response is not an APIGroupDiscoveryList`, {
        code: "ServerError",
        status: 0,
      });
    return resources;
  }

  async function refresh(): Promise<void> {
    const early = lastBegan + spacingMs - clock.monotonic();
    await (early > 0 ? sleep(early, { clock }) : Promise.resolve());
    // A later call waits for the next refresh, because this one may read a state from before the
    // call.
    waiting = undefined;
    lastBegan = clock.monotonic();
    const [core, groups] = await Promise.all([read("/api"), read("/apis")]);
    known = index([...core, ...groups]);
  }

  /** Resolves after a refresh whose requests were sent after this call. */
  function refreshed(): Promise<void> {
    return (waiting ??= refresh());
  }

  const scopeOf = (group: string, plural: string): ServedResource["scope"] | undefined =>
    known.scopes.get(resourceKey(group, plural));
  return {
    known: scopeOf,
    async find(group, plural) {
      if (scopeOf(group, plural) === undefined) await refreshed();
      return scopeOf(group, plural) ?? "Unknown";
    },
    async kindOf(apiVersion, kind) {
      if (!apiVersionForm.test(apiVersion)) return undefined;
      if (!known.kinds.has(kindKey(apiVersion, kind))) await refreshed();
      return known.kinds.get(kindKey(apiVersion, kind));
    },
    async run(signal) {
      while (!signal.aborted) {
        const wait = await refreshed().then(
          () => refreshEveryMs,
          (error: unknown) => {
            if (!isKubeError(error)) throw error;
            log.warn({ error }, "discovery failed, retrying");
            return retryEveryMs;
          },
        );
        await sleep(wait, { clock, signal });
      }
    },
  };
}

function index(resources: readonly ServedResource[]): Known {
  const scopes = new Map<string, ServedResource["scope"]>();
  const kinds = new Map<string, ServedKind>();
  for (const { group, version, plural, kind, scope } of resources) {
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
