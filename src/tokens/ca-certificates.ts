import { X509Certificate } from "node:crypto";
import { recordAt, stringAt } from "../api/parse.ts";

/**
 * The certificates of a PEM text, one after the other and without anything else, such as a private
 * key; undefined if there are none or if one is invalid.
 */
export function caCertificates(pem: string): string | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    const certificates = blocks.map((block) => new X509Certificate(block).toString());
    return certificates.length === 0 ? undefined : certificates.join("");
  } catch {
    return undefined;
  }
}

/** The CA in a Secret of certificates, without its private keys; undefined if there is none. */
export function caOfSecret(raw: unknown): string | undefined {
  const encoded = stringAt(recordAt(raw, "data"), "ca.crt") ?? "";
  return caCertificates(Buffer.from(encoded, "base64").toString("utf8"));
}
