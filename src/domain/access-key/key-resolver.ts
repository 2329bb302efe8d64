import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import type { Requester } from "../../api/requester.ts";
import { type Issuers, trustedTokens } from "../oidc/trusted-tokens.ts";
import { keyIndexOf } from "./key-digest.ts";
import { duplicateOf } from "./duplicate-key.ts";
import type { KeyConfig, ResolvedKey, WithParentKey } from "./key-state.ts";
import { observeRequester, type PolicyStores } from "../requester/installed-policies.ts";

/** Names of the indexes that {@link createKeyResolver} requires. */
export const keyIndexes = { keyIndex: "key-index", uid: "uid" } as const;

/** The indexers of {@link keyIndexes}. */
export const keyIndexers: Readonly<Record<string, (key: ObservedAccessKey) => readonly string[]>> =
  {
    // Copies the substring, because a slice keeps the whole string in memory.
    [keyIndexes.keyIndex]: ({ keyDigest }) =>
      keyDigest === undefined
        ? []
        : [Buffer.from(keyIndexOf(keyDigest), "latin1").toString("latin1")],
    [keyIndexes.uid]: ({ metadata }) => [metadata.uid],
  };

/** Keys by the values of {@link keyIndexes}. */
interface KeyLookup {
  by(index: string, name: string): readonly ObservedAccessKey[];
  countBy(index: string, name: string): number;
}

/** Resolves keys with everything that decides whether they are accepted. */
export interface KeyResolver {
  resolve(key: ObservedAccessKey): ResolvedKey;
  /** The key whose object has this uid. */
  byId(uid: string): ResolvedKey | undefined;
  /** The key that authenticated the create request of this requester, if any. */
  parentKey(requester: Requester): WithParentKey;
}

/**
 * Maximum number of generations, including the key itself; beyond it, the parent counts as deleted.
 */
const mostGenerations = 8;

/** Creates a resolver of the keys in a store. */
export function createKeyResolver(deps: {
  readonly keys: KeyLookup;
  readonly policies: PolicyStores;
  /** The issuers of now. */
  readonly issuers: () => Issuers;
  readonly config: KeyConfig;
}): KeyResolver {
  const { keys, policies, issuers, config } = deps;

  function resolve(key: ObservedAccessKey, generations: number): ResolvedKey {
    const requester = observeRequester(key.metadata, policies);
    const duplicate = duplicateOf(key, sameIndex(key));
    const tokens = hasNoKey(key) ? trustedTokens(key.metadata, issuers()) : undefined;
    return {
      key,
      config,
      requester,
      ...(tokens === undefined ? {} : { tokens }),
      ...(duplicate === undefined ? {} : { duplicate }),
      ...parentKeyOf(requester, generations - 1),
    };
  }

  /** Beside `spec.key`, whatever it is, annotations about tokens do not count. */
  function hasNoKey({ keyDigest, isUnbound = false }: ObservedAccessKey): boolean {
    return keyDigest === undefined && !isUnbound;
  }

  /** Usually only one key has an index; that key is not read again. */
  function sameIndex({ keyDigest }: ObservedAccessKey): readonly ObservedAccessKey[] {
    if (keyDigest === undefined) return [];
    const index = keyIndexOf(keyDigest);
    return keys.countBy(keyIndexes.keyIndex, index) > 1 ? keys.by(keyIndexes.keyIndex, index) : [];
  }

  function parentKeyOf(requester: Requester, generations: number): WithParentKey {
    if (requester.kind === "unknown" || requester.keyId === undefined) return {};
    return {
      parentKey: (generations > 0 ? byId(requester.keyId, generations) : undefined) ?? "gone",
    };
  }

  function byId(uid: string, generations: number): ResolvedKey | undefined {
    const [key] = keys.by(keyIndexes.uid, uid);
    return key === undefined ? undefined : resolve(key, generations);
  }

  return {
    resolve: (key) => resolve(key, mostGenerations),
    byId: (uid) => byId(uid, mostGenerations),
    parentKey: (requester) => parentKeyOf(requester, mostGenerations),
  };
}
