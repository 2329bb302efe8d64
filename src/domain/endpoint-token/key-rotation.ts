/**
 * The lifecycle of a signing key: published before it signs (next), signs (signing), and published
 * until its last token has expired (retired).
 */
export const signingKeyStates = ["next", "signing", "retired"] as const;

/** One of these states. */
export type SigningKeyState = (typeof signingKeyStates)[number];

/** A signing key; `since` is when its state began, in milliseconds since the epoch. */
export interface RotatedKey {
  readonly kid: string;
  readonly state: SigningKeyState;
  readonly since: number;
}

/** The configuration of the rotation. */
export interface KeyRotationConfig {
  /** How long a key signs, in milliseconds; 0 to rotate on request alone. */
  readonly signingKeyRotation: number;
  /** The longest lifetime of a token, in seconds. */
  readonly maximumTokenTtl: number;
}

/** What decides about a rotation. */
interface KeyRotationOptions {
  readonly config: KeyRotationConfig;
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** Whether an administrator asked for a new key. */
  readonly isRequested: boolean;
}

/** The next step of the rotation; all of it is one write. */
export interface KeyRotation<Key extends RotatedKey> {
  /** The keys that stay, in their new states. */
  readonly keys: readonly Key[];
  /** Whether a new key is published; this fulfils the request. */
  readonly publishes: boolean;
  readonly isChange: boolean;
  /** When the next step is due, in milliseconds since the epoch; Infinity if none is. */
  readonly nextAt: number;
}

/**
 * How long a key is published before it signs, in milliseconds. A replica may observe it up to 30
 * seconds late, caches and verifiers may keep the former keys for 60 seconds (max-age of
 * `/openid/v1/jwks`), and a direct endpoint that has just fetched those waits 10 seconds before it
 * fetches again; the rest is for clocks.
 */
export const publishedBeforeMs = 105_000;

/** Verifiers may allow this much for the difference of clocks, in milliseconds. */
const clockLeewayMs = 300_000;

/** Maximum number of published keys: a requested rotation waits for the end of a retired one. */
export const mostSigningKeys = 10;

/**
 * The next step: removes retired keys whose tokens have expired, lets the published key sign, and
 * publishes a new one by schedule or on request, never two at a time.
 */
export function planKeyRotation<Key extends RotatedKey>(
  observed: readonly Key[],
  options: KeyRotationOptions,
): KeyRotation<Key> {
  const { config, now, isRequested } = options;
  const keptMs = config.maximumTokenTtl * 1000 + clockLeewayMs;
  const kept = observed.filter(({ state, since }) => state !== "retired" || since + keptMs > now);
  const next = kept.find(({ state }) => state === "next");
  const isPromoted = next !== undefined && next.since + publishedBeforeMs <= now;
  const keys = isPromoted ? kept.map((key) => promoted(key, now)) : kept;
  const isFree = next === undefined || isPromoted;
  const publishes =
    isFree && keys.length < mostSigningKeys && (isRequested || signingEnd(keys, config) <= now);
  const ends = keys.map(({ state, since }) =>
    state === "retired" ? since + keptMs : state === "next" ? since + publishedBeforeMs : Infinity,
  );
  const scheduled = isFree ? signingEnd(keys, config) : Infinity;
  const nextAt = publishes
    ? now + publishedBeforeMs
    : keys.length < mostSigningKeys
      ? scheduled
      : Infinity;
  return {
    keys,
    publishes,
    isChange: publishes || isPromoted || keys.length < observed.length,
    nextAt: Math.min(nextAt, ...ends),
  };
}

function promoted<Key extends RotatedKey>(key: Key, now: number): Key {
  switch (key.state) {
    case "next":
      return { ...key, state: "signing", since: now };
    case "signing":
      return { ...key, state: "retired", since: now };
    case "retired":
      return key;
  }
}

/** When the schedule publishes the successor of the key that signs. */
function signingEnd(
  keys: readonly RotatedKey[],
  { signingKeyRotation }: KeyRotationConfig,
): number {
  const signing = keys.find(({ state }) => state === "signing");
  if (signing === undefined || signingKeyRotation === 0) return Infinity;
  return signing.since + signingKeyRotation;
}
