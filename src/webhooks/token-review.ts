import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import { parseTokenReview, tokenReviewVersion } from "../api/token-review.ts";
import type { SecretText } from "../api/secret-text.ts";
import { authenticate, type UserInfo } from "../domain/access-key/authentication.ts";
import type { Clock } from "../runtime/clock.ts";
import { type Handler, json } from "../runtime/routes.ts";
import { sleep } from "../runtime/sleep.ts";
import { badReview, readJson, notSyncedMessage } from "./review.ts";

/** The result of a TokenReview, for metrics; the client never gets the reason. */
export type TokenReviewResult = "authenticated" | "malformed" | "unknown" | "refused" | "not-ready";

/** Dependencies of {@link tokenReviewHandler}. */
export interface TokenReviewDeps {
  readonly accessKeys: Pick<AccessKeyCache, "lookup" | "withIndexOf" | "isFresh" | "isWatchOpen">;
  readonly clock: Pick<Clock, "now" | "wakeAfter">;
  /** Called for each authenticated key. */
  readonly onUse: (key: ObservedAccessKey) => void;
  /** Called with the objects that have the index of an unknown key. */
  readonly onMismatch: (sharingIndex: readonly ObservedAccessKey[]) => void;
  readonly onResult: (result: TokenReviewResult) => void;
}

/** Handles TokenReviews (Kubernetes, "Webhook Token Authentication"). */
export function tokenReviewHandler(deps: TokenReviewDeps): Handler {
  return async (request) => {
    const token = parseTokenReview(readJson(request));
    if (token === undefined) return badReview("TokenReview", tokenReviewVersion);
    const status = await review(token, deps);
    return json({ apiVersion: tokenReviewVersion, kind: "TokenReview", status });
  };
}

type TokenReviewStatus =
  | { readonly authenticated: true; readonly user: UserInfo }
  | { readonly authenticated: false; readonly error?: string };

/**
 * A new key arrives by watch within milliseconds; kube-apiserver would cache a rejection for 15 s.
 */
const catchUpMs = 100;

async function review(token: SecretText, deps: TokenReviewDeps): Promise<TokenReviewStatus> {
  const { accessKeys, clock, onUse, onMismatch, onResult } = deps;
  if (!accessKeys.isFresh()) return notReady(deps);
  let resolved = accessKeys.lookup(token);
  if (resolved === "unknown") {
    await sleep(catchUpMs, { clock });
    resolved = accessKeys.lookup(token);
  }
  if (resolved === "unknown" && !accessKeys.isWatchOpen()) return notReady(deps);
  if (typeof resolved === "string") {
    onResult(resolved);
    if (resolved === "unknown") onMismatch(accessKeys.withIndexOf(token));
    return { authenticated: false };
  }
  const authentication = authenticate(resolved, clock.now());
  onResult(authentication.kind);
  if (authentication.kind === "refused") return { authenticated: false };
  onUse(resolved.key);
  return { authenticated: true, user: authentication.user };
}

/** Returns an error instead of a rejection, which kube-apiserver would cache. */
function notReady({ onResult }: TokenReviewDeps): TokenReviewStatus {
  onResult("not-ready");
  return { authenticated: false, error: notSyncedMessage };
}
