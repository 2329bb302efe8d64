import { annotations, components, labels, ownObjects } from "../api/names.ts";
import type { Manifest, Metadata } from "../api/object.ts";
import { listAt, parseMetadata, recordAt, ownValue, isRecord, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { SecretText } from "../api/secret-text.ts";
import type { Wire } from "../api/wire.ts";
import {
  type KeyRotation,
  type RotatedKey,
  type SigningKeyState,
  signingKeyStates,
} from "../domain/endpoint-token/key-rotation.ts";
import { timestamp } from "../domain/plan/conditions.ts";
import {
  type Es256Key,
  es256KeyOf,
  newEs256Jwk,
  type PublicEcJwk,
  type PublishedKey,
} from "./es256-key.ts";

/** One of Latchkey's signing keys; `createdAt` is RFC 3339. */
export interface SigningKey extends Es256Key, RotatedKey {
  readonly createdAt: string;
}

/** The signing keys in the Secret; exactly one has the state signing, and one at most next. */
export interface ObservedSigningKeys {
  readonly metadata: Metadata;
  readonly keys: readonly SigningKey[];
  readonly signing: SigningKey;
  /** The epoch of the deny list, see RevocationSeq. */
  readonly epoch: number;
}

/** A public key as it is published (RFC 7517 section 4). */
interface Jwk extends PublicEcJwk {
  readonly kid: string;
  readonly use: "sig";
  readonly alg: "ES256";
}

/** The Secret of the signing keys is invalid; the message does not quote its data. */
export class SigningKeysError extends Error {
  readonly code = "SigningKeysUnreadable";

  constructor(problem: string) {
    super(
      `Secret ${ownObjects.signingKeys}: ${problem}; ` +
        "restore the Secret, or delete it to generate new keys",
    );
    this.name = "SigningKeysError";
  }
}

const dataKey = "keys.json";

/** Parses the Secret of the signing keys; throws a SigningKeysError. */
export function parseSigningKeys(raw: unknown): ObservedSigningKeys {
  const encoded = stringAt(recordAt(raw, "data"), dataKey);
  if (encoded === undefined) throw new SigningKeysError(`data key ${dataKey} is missing`);
  const stored = parseJson(encoded);
  const keys = listAt(stored, "keys").map(parseKey);
  const [signing, second] = keys.filter(({ state }) => state === "signing");
  if (signing === undefined || second !== undefined)
    throw new SigningKeysError(`${dataKey} must have exactly one key with state signing`);
  if (keys.filter(({ state }) => state === "next").length > 1)
    throw new SigningKeysError(`${dataKey} must have at most one key with state next`);
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length)
    throw new SigningKeysError(`${dataKey} contains a duplicate key`);
  return { metadata: parseMetadata(raw), keys, signing, epoch: parseEpoch(stored) };
}

/**
 * The initial Secret in Latchkey's own namespace, with one new key with state signing; `now` in
 * milliseconds since the epoch.
 */
export function newSigningKeys({
  namespace,
  now,
}: {
  readonly namespace: string;
  readonly now: number;
}): Manifest {
  return {
    apiVersion: "v1",
    kind: resources.secrets.kind,
    metadata: {
      namespace,
      name: ownObjects.signingKeys,
      labels: { [labels.component]: components.signingKeys },
    },
    type: "Opaque",
    data: dataOf([newKey("signing", now)], 0),
  } satisfies Wire<"Secret">;
}

/**
 * The merge patch of the Secret for a step of the rotation. It removes the request for a new key if
 * it publishes one; `now` in milliseconds since the epoch.
 */
export function rotationPatch(
  { metadata: { uid, resourceVersion }, epoch }: ObservedSigningKeys,
  { keys, publishes }: Pick<KeyRotation<SigningKey>, "keys" | "publishes">,
  now: number,
) {
  const fulfilled = { annotations: { [annotations.rotateSigningKey]: null } };
  return {
    metadata: { uid, resourceVersion, ...(publishes ? fulfilled : {}) },
    data: dataOf([...keys.map(storedKey), ...(publishes ? [newKey("next", now)] : [])], epoch),
  };
}

/**
 * The data of the Secret with a higher epoch of the deny list: the seconds since 1970, so that it
 * is also higher than every epoch that a restore has lost; `now` in milliseconds since the epoch.
 */
export function dataWithNewEpoch(
  { keys, epoch }: ObservedSigningKeys,
  now: number,
): Readonly<Record<string, SecretText>> {
  return dataOf(keys.map(storedKey), Math.max(epoch + 1, Math.floor(now / 1000)));
}

/** Whether an administrator asked for a new signing key. */
export function isRotationRequested({ metadata }: ObservedSigningKeys): boolean {
  return metadata.annotations[annotations.rotateSigningKey] !== undefined;
}

interface StoredKey {
  readonly kid: string;
  readonly state: SigningKeyState;
  readonly createdAt: string;
  readonly since: string;
  readonly privateJwk: object;
}

function newKey(state: SigningKeyState, now: number): StoredKey {
  return { ...newEs256Jwk(), state, createdAt: timestamp(now), since: timestamp(now) };
}

function storedKey({ kid, state, createdAt, since, privateKey }: SigningKey): StoredKey {
  const { kty, crv, x, y, d } = privateKey.export({ format: "jwk" });
  return { kid, state, createdAt, since: timestamp(since), privateJwk: { kty, crv, x, y, d } };
}

function dataOf(keys: readonly StoredKey[], epoch: number): Readonly<Record<string, SecretText>> {
  const stored = { ...(epoch === 0 ? {} : { epoch }), keys };
  const encoded = Buffer.from(JSON.stringify(stored), "utf8").toString("base64");
  return { [dataKey]: new SecretText(encoded) };
}

/** The kids of all keys, in any state. */
export function knownKids({ keys }: ObservedSigningKeys): ReadonlySet<string> {
  return new Set(keys.map(({ kid }) => kid));
}

/** The JWK Set to publish (RFC 7517 section 5): public members only. */
export function publicJwks({ keys }: { readonly keys: readonly PublishedKey[] }): {
  readonly keys: readonly Jwk[];
} {
  return {
    keys: keys.map(({ kid, publicJwk }) => ({ ...publicJwk, kid, use: "sig", alg: "ES256" })),
  };
}

function parseJson(encoded: string): unknown {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(encoded, "base64").toString("utf8"));
    return parsed;
  } catch {
    // Errors of JSON.parse quote the text.
    throw new SigningKeysError(`${dataKey} is not JSON`);
  }
}

function parseKey(raw: unknown, index: number): SigningKey {
  const where = `${dataKey}, key ${index}`;
  const state = stateOf(stringAt(raw, "state"));
  if (state === undefined)
    throw new SigningKeysError(`${where}: state must be next, signing or retired`);
  const createdAt = stringAt(raw, "createdAt") ?? "";
  if (Number.isNaN(Date.parse(createdAt)))
    throw new SigningKeysError(`${where}: createdAt must be an RFC 3339 time`);
  const since = Date.parse(stringAt(raw, "since") ?? createdAt);
  if (Number.isNaN(since)) throw new SigningKeysError(`${where}: since must be an RFC 3339 time`);
  const key = es256KeyOf(recordAt(raw, "privateJwk"));
  if (key === undefined)
    throw new SigningKeysError(`${where}: privateJwk must be a private P-256 key`);
  if (key.kid !== stringAt(raw, "kid"))
    throw new SigningKeysError(`${where}: kid must be the thumbprint of the key`);
  return { ...key, state, since, createdAt };
}

function parseEpoch(stored: unknown): number {
  const epoch = isRecord(stored) ? (ownValue(stored, "epoch") ?? 0) : 0;
  if (typeof epoch !== "number" || !Number.isInteger(epoch) || epoch < 0 || epoch >= 1e15)
    throw new SigningKeysError(`${dataKey}: epoch must be a whole number below 10^15`);
  return epoch;
}

function stateOf(text: string | undefined): SigningKeyState | undefined {
  return signingKeyStates.find((state) => state === text);
}
