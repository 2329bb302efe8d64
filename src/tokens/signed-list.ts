import { SignJWT } from "jose";
import { numberAt, stringAt } from "../api/parse.ts";
import { jwsProblems, type VerificationKeys, verifyJws } from "./compact-jws.ts";
import type { ObservedSigningKeys } from "./signing-keys.ts";

/** Why a list that the issuer signed is refused; a closed set for metrics. */
export const signedListProblems = [...jwsProblems, "claims", "issuer"] as const;

/** One of these problems. */
type SignedListProblem = (typeof signedListProblems)[number];

/** What a list is verified against; `now` in milliseconds since the epoch. */
export interface ListVerificationOptions {
  readonly keys: VerificationKeys;
  readonly issuer: string;
  readonly now: number;
}

/** What is signed; `now` in milliseconds since the epoch. */
interface ListToSign {
  /** The header `typ`. */
  readonly typ: string;
  readonly issuer: string;
  readonly now: number;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What a signed list has to be. */
interface SignedListOptions extends Pick<ListVerificationOptions, "keys" | "issuer"> {
  readonly typ: string;
  readonly mostCharacters: number;
}

/** The claims of a verified list, or why it is refused. */
type VerifiedList =
  | {
      readonly ok: true;
      readonly payload: Readonly<Record<string, unknown>>;
      /** When it was signed, in milliseconds since the epoch. */
      readonly issuedAt: number;
    }
  | { readonly ok: false; readonly reason: SignedListProblem };

/** Signs a list of the issuer as a JWT with the current signing key. */
export function signList(
  { typ, issuer, now, claims }: ListToSign,
  { signing }: Pick<ObservedSigningKeys, "signing">,
): Promise<string> {
  return new SignJWT({ iss: issuer, iat: Math.floor(now / 1000), ...claims })
    .setProtectedHeader({ alg: "ES256", typ, kid: signing.kid })
    .sign(signing.privateKey);
}

/** Verifies a list of {@link signList}. */
export async function verifyList(
  text: string,
  { typ, mostCharacters, keys, issuer }: SignedListOptions,
): Promise<VerifiedList> {
  const verified = await verifyJws(text, { keys, typ, mostCharacters });
  if (!verified.ok) return verified;
  const { payload } = verified;
  const [iss, iat] = [stringAt(payload, "iss"), numberAt(payload, "iat")];
  if (iss === undefined || iat === undefined || !Number.isInteger(iat) || iat < 0)
    return { ok: false, reason: "claims" };
  return iss === issuer
    ? { ok: true, payload, issuedAt: iat * 1000 }
    : { ok: false, reason: "issuer" };
}
