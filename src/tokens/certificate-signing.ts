import "reflect-metadata";
import { isIP } from "node:net";
import { randomBytes, webcrypto, X509Certificate } from "node:crypto";
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
  type X509Certificate as SignedCertificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { SecretText } from "../api/secret-text.ts";
import type { CertificateName } from "../domain/certificates/certificate-plan.ts";
import type { KeyPair } from "./certificate-pem.ts";

/** The names in new certificates. */
export interface CertifiedNames {
  /** DNS names or IP addresses of the server. */
  readonly dnsNames: readonly string[];
  /** Common name of kube-apiserver's client certificate. */
  readonly clientName: string;
}

/** The names in new certificates, and their issue time. */
export interface SigningOptions extends CertifiedNames {
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

const caName = "latchkey-webhook-authority";
const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" };
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" };

/** Creates a self-signed CA. */
export async function newCa({ now }: SigningOptions): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...frame("ca", now),
    name: [{ CN: [caName] }],
    keys,
    signingAlgorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pairOf(certificate, keys);
}

/** Issues a certificate signed by the CA: for the server, or for kube-apiserver as its client. */
export async function issueCertificate(
  name: "serving" | "client",
  ca: KeyPair,
  { dnsNames, clientName, now }: SigningOptions,
): Promise<KeyPair> {
  const { signingKey, verificationKey } = await signerOf(ca);
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
  const isServing = name === "serving";
  const [dnsName = ""] = dnsNames;
  const certificate = await X509CertificateGenerator.create({
    ...frame(name, now),
    subject: [{ CN: [isServing ? dnsName.slice(0, 64) : clientName] }],
    issuer: [{ CN: [caName] }],
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([
        isServing ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth,
      ]),
      await AuthorityKeyIdentifierExtension.create(verificationKey),
      ...(isServing ? [subjectAlternativeNames(dnsNames)] : []),
    ],
  });
  return pairOf(certificate, keys);
}

async function signerOf({ certificate, privateKey }: KeyPair): Promise<{
  readonly signingKey: webcrypto.CryptoKey;
  readonly verificationKey: webcrypto.CryptoKey;
}> {
  const publicKey = new X509Certificate(certificate).publicKey.export({
    format: "der",
    type: "spki",
  });
  const pkcs8 = PemConverter.decodeFirst(SecretText.reveal(privateKey));
  const { subtle } = webcrypto;
  return {
    verificationKey: await subtle.importKey("spki", publicKey, keyAlgorithm, true, ["verify"]),
    signingKey: await subtle.importKey("pkcs8", pkcs8, keyAlgorithm, false, ["sign"]),
  };
}

function subjectAlternativeNames(names: readonly string[]): SubjectAlternativeNameExtension {
  return new SubjectAlternativeNameExtension(
    names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value })),
  );
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

async function pairOf(
  certificate: SignedCertificate,
  { privateKey }: webcrypto.CryptoKeyPair,
): Promise<KeyPair> {
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", privateKey);
  return {
    certificate: `${certificate.toString("pem")}\n`,
    privateKey: new SecretText(`${PemConverter.encode(pkcs8, "PRIVATE KEY")}\n`),
  };
}
