import { isSame } from "../domain/plan/merge-patch.ts";
import type { Source } from "../domain/sync/copy.ts";
import type { FollowedData } from "../domain/sync/source-secret.ts";
import type { DataDigest } from "../tokens/data-digest.ts";
import { followingSource } from "../tokens/observed-data.ts";

/**
 * A parsed SharedSecret with what the stored one has of the Secret that both follow: a SharedSecret
 * that is parsed again has it at once, unless an annotation has changed.
 */
export function stillFollowing(source: Source, stored: Source | undefined): Source {
  if (source.followed === undefined || stored?.followed === undefined) return source;
  const [before, now] = [stored.secret.metadata, source.secret.metadata];
  const isKnown = before.uid === now.uid && isSame(before.annotations, now.annotations);
  return isKnown ? { ...stored, secret: source.secret } : source;
}

/** What was read of a Secret, and whether it changes often. */
interface ReadFollowed {
  readonly data: FollowedData;
  readonly changesOften: boolean;
}

/** A SharedSecret with what was read; undefined if it has this already, or follows nothing. */
export function following(
  source: Source,
  { data, changesOften }: ReadFollowed,
  digestOf: DataDigest,
): Source | undefined {
  const { secret, followed } = source;
  if (followed === undefined) return undefined;
  const { name, keys } = followed;
  const read = followingSource(secret, { name, keys }, data, digestOf);
  const next = {
    ...read,
    ...(read.followed !== undefined && changesOften
      ? { followed: { ...read.followed, changesOften: true as const } }
      : {}),
  };
  return isSame(relevant(next), relevant(source)) ? undefined : next;
}

function relevant({ digest, ownDigest, options, followed }: Source): unknown {
  const { keys: _, ...rest } = followed ?? {};
  return { digest, ownDigest, options, rest };
}
