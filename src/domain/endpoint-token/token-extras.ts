import { tokenExtras } from "../../api/names.ts";
import { listAt } from "../../api/parse.ts";

/**
 * The extras by which a request is one with a direct token. The id of an access key is not among
 * them: the gateway sends it with the requests of keys, whose scopes it has enforced.
 */
export const directTokenExtras: readonly string[] = [
  tokenExtras.tokenId,
  tokenExtras.tokenName,
  tokenExtras.scope,
];

/** The direct token that a request was made with, by the extras of its user. */
export type TokenOfRequest =
  | { readonly kind: "none" }
  | { readonly kind: "invalid"; readonly reason: string }
  | {
      readonly kind: "token";
      readonly jti: string;
      /** The claim `scope`; undefined if the token has none. */
      readonly scope: string | undefined;
    };

/**
 * Reads the direct token of a request. kube-apiserver maps each claim to one value, so that any
 * other number of values is invalid: it is not known what they would restrict.
 */
export function tokenOfRequest(extra: Readonly<Record<string, unknown>>): TokenOfRequest {
  if (!directTokenExtras.some((name) => Object.hasOwn(extra, name))) return { kind: "none" };
  const jti = soleText(extra, tokenExtras.tokenId);
  if (jti === undefined) return invalid(tokenExtras.tokenId);
  if (!Object.hasOwn(extra, tokenExtras.scope)) return { kind: "token", jti, scope: undefined };
  const scope = soleText(extra, tokenExtras.scope);
  return scope === undefined ? invalid(tokenExtras.scope) : { kind: "token", jti, scope };
}

function soleText(extra: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const [text, ...others] = listAt(extra, name);
  return typeof text === "string" && text !== "" && others.length === 0 ? text : undefined;
}

function invalid(name: string): TokenOfRequest {
  return {
    kind: "invalid",
    reason:
      `the user has not exactly one value of the extra ${name}; start kube-apiserver with the ` +
      "files of kubectl latchkey trust-config --authentication --authorization",
  };
}
