import { labels } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import { parseMetadata } from "../api/parse.ts";
import { requesterAnnotationsOf } from "../api/requester.ts";
import { resources } from "../api/resources.ts";
import { type ObservedRole, parseRole } from "../api/role.ts";
import type { SecretText } from "../api/secret-text.ts";
import { connectorDataRef } from "../domain/access-key/connector-data.ts";
import { rankedCandidates } from "../domain/access-key/duplicate-key.ts";
import type { KeyConfig, ResolvedKey } from "../domain/access-key/key-state.ts";
import type { Issuers } from "../domain/oidc/trusted-tokens.ts";
import { type ScopeRoles, scopeRolesIn } from "../domain/scope/scope-roles.ts";
import {
  locationOf,
  managementLocation,
  type RequestLocation,
} from "../domain/scope/scoped-request.ts";
import { areFresh, staleReasons } from "../kube/informer/cache-freshness.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Change } from "../kube/informer/store.ts";
import { type WatchReading, watchReadings } from "../kube/informer/watch-metrics.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { accessKeyCacheEntry, presentedKey } from "../tokens/access-key.ts";
import { accessKeyCodec } from "./access-key-codec.ts";
import { createKeyResolver, keyIndexers, keyIndexes } from "../domain/access-key/key-resolver.ts";
import {
  type IssuerConfigOptions,
  issuerConfig,
  issuersIn,
  issuersProblem,
  logIssuers,
  type ObservedIssuers,
} from "./issuer-config.ts";
import { requesterPolicyInformers } from "./requester-policies.ts";

/** The result of a lookup; `malformed` for a text that cannot be a key, which is not looked up. */
type LookupResult = ResolvedKey | "malformed" | "unknown";

/**
 * A cache of all access keys and of the objects that decide about them: namespaces, scope roles and
 * requester policies.
 */
export interface AccessKeyCache {
  /** Runs the informers until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  readonly synced: Promise<void>;
  /**
   * Whether the cache is at most 30 s old, by the monotonic clock; otherwise it must not be used.
   */
  isFresh(): boolean;
  /** Why the cache is not fresh, one sentence for each resource; empty if it is fresh. */
  staleReasons(): readonly string[];
  /** The watches and the number of objects of each resource. */
  watches(): readonly WatchReading[];
  /**
   * Whether the watch of keys is open, so that the cache contains keys that were created a moment
   * ago.
   */
  isWatchOpen(): boolean;
  /** Looks up a presented key. */
  lookup(presented: SecretText): LookupResult;
  /**
   * Whether the issuers are at most 30 s old. Keys do not depend on it: a process without the right
   * to read the ConfigMap serves them and refuses tokens.
   */
  areIssuersFresh(): boolean;
  /** The issuers that count. */
  issuers(): Issuers;
  /** Why the text of the issuers is not taken, in one sentence; undefined if it is. */
  issuersProblem(): string | undefined;
  /** The key whose object has this name. */
  byName(name: string): ResolvedKey | undefined;
  /** The key whose object has this uid. */
  byId(uid: string): ResolvedKey | undefined;
  /** All keys with this index. */
  ofIndex(index: string): readonly ObservedAccessKey[];
  /**
   * The keys with the index of a presented key that may own it, whether their digest matches or
   * not.
   */
  withIndexOf(presented: SecretText): readonly ObservedAccessKey[];
  /** Number of keys of a requester, by the requester annotation, in any state. */
  countOf(requester: string): number;
  /** Whether a key references this Secret of connector data. */
  references(secret: string): boolean;
  /** Stores the response of an own write. */
  observe(answer: unknown): void;
  /** The location of a request in this namespace; an empty string means no namespace. */
  locationOf(namespace: string): RequestLocation;
  roles(): ScopeRoles;
}

const refIndex = "connector-data";

/** Resolved keys that are remembered, of some kilobytes each, as those that the store decodes. */
const mostResolved = 1_000;

/** Empty status of all cache entries, to save memory: the cache does not use it. */
const noStatus: Readonly<Record<string, unknown>> = {};
const noConditions = [] as const;

/** What the cache is built from. */
interface AccessKeyCacheDeps extends InformerDeps {
  readonly issuers: {
    /** What no issuer of tokens may have. */
    readonly taken: IssuerConfigOptions["taken"];
    /** Called with the issuers that count, before `onChange`. */
    readonly use: (issuers: Issuers) => void;
  };
  /** Called for each change of what decides about a request with a key. */
  readonly onChange?: () => void;
}

/** Creates the access key cache; watches start with `run`. */
export function createAccessKeyCache(deps: AccessKeyCacheDeps, config: KeyConfig): AccessKeyCache {
  const resolved = new Map<string, ResolvedKey>();
  const onChange = (): void => {
    resolved.clear();
    deps.onChange?.();
  };
  const counts = new RequesterCounts();
  const keys = keyInformer(deps, counts, onChange);
  const namespaces = namespaceInformer(deps, onChange);
  const scopeRoles = new ScopeRolesCache(deps, onChange);
  const policies = requesterPolicyInformers(deps, onChange);
  const all = [keys, namespaces, scopeRoles.informer, ...policies.informers];
  const issuers = issuerInformer(deps, config, ({ after }) => {
    if (after !== undefined) logIssuers(after, deps.log);
    deps.issuers.use(issuersIn(issuers.store));
    onChange();
  });

  const byIndex = (index: string): readonly ObservedAccessKey[] =>
    keys.store.by(keyIndexes.keyIndex, index);
  const resolver = createKeyResolver({
    keys: keys.store,
    policies: policies.stores,
    issuers: () => issuersIn(issuers.store),
    config,
  });
  /** Each key is resolved once until anything changes that it is resolved from. */
  const byId = (uid: string): ResolvedKey | undefined => {
    const known = resolved.get(uid);
    if (known !== undefined) return known;
    const found = resolver.byId(uid);
    if (resolved.size >= mostResolved) resolved.clear();
    if (found !== undefined) resolved.set(uid, found);
    return found;
  };

  return {
    run: async (signal) =>
      void (await Promise.all([...all, issuers].map((informer) => informer.run(signal)))),
    synced: Promise.all(all.map((informer) => informer.synced)).then(() => undefined),
    isFresh: () => areFresh(all, deps.clock.monotonic()),
    staleReasons: () => staleReasons(all, deps.clock.monotonic()),
    watches: () => watchReadings([...all, issuers], deps.clock),
    areIssuersFresh: () => areFresh([issuers], deps.clock.monotonic()),
    issuers: () => issuersIn(issuers.store),
    issuersProblem: () => issuersProblem(issuers.store),
    isWatchOpen: () => keys.isWatchOpen,
    lookup(presented) {
      const plain = presentedKey(presented);
      if (plain === undefined) return "malformed";
      const owner = rankedCandidates(byIndex(plain.index)).find((key) => plain.matches(key));
      return (owner && byId(owner.metadata.uid)) ?? "unknown";
    },
    byId,
    byName(name) {
      const uid = keys.store.get(name)?.metadata.uid;
      return uid === undefined ? undefined : byId(uid);
    },
    ofIndex: byIndex,
    withIndexOf: (presented) => rankedCandidates(byIndex(presentedKey(presented)?.index ?? "")),
    countOf: (requester) => counts.of(requester),
    references: (secret) => keys.store.by(refIndex, secret).length > 0,
    observe: (answer) => keys.observe(answer),
    locationOf: (namespace) =>
      locationOf(managementLocation, namespaces.store.get(namespace)?.labels),
    roles: () => scopeRoles.roles(),
  };
}

function referencedSecrets({ annotations }: Metadata): readonly string[] {
  const ref = connectorDataRef(annotations);
  return ref === undefined ? [] : [ref.secret];
}

function keyInformer(
  deps: InformerDeps,
  counts: RequesterCounts,
  onChange: () => void,
): Informer<ObservedAccessKey> {
  return new Informer<ObservedAccessKey>(
    {
      listOptions: { resource: resources.ownedAccessKeys },
      parse: (raw) => ({ ...accessKeyCacheEntry(raw), status: noStatus, conditions: noConditions }),
      indexers: { ...keyIndexers, [refIndex]: ({ metadata }) => referencedSecrets(metadata) },
      codec: accessKeyCodec,
      onChange({ before, after }) {
        counts.note(before?.metadata, after?.metadata);
        onChange();
      },
    },
    deps,
  );
}

function issuerInformer(
  { issuers: { taken }, ...deps }: AccessKeyCacheDeps,
  { namespace }: KeyConfig,
  onChange: (change: Change<ObservedIssuers>) => void,
): Informer<ObservedIssuers> {
  const { listOptions, parse, noteChange } = issuerConfig({ namespace, taken });
  return new Informer<ObservedIssuers>(
    {
      listOptions,
      parse,
      onChange(change) {
        noteChange(change);
        onChange(change);
      },
    },
    deps,
  );
}

function namespaceInformer(deps: InformerDeps, onChange: () => void): Informer<Metadata> {
  return new Informer<Metadata>(
    {
      listOptions: { resource: resources.namespaces, metadataOnly: true },
      parse: parseMetadata,
      onChange,
    },
    deps,
  );
}

/**
 * Counts objects by requester. An index of requester names would take more memory for each object.
 */
export class RequesterCounts {
  readonly #counts = new Map<string, number>();

  /** Records a change of one object. */
  note(before: Metadata | undefined, after: Metadata | undefined): void {
    this.#add(before, -1);
    this.#add(after, 1);
  }

  /** Number of objects of a requester. */
  of(requester: string): number {
    return this.#counts.get(requester) ?? 0;
  }

  #add(metadata: Metadata | undefined, difference: 1 | -1): void {
    const requester = metadata && requesterAnnotationsOf(metadata)?.name;
    if (requester === undefined) return;
    const count = this.of(requester) + difference;
    if (count === 0) this.#counts.delete(requester);
    else this.#counts.set(requester, count);
  }
}

/** The ClusterRoles that scopes name, by their label. */
class ScopeRolesCache {
  readonly informer: Informer<ObservedRole>;
  #roles: ScopeRoles | undefined;

  /** `onChange` is called for each change of a role. */
  constructor(deps: InformerDeps, onChange: () => void) {
    this.informer = new Informer<ObservedRole>(
      {
        listOptions: { resource: resources.clusterRoles, labelSelector: labels.scopeRole },
        parse: parseRole,
        onChange: () => {
          this.#roles = undefined;
          onChange();
        },
      },
      deps,
    );
  }

  /** The rules of each role. */
  roles(): ScopeRoles {
    return (this.#roles ??= scopeRolesIn(this.informer.store.values()));
  }
}

/** Shows at each scrape whether the cache is fresh. */
export function exposeFreshness(cache: Pick<AccessKeyCache, "isFresh">, metrics: Metrics): void {
  metrics.onScrape("access keys", () =>
    metrics.gauge("latchkey_cache_fresh", { cache: "accesskeys" }).set(cache.isFresh() ? 1 : 0),
  );
}
