import { keyOf, type ObjectRef } from "../../api/object.ts";
import { parseMetadata, recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { parseSecret } from "../../api/secret.ts";
import { parseSharedSecret, type SecretData, type SharedSecret } from "../../api/shared-secret.ts";
import { copiedSource, type Source } from "../../domain/sync/copy.ts";
import { dataCopyRef } from "../../domain/sync/data-copy.ts";
import { type DataFrom, dataFromOf } from "../../domain/sync/data-from.ts";
import {
  followedData,
  type FollowedData,
  type ReadSourceSecret,
} from "../../domain/sync/source-secret.ts";
import type { DataDigest } from "../../tokens/data-digest.ts";
import { followingSource } from "../../tokens/observed-data.ts";
import type { Cluster } from "../connection/cluster.ts";
import { Failure } from "../failure.ts";
import { type Readable, readObject, rightText } from "../missing-right.ts";

const resource = resources.secrets;

/** The Secret of a namespace that a SharedSecret follows; undefined if it has data of its own. */
function followedBy(raw: unknown): (ObjectRef & DataFrom) | undefined {
  const metadata = recordAt(raw, "metadata");
  const option = dataFromOf({ annotations: stringMapAt(metadata, "annotations") });
  const namespace = stringAt(metadata, "namespace") ?? "";
  return option.kind === "from" ? { namespace, ...option.from } : undefined;
}

/** Refuses a change of the data of a SharedSecret that follows a Secret. */
export function checkOwnData(raw: unknown, keys: readonly string[]): void {
  const from = raw === undefined || keys.length === 0 ? undefined : followedBy(raw);
  if (raw === undefined || from === undefined) return;
  throw new Failure(
    `SharedSecret "${keyOf(parseMetadata(raw))}" has the data of Secret "${keyOf(from)}"; ` +
      "change it there",
  );
}

/**
 * The data that a SharedSecret has of the Secret that it follows: from the copy for its readers, or
 * from the Secret itself, with the right of the user and while both sides agree.
 */
export async function readFollowed(
  raw: unknown,
  { get }: Pick<Cluster, "get">,
): Promise<SecretData | undefined> {
  const from = followedBy(raw);
  if (from === undefined) return undefined;
  const secret = parseSharedSecret(raw);
  const copyRef = dataCopyRef(secret.metadata);
  const copy = await readObject(resource, copyRef, get);
  if (copy.found !== undefined && isCopyOf(secret, copy.found)) return parseSecret(copy.found).data;
  const read = await readSource(secret, from, get);
  const { found } = read;
  if (found?.kind === "data") return found.data;
  const name = keyOf(secret.metadata);
  if (found !== undefined)
    throw new Failure(`SharedSecret "${name}" has no data: ${found.message}`);
  const rights = [...copy.missing, ...read.missing].map(rightText).join(" or ");
  throw new Failure(
    `SharedSecret "${name}" has the data of Secret "${keyOf(from)}", and you may not ${rights}; ` +
      "a user who may update the SharedSecret can add you to its spec.access",
    "notFound",
  );
}

function isCopyOf({ metadata }: SharedSecret, raw: unknown): boolean {
  const source = copiedSource(parseMetadata(raw));
  return source !== undefined && keyOf(source) === keyOf(metadata);
}

/** What a SharedSecret has of its Secret, as the user may read it; undefined without the right. */
async function readSource(
  secret: SharedSecret,
  from: DataFrom,
  get: Cluster["get"],
): Promise<Readable<FollowedData | undefined>> {
  const { namespace = "" } = secret.metadata;
  const ref = { namespace, name: from.name };
  const { found, missing } = await readObject(resource, ref, get);
  if (missing.length > 0) return { found: undefined, missing };
  return { found: judged(secret, from, found), missing };
}

function judged(secret: SharedSecret, from: DataFrom, raw: unknown): FollowedData {
  const read: ReadSourceSecret =
    raw === undefined ? { kind: "gone" } : { kind: "there", secret: parseSecret(raw) };
  // The controller knows the namespace of Latchkey.
  return followedData(secret, from, read, "");
}

/** How the Secrets that SharedSecrets follow are read. */
interface FollowOptions {
  readonly cluster: Pick<Cluster, "get">;
  readonly digestOf: DataDigest;
  /** Secrets that are applied, by key: they are followed as they will be. */
  readonly planned?: ReadonlyMap<string, unknown> | undefined;
}

/**
 * A SharedSecret with what it has of the Secret that it follows. Without the right to read that,
 * what the status of the SharedSecret says of it.
 */
export async function followed(
  source: Source,
  { cluster, digestOf, planned }: FollowOptions,
): Promise<Readable<Source>> {
  const { secret, followed: from } = source;
  if (from === undefined) return { found: source, missing: [] };
  const { namespace = "" } = secret.metadata;
  const applied = planned?.get(keyOf({ namespace, name: from.name }));
  const { found, missing } =
    applied === undefined
      ? await readSource(secret, from, cluster.get)
      : { found: judged(secret, from, applied), missing: [] };
  const data = found ?? reportedData(secret);
  const next =
    data === undefined
      ? source
      : followingSource(secret, { name: from.name, keys: from.keys }, data, digestOf);
  return { found: next, missing };
}

/** What the controller says of the Secret that a SharedSecret follows, if it has no data of it. */
function reportedData({ conditions }: SharedSecret): FollowedData | undefined {
  const said = conditions.find(
    ({ type, status, reason }) =>
      type === "Ready" && status === "False" && reason.startsWith("Source"),
  );
  if (said === undefined) return undefined;
  const { reason, message } = said;
  if (reason === "SourceNotAllowed") return { kind: "withdrawn", message };
  if (reason === "SourceMissing" || reason === "SourceInvalid")
    return { kind: "kept", reason, message };
  return undefined;
}
