import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type { Requester } from "../api/requester.ts";
import { keyIndexOf } from "../domain/access-key/key-digest.ts";
import { duplicateOf } from "../domain/access-key/duplicate-key.ts";
import type { KeyConfig, ResolvedKey } from "../domain/access-key/key-state.ts";
import type { Indexer, ReadStore } from "../kube/store.ts";
import { observeRequester, type PolicyStores } from "./requester-policies.ts";

/** Index names that a store of keys has for {@link createKeyResolver}. */
export const keyIndexes = { keyIndex: "key-index", uid: "uid" } as const;

/** The indexers of those names. */
export const keyIndexers: Readonly<Record<string, Indexer<ObservedAccessKey>>> = {
  // A copy: a part of a text keeps the whole text in memory.
  [keyIndexes.keyIndex]: ({ keyDigest }) =>
    keyDigest === undefined
      ? []
      : [Buffer.from(keyIndexOf(keyDigest), "latin1").toString("latin1")],
  [keyIndexes.uid]: ({ metadata }) => [metadata.uid],
};

/** Keys with all that decides whether they work. */
export interface KeyResolver {
  resolve(key: ObservedAccessKey): ResolvedKey;
  /** The key whose object has this uid. */
  byId(uid: string): ResolvedKey | undefined;
  /** The key that came with the request of this requester, if any. */
  parentKey(requester: Requester): Pick<ResolvedKey, "parentKey">;
}

/** Maximum number of ancestors of a key; beyond it, the parent counts as deleted. */
const mostGenerations = 8;

/** Views of the keys in a store. */
export function createKeyResolver(deps: {
  readonly keys: ReadStore<ObservedAccessKey>;
  readonly policies: PolicyStores;
  readonly config: KeyConfig;
}): KeyResolver {
  const { keys, policies, config } = deps;

  function resolve(key: ObservedAccessKey, generations: number): ResolvedKey {
    const requester = observeRequester(key.metadata, policies);
    const duplicate = duplicateOf(key, sameIndex(key));
    return {
      key,
      config,
      requester,
      ...(duplicate === undefined ? {} : { duplicate }),
      ...parentKeyOf(requester, generations - 1),
    };
  }

  /** Nearly every index is that of one object, which need not be looked at again. */
  function sameIndex({ keyDigest }: ObservedAccessKey): readonly ObservedAccessKey[] {
    if (keyDigest === undefined) return [];
    const index = keyIndexOf(keyDigest);
    return keys.countBy(keyIndexes.keyIndex, index) > 1 ? keys.by(keyIndexes.keyIndex, index) : [];
  }

  function parentKeyOf(requester: Requester, generations: number): Pick<ResolvedKey, "parentKey"> {
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
