import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import type { RequestListener } from "node:http";
import { CompactSign } from "jose";
import { oidcAlgorithms } from "../../src/tokens/oidc-keys.ts";
import { type HttpsFront, startHttpsFront } from "./https-front.ts";

/** A key of an issuer, as it signs. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicJwk: Readonly<Record<string, unknown>>;
}

/** A new key: of a curve, or an RSA key of so many bits. */
export function newIssuerKey(kid: string, alg = "ES256", bits = 2048): IssuerKey {
  const curve = { ES256: "P-256", ES384: "P-384", ES512: "P-521" }[alg];
  const { privateKey, publicKey } =
    curve === undefined
      ? generateKeyPairSync("rsa", { modulusLength: bits })
      : generateKeyPairSync("ec", { namedCurve: curve });
  const publicJwk = { ...publicKey.export({ format: "jwk" }), kid, alg, use: "sig" };
  return { kid, alg, privateKey, publicJwk };
}

/** Claims as an issuer signs them; times in seconds. */
export type SignedClaims = Readonly<Record<string, unknown>>;

/** Signs claims, or a text in place of them, as a token. */
export function signedToken(
  { privateKey, kid, alg }: IssuerKey,
  claims: SignedClaims | string,
  header: object = {},
): Promise<string> {
  const text = typeof claims === "string" ? claims : JSON.stringify(claims);
  return new CompactSign(Buffer.from(text, "utf8"))
    .setProtectedHeader({ alg, kid, typ: "JWT", ...header })
    .sign(createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" })));
}

/** An issuer of tokens on an HTTPS server of this machine. */
export interface TokenIssuer {
  readonly url: string;
  readonly ca: string;
  /** The paths of all requests so far. */
  readonly asked: string[];
  /** The keys that it publishes; a test replaces them. */
  keys: readonly Readonly<Record<string, unknown>>[];
  /** Answers in place of the issuer, if it is set. */
  answer: RequestListener | undefined;
  stop(): Promise<void>;
}

/** Starts an issuer that publishes these keys. */
export async function startTokenIssuer(...keys: readonly IssuerKey[]): Promise<TokenIssuer> {
  const front: HttpsFront = await startHttpsFront((request, response) => {
    issuer.asked.push(request.url ?? "");
    if (issuer.answer !== undefined) return issuer.answer(request, response);
    response.setHeader("content-type", "application/json");
    if (request.url === "/.well-known/openid-configuration")
      response.end(
        JSON.stringify({
          issuer: front.url,
          jwks_uri: `${front.url}/keys`,
          // go-oidc verifies RS256 alone without it.
          id_token_signing_alg_values_supported: oidcAlgorithms,
        }),
      );
    else response.end(JSON.stringify({ keys: issuer.keys }));
  });
  const issuer: TokenIssuer = {
    url: front.url,
    ca: front.ca,
    asked: [],
    keys: keys.map(({ publicJwk }) => publicJwk),
    answer: undefined,
    stop: () => front.stop(),
  };
  return issuer;
}

/** The times of a token that was issued a moment ago, for ten minutes. */
export function timesAt(now: number): { readonly iat: number; readonly exp: number } {
  const iat = Math.floor(now / 1000);
  return { iat, exp: iat + 600 };
}
