import { SignJWT } from "jose";
import { group } from "../api/names.ts";
import { isRecord, ownValue, stringAt } from "../api/parse.ts";
import { readingBounds } from "../api/reading-bounds.ts";
import { type Scope, parseScope } from "../api/scope.ts";
import { SecretText } from "../api/secret-text.ts";
import type { SignedToken, TokenClaims } from "../domain/endpoint-token/token-claims.ts";
import { isSystemName } from "../domain/requester/requester.ts";
import { jwsProblems, type VerificationKeys, verifyJws } from "./compact-jws.ts";
import type { ObservedSigningKeys } from "./signing-keys.ts";
import { strictJson } from "./strict-json.ts";

/** Signs a direct token (RFC 7519) with ES256 and the current signing key. */
export async function mintToken(
  claims: TokenClaims,
  { signing }: ObservedSigningKeys,
): Promise<SignedToken> {
  const header = { alg: "ES256", typ: "JWT", kid: signing.kid };
  const token = await new SignJWT({ ...claims, groups: [...claims.groups] })
    .setProtectedHeader(header)
    .sign(signing.privateKey);
  return { token: new SecretText(token), kid: signing.kid };
}

/** Why a token is refused; a closed set for metrics. */
export const tokenProblems = [
  ...jwsProblems,
  "claims",
  "issuer",
  "audience",
  "expired",
  "not-yet-valid",
  "system-name",
  "scope",
] as const;

/** One of these problems. */
type TokenProblem = (typeof tokenProblems)[number];

/** Who a direct token is for, and its limits. */
export interface VerifiedToken {
  /** The uid of the DirectClusterEndpointToken. */
  readonly jti: string;
  readonly sub: string;
  readonly groups: readonly string[];
  /** All of them must allow a request; an empty list does not restrict. */
  readonly scopes: readonly Scope[];
  /** The uid of the access key that the token was requested with. */
  readonly keyId: string | undefined;
  /** The name of the DirectClusterEndpointToken. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The token and the kid of the key that signed it, or why the token is refused. */
export type TokenVerification =
  | { readonly ok: true; readonly token: VerifiedToken; readonly kid: string }
  | { readonly ok: false; readonly reason: TokenProblem };

/** Issuer and audiences of the tokens that an endpoint accepts. */
export interface TokenOrigin {
  readonly issuer: string;
  /** A token has one audience, which must be one of these. */
  readonly audiences: readonly string[];
}

/** What a token is verified against; `now` in milliseconds since the epoch. */
interface VerificationOptions extends TokenOrigin {
  readonly keys: VerificationKeys;
  readonly now: number;
}

/**
 * How far `nbf` and `iat` may be in the future: the clock of the cluster that mints may be ahead of
 * this one. kube-apiserver allows as much for `nbf` (go-oidc), so that both accept a new token.
 */
const clockLeewayMs = 300_000;

/** The last second of a Date, in seconds since the epoch (ECMA-262, Time Values). */
const lastSecond = 8_640_000_000_000;

/**
 * Verifies a direct token (RFC 7519) as `mintToken` signs it: ES256, with a key of the set. The
 * subject and groups must not begin with `system:`, which means other accounts in each cluster. An
 * invalid scope refuses the token.
 *
 * `exp` is exact. `nbf` and `iat` may be 5 minutes in the future: both are the time of minting, and
 * Latchkey never mints a token for later, so that the allowance makes no token valid for longer.
 * There is no maximum lifetime: the controller bounds it, and a stolen signing key could sign any
 * number of short tokens.
 */
export async function verifyDirectToken(
  token: SecretText,
  options: VerificationOptions,
): Promise<TokenVerification> {
  const verified = await verifyJws(SecretText.reveal(token), {
    keys: options.keys,
    typ: "JWT",
    mostCharacters: readingBounds.token.bytes,
  });
  if (!verified.ok) return verified;
  const read = readClaims(verified.payload, options);
  return typeof read === "string"
    ? { ok: false, reason: read }
    : { ok: true, token: read, kid: verified.kid };
}

type Json = Readonly<Record<string, unknown>>;

function readClaims(
  payload: Json,
  { issuer, audiences, now }: VerificationOptions,
): VerifiedToken | TokenProblem {
  const [iss, sub, jti] = ["iss", "sub", "jti"].map((name) => textAt(payload, name));
  const [exp, nbf, iat] = ["exp", "nbf", "iat"].map((name) => instantAt(payload, name));
  const aud = textAt(payload, "aud");
  const groups = groupsOf(payload);
  const service = serviceOf(ownValue(payload, group));
  if (iss === undefined || sub === undefined || jti === undefined) return "claims";
  if (exp === undefined || nbf === undefined || iat === undefined) return "claims";
  if (groups === undefined || service === undefined) return "claims";
  if (iss !== issuer) return "issuer";
  if (aud === undefined || !audiences.includes(aud)) return "audience";
  if (exp <= now) return "expired";
  if (Math.max(nbf, iat) > now + clockLeewayMs) return "not-yet-valid";
  if ([sub, ...groups].some(isSystemName)) return "system-name";
  const scopes = service.scope === undefined ? [] : tokenScopes(service.scope);
  if (scopes === undefined) return "scope";
  return { jti, sub, groups, scopes, keyId: service.keyID, name: service.name, expiresAt: exp };
}

function textAt(claims: Json, name: string): string | undefined {
  const text = stringAt(claims, name);
  return text === "" ? undefined : text;
}

/** The instant of a claim in whole seconds, as milliseconds since the epoch. */
function instantAt(claims: Json, name: string): number | undefined {
  const value = ownValue(claims, name);
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= lastSecond
    ? value * 1000
    : undefined;
}

function groupsOf(payload: Json): readonly string[] | undefined {
  const groups = ownValue(payload, "groups");
  if (groups === undefined) return [];
  return Array.isArray(groups) && groups.every((name) => typeof name === "string" && name !== "")
    ? groups
    : undefined;
}

interface Service {
  readonly scope: string | undefined;
  readonly keyID: string | undefined;
  readonly name: string;
}

const serviceMembers: ReadonlySet<string> = new Set(["scope", "keyID", "name"]);

/** The private claim; an unknown member refuses it, because the member might restrict the token. */
function serviceOf(claim: unknown): Service | undefined {
  if (!isRecord(claim)) return undefined;
  const [name, scope, keyID] = ["name", "scope", "keyID"].map((field) => textAt(claim, field));
  const isRead = Object.keys(claim).every(
    (field) => serviceMembers.has(field) && textAt(claim, field) !== undefined,
  );
  return isRead && name !== undefined ? { scope, keyID, name } : undefined;
}

/**
 * The scopes in the claim `scope` of a direct token, which must all allow a request: one, or a list
 * of at least one; undefined if any of them is invalid.
 */
export function tokenScopes(text: string): readonly Scope[] | undefined {
  const value = strictJson(text);
  const scopes = (Array.isArray(value) ? value : [value]).map(parseScope);
  const read = scopes.filter((scope) => scope !== undefined);
  return read.length === scopes.length && read.length > 0 ? read : undefined;
}
