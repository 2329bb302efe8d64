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

/** What the objects of a kind are called in paths and in RBAC. */
export interface ServedKind {
  readonly group: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/**
 * What the API server serves (Kubernetes API concepts, "Discovery API"), from one document that is
 * kept in memory.
 */
export interface Discovery {
  /**
   * Whether a resource is namespaced, by the cached document; undefined if it does not contain the
   * resource.
   */
  known(group: string, plural: string): Exclude<ResourceScope, "Unknown"> | undefined;
  /**
   * The same; what is not known waits for one refresh. Throws a KubeError when the API server does
   * not answer.
   */
  find(group: string, plural: string): Promise<ResourceScope>;
  /**
   * The resource of a kind; what is not known waits for one refresh. Undefined when there is none;
   * throws a KubeError when the API server does not answer.
   */
  kindOf(apiVersion: string, kind: string): Promise<ServedKind | undefined>;
  /** Reads the document at the start and once an hour, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** What discovery needs. */
export interface DiscoveryDeps {
  readonly transport: Pick<Transport, "request">;
  readonly clock: Pick<Clock, "monotonic" | "wakeAfter">;
  readonly log: Pick<Logger, "warn">;
}

/** Minimum time between the starts of two refreshes, for any number of unknown resources. */
const spacingMs = 1_000;
const refreshEveryMs = 60 * 60 * 1000;
const retryEveryMs = 5_000;

interface Known {
  readonly scopes: ReadonlyMap<string, ServedResource["scope"]>;
  readonly kinds: ReadonlyMap<string, ServedKind>;
}

/**
 * An apiVersion is `group/version` or `version`; what else it could hold would lead to another
 * path.
 */
const apiVersionForm = /^(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Discovery of one API server; nothing is read yet. */
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
    // Who asks from now on waits for the next refresh: what this one reads may be older than the
    // question.
    waiting = undefined;
    lastBegan = clock.monotonic();
    const [core, groups] = await Promise.all([read("/api"), read("/apis")]);
    known = index([...core, ...groups]);
  }

  /** Resolves when a document has been read with a request that was sent after this call. */
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
    // Where the versions of a group disagree, the one counts that fewer rules cover.
    scopes.set(resource, scopes.get(resource) === "Namespaced" ? "Namespaced" : scope);
    const named = kindKey(group === "" ? version : [group, version].join("/"), kind);
    if (!kinds.has(named)) kinds.set(named, { group, plural, namespaced: scope === "Namespaced" });
  }
  return { scopes, kinds };
}

/** A space is in no name of a group, version, resource or kind. */
function resourceKey(group: string, plural: string): string {
  return `${group} ${plural}`;
}

function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`;
}
