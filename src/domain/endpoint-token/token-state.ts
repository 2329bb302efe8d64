import type { ConditionUpdate } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import type { EndpointToken } from "../../api/endpoint-token.ts";
import type { Requester, RequesterAnnotations } from "../../api/requester.ts";
import type { ScopeLimit } from "../../api/scope.ts";
import { reconciling, stalled, timestamp } from "../plan/conditions.ts";
import type { ReportedFailure } from "../plan/failure-history.ts";
import type { GrantState } from "../grants/granted-names.ts";
import {
  effectiveScopes,
  parentInvalidReason,
  maximumChildExpiry,
  type WithParentKey,
} from "../access-key/key-state.ts";
import { clampedLifetime, createdAt, instantOf, lifetimeStart, spanText } from "../lifetime.ts";
import { isSystemName } from "../requester/requester.ts";
import { tokenAudience } from "./token-audience.ts";

/** The configuration of tokens; durations in seconds. */
export interface EndpointTokenConfig {
  readonly issuer: string;
  /** The audience of tokens for all connected clusters. */
  readonly audience: string;
  readonly maximumTokenTtl: number;
  /** How long the object of an expired token is kept. */
  readonly deleteExpiredTokensAfter: number;
}

/** A DirectClusterEndpointToken and the observed state that decides about it. */
export interface ObservedEndpointToken extends WithParentKey {
  readonly token: EndpointToken;
  readonly requester: Requester;
  readonly grant: GrantState;
  /** The kids of all signing keys that are published or will be. */
  readonly knownKids: ReadonlySet<string>;
  readonly config: EndpointTokenConfig;
  /** The reported failure of writes to the object, or to the grant that it waits for. */
  readonly failure?: ReportedFailure | undefined;
}

/** The lifetime of a token; `endsAt` in milliseconds since the epoch, `requestedTtl` in seconds. */
export interface TokenLifetime {
  readonly endsAt: number;
  readonly requestedTtl: number;
  readonly clamped: boolean;
  /** Whether it expires early because its parent key does. */
  readonly endsWithParentKey: boolean;
  /** Whether the object was created from an export, which hides the start of its lifetime. */
  readonly isExport: boolean;
}

type Refused = Extract<TokenState, { kind: "refused" }>;

/** The state of a token, which decides the next action. */
export type TokenState =
  | { readonly kind: "expired" }
  | {
      readonly kind: "refused";
      readonly reason:
        | "UnknownRequester"
        | "UnsupportedRequester"
        | "ParentKeyInvalid"
        | "InvalidScope"
        | "InvalidAudience"
        | "TokenTooLarge";
      readonly message: string;
    }
  | { readonly kind: "minted" }
  | {
      readonly kind: "wanted";
      readonly requester: RequesterAnnotations;
      /** The claim `aud`. */
      readonly audience: string;
    };

/** The lifetime of a token without `spec.ttl`, in seconds. */
export const defaultTokenTtl = 3600;

/**
 * The lifetime of a token: its ttl from creation, 1 h without one, at most the configured maximum
 * and the lifetime of its parent key. A token whose status says Expired stays expired if the
 * maximum increases.
 */
export function tokenLifetime({ token, config, parentKey }: ObservedEndpointToken): TokenLifetime {
  const { metadata, spec, conditions } = token;
  const requestedTtl = spec.ttl === undefined || spec.ttl <= 0 ? defaultTokenTtl : spec.ttl;
  const { endsAt, clamped } = clampedLifetime(lifetimeStart(metadata), {
    ttl: requestedTtl,
    maximumTtl: config.maximumTokenTtl,
  });
  const keyEndsAt =
    parentKey === undefined || parentKey === "gone"
      ? Infinity
      : maximumChildExpiry(parentKey, createdAt(metadata));
  const ends = metadata.annotations[annotations.credentialEnds];
  // A text that is no time ends the token at once.
  const credentialEndsAt = ends === undefined ? Infinity : (instantOf(ends) ?? -Infinity);
  const declaredOver = conditions.some(
    ({ type, status }) => type === "Expired" && status === "True",
  );
  const endedAt = declaredOver ? instantOf(token.expiresAt) : undefined;
  return {
    endsAt: Math.min(endsAt, keyEndsAt, credentialEndsAt, endedAt ?? Infinity),
    requestedTtl,
    clamped,
    endsWithParentKey: Math.min(keyEndsAt, credentialEndsAt) < endsAt,
    // Written by the policy latchkey-requester-annotations.
    isExport: instantOf(metadata.annotations[annotations.createdAt]) === 0,
  };
}

/** The state of a token that is not being deleted, at `now` in milliseconds since the epoch. */
export function tokenState(observed: ObservedEndpointToken, now: number): TokenState {
  const { token, requester, knownKids } = observed;
  const { endsAt } = tokenLifetime(observed);
  if (now >= endsAt) return { kind: "expired" };
  const isCurrent =
    token.token !== undefined &&
    knownKids.has(token.keyId ?? "") &&
    token.expiresAt === timestamp(endsAt);
  if (requester.kind === "unknown") {
    // Only Latchkey can have signed an existing token: reinstalled policies must not revoke all
    // tokens.
    return isCurrent ? { kind: "minted" } : refused("UnknownRequester", requester.why);
  }
  const unsupported = unsupportedBecause(requester);
  if (unsupported !== undefined) return refused("UnsupportedRequester", unsupported);
  const parentProblem = parentInvalidReason(observed.parentKey, now);
  if (parentProblem !== undefined)
    return refused(
      "ParentKeyInvalid",
      `${parentProblem}. Create the token again with a valid credential.`,
    );
  if (token.spec.limit === "unreadable")
    return refused(
      "InvalidScope",
      "spec.scope is invalid: it contains a value of the wrong type or an unknown field, or " +
        "more than 64 rules, 1000 entries or 65536 characters. Create another token with a " +
        "valid scope.",
    );
  if (isCurrent) return { kind: "minted" };
  // The audience is that of the claims, so it decides when the token is minted and never later.
  const audience = tokenAudience(observed.config.audience, {
    annotation: token.metadata.annotations[annotations.audienceCluster],
    scopes: [token.spec.limit, ...parentScopes(observed)],
  });
  return audience.kind === "invalid"
    ? refused("InvalidAudience", audience.message)
    : { kind: "wanted", requester, audience: audience.audience };
}

function refused(reason: Refused["reason"], message: string): Refused {
  return { kind: "refused", reason, message };
}

/** The scopes of the parent key and its ancestors. */
function parentScopes({ parentKey }: WithParentKey): readonly ScopeLimit[] {
  return parentKey === undefined || parentKey === "gone" ? [] : effectiveScopes(parentKey);
}

function unsupportedBecause({ name }: RequesterAnnotations): string | undefined {
  if (!isSystemName(name)) return undefined;
  return (
    `Latchkey does not mint tokens for ${JSON.stringify(name)}: names that begin with ` +
    '"system:" identify a different user in every cluster. Create the token as another user.'
  );
}

/** Conditions of an expired token. */
export function expiredConditions({ endsAt, isExport }: TokenLifetime): readonly ConditionUpdate[] {
  const message = isExport
    ? "The object was created from an export of another token, so its lifetime counts as " +
      "over. Create a token without metadata.annotations and metadata.finalizers of the " +
      "export."
    : `The token expired at ${timestamp(endsAt)}. Create another one.`;
  return [
    ...stalled("Expired", message),
    { type: "Expired", status: "True", reason: "Expired", message },
  ];
}

/** Conditions of a token that is never minted. */
export function refusedConditions(
  lifetime: TokenLifetime,
  { reason, message }: Refused,
): readonly ConditionUpdate[] {
  return [...stalled(reason, message), notExpired(lifetime)];
}

/** Conditions of a token that waits for its grant. */
export function waitingConditions(lifetime: TokenLifetime): readonly ConditionUpdate[] {
  const message =
    "Waiting for the requester's RBAC grant. Latchkey mints the token when the grant exists " +
    "and no other requester is granted access to the token.";
  return [...reconciling("WaitingForGrant", message), notExpired(lifetime)];
}

/** Conditions of a token whose requester has too many valid tokens. */
export function tooManyConditions(
  lifetime: TokenLifetime,
  requester: string,
  quota: number,
): readonly ConditionUpdate[] {
  const message =
    `Requester ${JSON.stringify(requester)} has ${quota} valid tokens, which is the limit; ` +
    "deleted tokens count until they expire." +
    " Latchkey mints the token when one of them expires.";
  return [...reconciling("TooManyTokens", message), notExpired(lifetime)];
}

/** Conditions of a valid token. */
export function mintedConditions(
  lifetime: TokenLifetime,
  { maximumTokenTtl }: EndpointTokenConfig,
): readonly ConditionUpdate[] {
  const clamped = lifetime.clamped
    ? ` spec.ttl of ${spanText(lifetime.requestedTtl)} exceeds the configured maximum of ` +
      `${spanText(maximumTokenTtl)}, so the maximum applies.`
    : "";
  const withKey = lifetime.endsWithParentKey
    ? " It expires together with its parent access key."
    : "";
  const message = `The token is valid until ${timestamp(lifetime.endsAt)}.${clamped}${withKey}`;
  return [{ type: "Ready", status: "True", reason: "Minted", message }, notExpired(lifetime)];
}

function notExpired(lifetime: TokenLifetime): ConditionUpdate {
  return {
    type: "Expired",
    status: "False",
    reason: "NotExpired",
    message: `The token expires at ${timestamp(lifetime.endsAt)}.`,
  };
}
