import { type Key, keyOf, type ObjectRef } from "../../api/object.ts";
import type { SharedSecret } from "../../api/shared-secret.ts";
import { hashName } from "../hash-name.ts";
import type { Source } from "./copy.ts";

/*
 * A SharedSecret that follows a Secret has no data of its own that a Role could grant, and no Role
 * names the Secret itself. Those who may `get` the SharedSecret read one more copy beside it, which
 * has its data keys and nothing else.
 */

const dataCopyPrefix = "latchkey-data-";

/** Where a SharedSecret has the copy for its readers: in its own namespace. */
export function dataCopyRef({
  namespace = "",
  uid,
}: {
  readonly namespace?: string | undefined;
  readonly uid: string;
}): ObjectRef & { readonly namespace: string } {
  return { namespace, name: `${dataCopyPrefix}${hashName([uid])}` };
}

/** The key of the Secret that a SharedSecret follows; undefined if it follows none. */
export function followedKey({ secret, followed }: Source): Key | undefined {
  const { namespace = "" } = secret.metadata;
  return followed && keyOf({ namespace, name: followed.name });
}

/** Whether a source has a copy for its readers, or keeps the one that it has. */
export function keepsDataCopy({ secret, options, followed }: Source): boolean {
  return (
    followed !== undefined &&
    options.refusal === undefined &&
    secret.metadata.deletionTimestamp === undefined &&
    hasReaders(secret)
  );
}

/** The source as the copy for its readers has it; undefined if none is written. */
export function dataCopySource(source: Source): Source | undefined {
  if (!keepsDataCopy(source) || source.followed?.state !== "data") return undefined;
  const { data, options, ...rest } = source;
  const { copyMetadata: _, format, problem: __, ...others } = options;
  const isOwn = format === undefined && source.digest === source.ownDigest;
  return {
    ...rest,
    digest: source.ownDigest,
    ...(isOwn && data !== undefined ? { data } : {}),
    options: { ...others, secretType: "Opaque" },
  };
}

/** Whether the owner or an access rule lets somebody get a SharedSecret. */
function hasReaders({ owner, access }: SharedSecret): boolean {
  const reads = ["get", "*"];
  return (
    owner.user !== undefined ||
    owner.team !== undefined ||
    access.some(
      ({ verbs, users, teams }) =>
        users.length + teams.length > 0 && verbs.some((verb) => reads.includes(verb)),
    )
  );
}
