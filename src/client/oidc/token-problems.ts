import { annotations, ownObjects } from "../../api/names.ts";
import { ownValue } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { type ClaimRule, type Claims, claimMismatch } from "../../domain/oidc/claim-rules.ts";
import { type IssuerEntry, missingClaim } from "../../domain/oidc/issuer-entries.ts";
import { namedKey } from "../../domain/oidc/named-key.ts";
import { tokenTimes } from "../../domain/oidc/token-times.ts";
import type { UnverifiedToken } from "../../tokens/oidc-token.ts";
import type { LiveKey } from "../explain/live-keys.ts";
import { isHidden } from "../missing-right.ts";

/** The ConfigMap with the issuers, as a sentence names it. */
export function issuersText(namespace: string): string {
  return `ConfigMap "${namespace}/${ownObjects.issuers}"`;
}

/** Whether the user may not read the ConfigMap with the issuers. */
export function isIssuerHidden({ missing, resolved }: LiveKey): boolean {
  const { namespace } = resolved.config;
  return isHidden(missing, resources.configMaps, { namespace, name: ownObjects.issuers });
}

/**
 * Why a key does not accept a token at `now`, in milliseconds since the epoch, whatever its
 * signature is: sentences without a capital and a period, in the order in which a server decides.
 */
export function tokenProblems(
  { issuer, claims }: UnverifiedToken,
  live: LiveKey,
  now: number,
): readonly string[] {
  const { key, tokens, config } = live.resolved;
  const trusted = tokens?.kind === "trusted" ? tokens.issuer.url : undefined;
  const url = tokens?.kind === "unknown-issuer" ? tokens.url : trusted;
  if (tokens === undefined)
    return [
      "the key accepts no token, because it has spec.key or lacks the annotation " +
        annotations.issuer,
    ];
  if (tokens.kind === "invalid")
    return [`the key accepts no token, because its annotation ${tokens.annotation} is invalid`];
  if (url !== issuer)
    return [`the issuer of the token is ${quoted(issuer)}, and the key names ${quoted(url)}`];
  if (tokens.kind === "unknown-issuer")
    return [`${issuersText(config.namespace)} has no entry with the issuer ${quoted(url)}`];
  const ofIssuer = isIssuerHidden(live)
    ? []
    : [
        audienceProblem(claims, tokens.issuer, key.metadata.name),
        issuerClaimProblem(tokens.issuer, claims),
      ];
  const [audience, issuerClaim] = ofIssuer;
  const all = [audience, timeProblem(claims, now), issuerClaim, claimProblem(tokens.rules, claims)];
  return all.filter((problem) => problem !== undefined);
}

/** Why the audiences of a token do not name a key; `name` is undefined where any key will do. */
export function audienceProblem(
  claims: Claims,
  { audiences }: Pick<IssuerEntry, "audiences">,
  name: string | undefined,
): string | undefined {
  const named = namedKey(ownValue(claims, "aud"), audiences);
  const wanted = audiences.map((audience) => `"${audience}/${name ?? "<name of the key>"}"`);
  const form = `request one with the audience ${wanted.join(" or ")}`;
  switch (named.kind) {
    case "none":
      return `no audience of the token names a key; ${form}`;
    case "several":
      return `the audiences of the token name several keys; ${form} alone`;
    case "key":
      return name === undefined || named.name === name
        ? undefined
        : `the audience of the token names the key ${quoted(named.name)}; ${form}`;
  }
}

const timeProblems = {
  "no-times": "the token has no exp or no iat, or a time in it is no number of seconds",
  "too-long": "exp of the token is more than 24 hours after its iat; request a shorter token",
  "not-yet": "iat or nbf of the token is more than 60 s ahead; correct the clock of its issuer",
} as const;

function timeProblem(claims: Claims, now: number): string | undefined {
  const times = tokenTimes(claims, now);
  if (times.kind === "valid") return undefined;
  return times.reason === "expired"
    ? `the token ended at ${endText(claims)}; request another one`
    : timeProblems[times.reason];
}

/** `exp` of a token that had valid times, without a fraction of a second. */
function endText(claims: Claims): string {
  return new Date(Number(ownValue(claims, "exp")) * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}

function issuerClaimProblem(issuer: IssuerEntry, claims: Claims): string | undefined {
  const name = missingClaim(issuer, claims);
  const required = issuer.required.find(({ claim }) => claim === name);
  return required === undefined
    ? undefined
    : `${claimText(required.claim, ownValue(claims, required.claim))}, and claimValidationRules ` +
        `of the issuer require ${quoted(required.value)}`;
}

function claimProblem(rules: readonly ClaimRule[], claims: Claims): string | undefined {
  const mismatch = claimMismatch(rules, claims);
  if (mismatch === undefined) return undefined;
  const { rule, claim } = mismatch;
  const value = quoted(rule.isPrefix ? `${rule.value}*` : rule.value);
  const hint = typeof claim === "number" ? ", but a number never matches" : "";
  return `${claimText(rule.name, claim)}, and the rule says ${value}${hint}`;
}

function claimText(name: string, value: unknown): string {
  return `claim ${quoted(name)} is ${value === undefined ? "absent" : quoted(value)}`;
}

const longestQuote = 100;

/** A value of a token or a rule in JSON, and at most 100 characters of it. */
function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return text.length > longestQuote ? `${text.slice(0, longestQuote)}...` : text;
}
