import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { stringAt } from "../api/parse.ts";

/** Public members of an ES256 key (RFC 7518 section 6.2.1), coordinates in base64url. */
export interface PublicEcJwk {
  readonly kty: "EC";
  readonly crv: "P-256";
  readonly x: string;
  readonly y: string;
}

/** The public part of a key, which signs or verifies. */
export interface PublishedKey {
  /** JWK thumbprint with SHA-256 (RFC 7638). */
  readonly kid: string;
  readonly publicJwk: PublicEcJwk;
}

/** A signing key: its public JWK, and its private key, which cannot be printed. */
export interface Es256Key extends PublishedKey {
  readonly privateKey: KeyObject;
}

/** A key that verifies signatures. */
export interface VerificationKey extends PublishedKey {
  readonly publicKey: KeyObject;
}

/**
 * Parses a private JWK; undefined if it is not a P-256 key. The public part is derived from `d`.
 */
export function es256KeyOf(jwk: unknown): Es256Key | undefined {
  const d = stringAt(jwk, "d") ?? "";
  if (stringAt(jwk, "kty") !== "EC" || stringAt(jwk, "crv") !== "P-256" || d === "")
    return undefined;
  try {
    const curve = createECDH("prime256v1");
    curve.setPrivateKey(Buffer.from(d, "base64url"));
    const point = curve.getPublicKey();
    const publicJwk = {
      kty: "EC",
      crv: "P-256",
      x: coordinate(point, 1),
      y: coordinate(point, 33),
    } as const;
    const privateKey = createPrivateKey({ key: { ...publicJwk, d }, format: "jwk" });
    return { kid: thumbprintOf(publicJwk), publicJwk, privateKey };
  } catch {
    // Errors of node:crypto may quote their input.
    return undefined;
  }
}

/**
 * Parses a public JWK; undefined if it is not a P-256 key with a point on the curve. Each
 * coordinate has 32 bytes (RFC 7518 section 6.2.1.2), in the only base64url text for them.
 */
export function es256PublicKeyOf(jwk: unknown): VerificationKey | undefined {
  const [x = "", y = ""] = [stringAt(jwk, "x"), stringAt(jwk, "y")];
  if (stringAt(jwk, "kty") !== "EC" || stringAt(jwk, "crv") !== "P-256") return undefined;
  if (bytesIn(x)?.length !== 32 || bytesIn(y)?.length !== 32) return undefined;
  const publicJwk = { kty: "EC", crv: "P-256", x, y } as const;
  try {
    const publicKey = createPublicKey({ key: { ...publicJwk }, format: "jwk" });
    return { kid: thumbprintOf(publicJwk), publicJwk, publicKey };
  } catch {
    // Errors of node:crypto may quote their input.
    return undefined;
  }
}

/**
 * The bytes of a base64url text; undefined if it has padding, other characters or bits that no byte
 * needs (RFC 4648 sections 3.5 and 5), so that no two texts have the same bytes.
 */
export function bytesIn(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/** Generates a key pair, as a private JWK. */
export function newEs256Jwk(): { readonly kid: string; readonly privateJwk: object } {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "", d = "" } = privateKey.export({ format: "jwk" });
  const publicJwk = { kty: "EC", crv: "P-256", x, y } as const;
  return { kid: thumbprintOf(publicJwk), privateJwk: { ...publicJwk, d } };
}

function thumbprintOf({ crv, kty, x, y }: PublicEcJwk): string {
  return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

function coordinate(point: Buffer, start: number): string {
  return point.subarray(start, start + 32).toString("base64url");
}
