import { createPrivateKey, X509Certificate } from "node:crypto";
import { certificateBlocks } from "../api/pem.ts";
import { SecretText } from "../api/secret-text.ts";
import type { CaFingerprints } from "../domain/certificates/ca-change.ts";
import type { CertificateValidity } from "../domain/certificates/certificate-plan.ts";

/** A certificate and its private key, in PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly privateKey: SecretText;
}

/** Whether the private key belongs to the certificate. */
export function isPair({ certificate, privateKey }: KeyPair): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(
      createPrivateKey(SecretText.reveal(privateKey)),
    );
  } catch {
    return false;
  }
}

/** The validity of the first certificate in a PEM text; undefined if it is invalid. */
export function validityOf(pem: string): CertificateValidity | undefined {
  try {
    const { validFromDate, validToDate } = new X509Certificate(pem);
    return { startsAt: validFromDate.getTime(), endsAt: validToDate.getTime() };
  } catch {
    return undefined;
  }
}

/** The DNS names and IP addresses of a valid certificate, IPv6 as in RFC 5952. */
export function namesIn(certificate: string): readonly string[] {
  const { subjectAltName = "" } = new X509Certificate(certificate);
  return subjectAltName
    .split(", ")
    .flatMap((entry) => /^(?:DNS|IP Address):(.*)$/.exec(entry)?.slice(1) ?? [])
    .map((name) => URL.parse(`http://[${name}]`)?.hostname.slice(1, -1) ?? name);
}

/** The first certificate of a PEM text. */
export function firstCertificate(pem: string): string {
  return `${certificateBlocks(pem)[0] ?? ""}\n`;
}

/**
 * The certificates of a PEM text, one after the other and without anything else, such as a private
 * key; undefined if there are none or if one is invalid or incomplete.
 */
export function caCertificates(pem: string): string | undefined {
  try {
    const certificates = certificateBlocks(pem).map((block) =>
      new X509Certificate(block).toString(),
    );
    const isWhole = pem.split("-----BEGIN CERTIFICATE-----").length === certificates.length + 1;
    return isWhole && certificates.length > 0 ? certificates.join("") : undefined;
  } catch {
    return undefined;
  }
}

/**
 * SHA-256 fingerprints of the certificates in a PEM text, in its order and in lower-case hex; omits
 * invalid certificates.
 */
export function caFingerprints(pem: string): CaFingerprints {
  return certificateBlocks(pem).flatMap((block) => {
    try {
      return [new X509Certificate(block).fingerprint256.replaceAll(":", "").toLowerCase()];
    } catch {
      return [];
    }
  });
}

/** Whether the first certificate of a CA bundle signed a certificate; both are PEM. */
export function isSignedBy(certificate: string, ca: string): boolean {
  try {
    return new X509Certificate(certificate).verify(new X509Certificate(ca).publicKey);
  } catch {
    return false;
  }
}
