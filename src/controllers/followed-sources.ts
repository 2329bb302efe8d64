import { type Key, keyOf } from "../api/object.ts";
import { isSame } from "../domain/plan/merge-patch.ts";
import type { Source } from "../domain/sync/copy.ts";
import type { FollowedData } from "../domain/sync/source-secret.ts";
import type { DataDigest } from "../tokens/data-digest.ts";
import { followingSource } from "../tokens/observed-data.ts";

/**
 * What the SharedSecrets of a store have of the Secrets that they follow: a SharedSecret that is
 * parsed again has it at once, unless an annotation has changed.
 */
export class FollowedSources {
  readonly #digestOf: DataDigest;
  readonly #known = new Map<Key, Source>();

  constructor(digestOf: DataDigest) {
    this.#digestOf = digestOf;
  }

  /** A parsed SharedSecret, with what is known of the Secret that it follows. */
  parsed(source: Source): Source {
    const { metadata } = source.secret;
    const key = keyOf(metadata);
    const known = this.#known.get(key);
    if (known === undefined) return source;
    const before = known.secret.metadata;
    const isKnown =
      source.followed !== undefined &&
      before.uid === metadata.uid &&
      isSame(before.annotations, metadata.annotations);
    if (isKnown) return { ...known, secret: source.secret };
    this.#known.delete(key);
    return source;
  }

  /** A SharedSecret with what was read; undefined if it has this already, or follows nothing. */
  following(
    source: Source,
    data: FollowedData,
    { changesOften }: { readonly changesOften: boolean },
  ): Source | undefined {
    const { secret, followed } = source;
    if (followed === undefined) return undefined;
    const { name, keys } = followed;
    const read = followingSource(secret, { name, keys }, data, this.#digestOf);
    const next = {
      ...read,
      ...(read.followed !== undefined && changesOften
        ? { followed: { ...read.followed, changesOften: true as const } }
        : {}),
    };
    this.#known.set(keyOf(secret.metadata), next);
    return isSame(relevant(next), relevant(source)) ? undefined : next;
  }
}

function relevant({ digest, ownDigest, options, followed }: Source): unknown {
  const { keys: _, ...rest } = followed ?? {};
  return { digest, ownDigest, options, rest };
}
