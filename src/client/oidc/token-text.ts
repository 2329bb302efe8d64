import { ownValue } from "../../api/parse.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import type { Claims } from "../../domain/oidc/claim-rules.ts";
import { readFileBytes } from "../../runtime/read-text-file.ts";
import { oidcAlgorithms } from "../../tokens/oidc-keys.ts";
import type { readOidcToken } from "../../tokens/oidc-token.ts";

/** The most that is read of a file or an answer with a token, in bytes; a token has less. */
export const mostTokenBytes = 64 * 1024;

/** Reads a file with a token, without the blanks around it; throws a ConfigError. */
export function readTokenFile(option: string, path: string): string {
  return readFileBytes({ option, path }, mostTokenBytes).toString("utf8").trim();
}

type FormProblem = Extract<ReturnType<typeof readOidcToken>, { kind: "refused" }>["reason"];

const formProblems = {
  oversized:
    `has more than ${readingBounds.foreignToken.bytes} bytes, ` +
    "or a header of more than 2048 characters",
  malformed:
    "is no JWT, which has three parts in base64url between dots: " +
    "two JSON objects, without a member that stands twice, and a signature",
  algorithm: `is not signed with one of ${oidcAlgorithms.join(", ")}`,
  type: "has a header whose typ is not JWT",
  header: "has no kid in its header or no iss, or has crit or b64 in its header",
} as const satisfies Readonly<Record<FormProblem, string>>;

/** Why a text is no token of an issuer, as the predicate of a sentence; it quotes nothing. */
export function formProblem(reason: FormProblem): string {
  return formProblems[reason];
}

/** The audiences of a token (`aud` of RFC 7519, section 4.1.3). */
export function audiencesOf(claims: Claims): readonly unknown[] {
  const aud = ownValue(claims, "aud");
  return Array.isArray(aud) ? aud : [aud];
}
