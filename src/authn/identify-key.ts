import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type { SecretText } from "../api/secret-text.ts";
import { authenticate, type UserInfo } from "../domain/access-key/authenticate.ts";
import type { ResolvedKey } from "../domain/access-key/key-state.ts";
import { BoundedWaits } from "../runtime/bounded-waits.ts";
import type { Clock } from "../runtime/clock.ts";
import { networkOf } from "../runtime/peer.ts";
import type { AccessKeyCache } from "./access-key-cache.ts";
import { notSyncedMessage } from "./authorize-request.ts";
import type { AcceptedToken, OidcTokens, TokenRefusal } from "./oidc-tokens.ts";

/** The result of authentication with a presented key, for metrics; the client never gets it. */
export const identificationResults = [
  "authenticated",
  "malformed",
  "unknown",
  "refused",
  "refused-token",
  "not-ready",
] as const;

/** One of these results. */
type IdentificationResult = (typeof identificationResults)[number];

/** Who presents a key, or why nobody is accepted. */
type Identification =
  | {
      readonly kind: "authenticated";
      readonly user: UserInfo;
      readonly resolved: ResolvedKey;
      /** The token that was presented in place of the key. */
      readonly token?: AcceptedToken;
    }
  | { readonly kind: "not-ready"; readonly why: string }
  | { readonly kind: Exclude<IdentificationResult, "authenticated" | "not-ready"> };

/** What {@link identifyKey} needs. */
export interface IdentifyKeyDeps {
  readonly accessKeys: Pick<AccessKeyCache, "lookup" | "withIndexOf" | "isFresh" | "isWatchOpen">;
  readonly clock: Clock;
  /** Called for each authenticated key. */
  readonly onUse: (key: ObservedAccessKey) => void;
  /** Called with the objects that have the index of an unknown key. */
  readonly onMismatch: (sharingIndex: readonly ObservedAccessKey[]) => void;
  readonly onResult: (result: IdentificationResult) => void;
  readonly tokens: Pick<OidcTokens, "identify" | "noteRefused">;
  /** Bounds the unknown keys that wait until they are looked up again. */
  readonly unknownKeyRetries: UnknownKeyRetries;
}

/** A key, and who presents it. */
interface PresentedKey {
  readonly token: SecretText;
  /** IP address of the client, if it is known; a client of kube-apiserver is not. */
  readonly peerAddress?: string | undefined;
}

/**
 * The unknown keys that wait until they are looked up again. Above the limit, the oldest one of the
 * address that has the most is looked up at once.
 */
export class UnknownKeyRetries {
  readonly #waits: BoundedWaits;

  /** By default, 1,000. */
  constructor(most = 1_000) {
    this.#waits = new BoundedWaits(most);
  }

  /**
   * Waits until the key is to be looked up again: 100 ms, or until `until` resolves, for at most
   * three seconds.
   */
  wait(peerAddress: string, clock: Clock, until?: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      // No AbortSignal: with one, an unknown key costs a tenth more.
      const end = (): void => {
        cancel();
        leave();
        resolve();
      };
      const cancel = clock.wakeAfter(until === undefined ? catchUpMs : mostRefreshMs, end);
      void until?.then(() => clock.wakeAfter(catchUpMs, end));
      const leave = this.#waits.begin(networkOf(peerAddress), end);
    });
  }
}

const notSynced = { kind: "not-ready", why: notSyncedMessage } as const;

/** A new key arrives by watch within milliseconds, after a client may already present it. */
const catchUpMs = 100;
/** An issuer that answers later has its keys ready for the next request. */
const mostRefreshMs = 3_000;

/**
 * Looks up a presented key, or a token in place of it, and authenticates it by the clock; what is
 * unknown is looked up twice.
 */
export async function identifyKey(
  presented: PresentedKey,
  deps: IdentifyKeyDeps,
): Promise<Identification> {
  const identification = await identified(presented, deps);
  deps.onResult(identification.kind);
  if (identification.kind === "unknown")
    deps.onMismatch(deps.accessKeys.withIndexOf(presented.token));
  if (identification.kind === "authenticated") deps.onUse(identification.resolved.key);
  return identification;
}

async function identified(presented: PresentedKey, deps: IdentifyKeyDeps): Promise<Identification> {
  const { token, peerAddress = "" } = presented;
  const { accessKeys, clock, unknownKeyRetries } = deps;
  if (!accessKeys.isFresh()) return notSynced;
  let resolved = accessKeys.lookup(token);
  // A key that somebody chose may have the form of a token, and counts as a key.
  const asked = typeof resolved === "string" ? deps.tokens.identify(token) : undefined;
  const byToken = asked && (await identifiedByToken(presented, asked, deps));
  if (byToken !== undefined) return byToken;
  if (resolved === "unknown") {
    await unknownKeyRetries.wait(peerAddress, clock);
    resolved = accessKeys.lookup(token);
  }
  if (resolved === "unknown" && !accessKeys.isWatchOpen()) return notSynced;
  if (typeof resolved === "string") return { kind: resolved };
  const authentication = authenticate(resolved, clock.now());
  return authentication.kind === "refused"
    ? { kind: "refused" }
    : { kind: "authenticated", user: authentication.user, resolved };
}

/** Undefined if the text is no token of a known issuer. One that is refused takes its turn. */
async function identifiedByToken(
  { token, peerAddress = "" }: PresentedKey,
  asked: NonNullable<ReturnType<OidcTokens["identify"]>>,
  { tokens, clock, unknownKeyRetries }: IdentifyKeyDeps,
): Promise<Identification | undefined> {
  let identity = await asked;
  if (identity?.kind !== "refused") return identity;
  await unknownKeyRetries.wait(peerAddress, clock, identity.refreshed);
  // A signature that does not verify now never does, and costs most.
  if (mayChange(identity.reason)) identity = (await tokens.identify(token)) ?? identity;
  if (identity.kind !== "refused") return identity;
  tokens.noteRefused(identity.reason);
  return { kind: "refused-token" };
}

/** Whether the watch of keys, or the keys of the issuer, may bring what is missing. */
function mayChange(reason: TokenRefusal): boolean {
  return reason === "key" || reason === "kid" || reason === "claim";
}
