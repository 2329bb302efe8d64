import "reflect-metadata";
import { isIP } from "node:net";
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from "node:crypto";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { SecretText } from "../api/secret-text.ts";
import type { CertificateName } from "../domain/certificates/certificate-plan.ts";

/** A certificate and its private key, in PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly privateKey: SecretText;
}

/** The names in new certificates, and their issue time. */
export interface CertificateTerms {
  /** DNS names or IP addresses of the server. */
  readonly dnsNames: readonly string[];
  /** Common name of kube-apiserver's client certificate. */
  readonly clientName: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const dayMs = 24 * 60 * 60 * 1000;
/** As in kubeadm: ten years for a CA, one year for the certificates that it signs. */
export const validityMs: Readonly<Record<CertificateName, number>> = {
  ca: 3650 * dayMs,
  serving: 365 * dayMs,
  client: 365 * dayMs,
};
/** Certificates are backdated, because the clock of an API server may be behind. */
const backdatedMs = 5 * 60 * 1000;

const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" };
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" };

/** Creates a self-signed CA. */
export async function newCa({ now }: CertificateTerms): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...frame("ca", now),
    name: [{ CN: ["latchkey-webhook-authority"] }],
    keys,
    signingAlgorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    certificate: `${certificate.toString("pem")}\n`,
    privateKey: await pemOf(keys.privateKey),
  };
}

/** Issues a certificate signed by the CA: for the webhook, or for kube-apiserver as its client. */
export async function issueCertificate(
  name: "serving" | "client",
  ca: KeyPair,
  { dnsNames, clientName, now }: CertificateTerms,
): Promise<KeyPair> {
  const signer = new X509Certificate(ca.certificate);
  const issuerKey = await webcrypto.subtle.importKey(
    "spki",
    signer.publicKey.export({ format: "der", type: "spki" }),
    keyAlgorithm,
    true,
    ["verify"],
  );
  const signingKey = await webcrypto.subtle.importKey(
    "pkcs8",
    PemConverter.decodeFirst(SecretText.reveal(ca.privateKey)),
    keyAlgorithm,
    false,
    ["sign"],
  );
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
  const [dnsName = ""] = dnsNames;
  const certificate = await X509CertificateGenerator.create({
    ...frame(name, now),
    subject: [{ CN: [name === "serving" ? dnsName.slice(0, 64) : clientName] }],
    issuer: [{ CN: ["latchkey-webhook-authority"] }],
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([
        name === "serving" ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth,
      ]),
      await AuthorityKeyIdentifierExtension.create(issuerKey),
      ...(name === "serving"
        ? [
            new SubjectAlternativeNameExtension(
              dnsNames.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value })),
            ),
          ]
        : []),
    ],
  });
  return {
    certificate: `${certificate.toString("pem")}\n`,
    privateKey: await pemOf(keys.privateKey),
  };
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

function frame(
  name: CertificateName,
  now: number,
): { readonly serialNumber: string; readonly notBefore: Date; readonly notAfter: Date } {
  // A serial number is positive (RFC 5280, section 4.1.2.2): clears the first bit, and sets the
  // second.
  const serial = randomBytes(16);
  serial[0] = 0x40 | ((serial[0] ?? 0) & 0x3f);
  return {
    serialNumber: serial.toString("hex"),
    notBefore: new Date(now - backdatedMs),
    notAfter: new Date(now + validityMs[name]),
  };
}

async function pemOf(key: webcrypto.CryptoKey): Promise<SecretText> {
  return new SecretText(
    `${PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`,
  );
}
