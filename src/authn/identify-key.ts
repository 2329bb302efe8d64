import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type { SecretText } from "../api/secret-text.ts";
import { authenticate, type UserInfo } from "../domain/access-key/authenticate.ts";
import type { ResolvedKey } from "../domain/access-key/key-state.ts";
import { BoundedWaits } from "../runtime/bounded-waits.ts";
import type { Clock } from "../runtime/clock.ts";
import { networkOf } from "../runtime/peer.ts";
import type { AccessKeyCache } from "./access-key-cache.ts";

/** The result of authentication with a presented key, for metrics; the client never gets it. */
export const identificationResults = [
  "authenticated",
  "malformed",
  "unknown",
  "refused",
  "not-ready",
] as const;

/** One of these results. */
type IdentificationResult = (typeof identificationResults)[number];

/** Who presents a key, or why nobody is accepted. */
type Identification =
  | { readonly kind: "authenticated"; readonly user: UserInfo; readonly resolved: ResolvedKey }
  | { readonly kind: Exclude<IdentificationResult, "authenticated"> };

/** What {@link identifyKey} needs. */
export interface IdentifyKeyDeps {
  readonly accessKeys: Pick<AccessKeyCache, "lookup" | "withIndexOf" | "isFresh" | "isWatchOpen">;
  readonly clock: Clock;
  /** Called for each authenticated key. */
  readonly onUse: (key: ObservedAccessKey) => void;
  /** Called with the objects that have the index of an unknown key. */
  readonly onMismatch: (sharingIndex: readonly ObservedAccessKey[]) => void;
  readonly onResult: (result: IdentificationResult) => void;
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

  /** Waits until the key is to be looked up again. */
  wait(peerAddress: string, clock: Clock): Promise<void> {
    return new Promise((resolve) => {
      // No AbortSignal: with one, an unknown key costs a tenth more.
      const end = (): void => {
        cancel();
        leave();
        resolve();
      };
      const cancel = clock.wakeAfter(catchUpMs, end);
      const leave = this.#waits.begin(networkOf(peerAddress), end);
    });
  }
}

/** A new key arrives by watch within milliseconds, after a client may already present it. */
const catchUpMs = 100;

/**
 * Looks up a presented key and authenticates it by the clock; an unknown key is looked up twice.
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

async function identified(
  { token, peerAddress = "" }: PresentedKey,
  { accessKeys, clock, unknownKeyRetries }: IdentifyKeyDeps,
): Promise<Identification> {
  if (!accessKeys.isFresh()) return { kind: "not-ready" };
  let resolved = accessKeys.lookup(token);
  if (resolved === "unknown") {
    await unknownKeyRetries.wait(peerAddress, clock);
    resolved = accessKeys.lookup(token);
  }
  if (resolved === "unknown" && !accessKeys.isWatchOpen()) return { kind: "not-ready" };
  if (typeof resolved === "string") return { kind: resolved };
  const authentication = authenticate(resolved, clock.now());
  return authentication.kind === "refused"
    ? { kind: "refused" }
    : { kind: "authenticated", user: authentication.user, resolved };
}
