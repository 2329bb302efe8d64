import {
  annotations,
  certificateSecrets,
  type CertificatesSecretName,
  labels,
} from "../api/names.ts";
import type { Manifest, Metadata } from "../api/object.ts";
import { parseMetadata, recordAt, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { SecretText } from "../api/secret-text.ts";
import type { Wire } from "../api/wire.ts";
import { type CaFingerprints, formerCaText } from "../domain/certificates/ca-change.ts";
import {
  certificateNames,
  type CertificateName,
  type CertificateValidities,
  type CertificateValidity,
} from "../domain/certificates/certificate-plan.ts";
import {
  caCertificates,
  firstCertificate,
  isPair,
  type KeyPair,
  namesIn,
  validityOf,
} from "./certificate-pem.ts";
import { type SigningOptions, issueCertificate, newCa, validityMs } from "./certificate-signing.ts";
import { isAdmissionSegment, newAdmissionSegment } from "./random-text.ts";

/**
 * The certificates of a server: its CA, its serving certificate, and the client certificate of
 * kube-apiserver. The CA bundle includes the former CA while certificates that it signed may be in
 * use.
 */
export interface ServerCertificates extends Readonly<Record<CertificateName, KeyPair>> {
  readonly validities: CertificateValidities;
  /** DNS names of the serving certificate. */
  readonly dnsNames: readonly string[];
  /** The first segment of admission paths; undefined if the Secret has none. */
  readonly admissionSegment: string | undefined;
}

/** The Secret of the certificates is invalid; the message does not quote its data. */
export class ServerCertificatesError extends Error {
  constructor(problem: string, secret: string) {
    super(
      `Secret ${secret}: ${problem}; restore the Secret, or delete it: a running replica ` +
        "recreates it with the certificates in its memory; without one, " +
        "new certificates are generated",
    );
    this.name = "ServerCertificatesError";
  }
}

/** The data keys of each certificate in the Secret. */
const files: Readonly<
  Record<CertificateName, { readonly certificate: string; readonly privateKey: string }>
> = {
  ca: { certificate: "ca.crt", privateKey: "ca.key" },
  serving: { certificate: "tls.crt", privateKey: "tls.key" },
  client: { certificate: "client.crt", privateKey: "client.key" },
};

const segmentFile = "admission-path";

/**
 * Parses the Secret of the certificates; throws a ServerCertificatesError, which names `secret`.
 */
export function parseServerCertificates(
  raw: unknown,
  secret: string = certificateSecrets.webhook.name,
): ServerCertificates {
  const data = recordAt(raw, "data");
  const pem = (file: string): string => {
    const text = decoded(data, file);
    if (text === "") throw new ServerCertificatesError(`data key ${file} is missing`, secret);
    return text;
  };
  const pair = (name: CertificateName): KeyPair => {
    const { certificate, privateKey } = files[name];
    const found = { certificate: pem(certificate), privateKey: new SecretText(pem(privateKey)) };
    if (validityOf(found.certificate) === undefined)
      throw new ServerCertificatesError(`the ${name} certificate is not a PEM certificate`, secret);
    if (!isPair(found))
      throw new ServerCertificatesError(
        `data key ${privateKey} is not the private key of ${certificate}`,
        secret,
      );
    return found;
  };
  const segment = decoded(data, segmentFile);
  return certificatesOf(
    { ca: pair("ca"), serving: pair("serving"), client: pair("client") },
    isAdmissionSegment(segment) ? segment : undefined,
  );
}

/** The Secret of the certificates as it is stored, and the former CA that it records. */
export type StoredCertificates = { readonly metadata: Metadata; readonly formerCa: string } & (
  | {
      readonly kind: "valid";
      readonly certificates: ServerCertificates;
      readonly hasAdmissionPath: boolean;
    }
  | { readonly kind: "invalid"; readonly why: string }
);

/** Parses the stored Secret with this name, which may be invalid. */
export function storedCertificates(raw: unknown, secret: string): StoredCertificates {
  const metadata = parseMetadata(raw);
  const stored = { metadata, formerCa: metadata.annotations[annotations.formerCa] ?? "" };
  try {
    const certificates = parseServerCertificates(raw, secret);
    const hasAdmissionPath = certificates.admissionSegment !== undefined;
    return { ...stored, kind: "valid", certificates, hasAdmissionPath };
  } catch (error) {
    if (!(error instanceof ServerCertificatesError)) throw error;
    return { ...stored, kind: "invalid", why: error.message };
  }
}

/** The CA in a Secret of certificates, without its private keys; undefined if there is none. */
export function caOfSecret(raw: unknown): string | undefined {
  return caCertificates(decoded(recordAt(raw, "data"), files.ca.certificate));
}

/**
 * Creates a new CA and all certificates; keeps the former CA in the bundle while it is valid, and
 * the admission segment. The former CA signs the serving certificate once more if it outlives it,
 * because kube-apiserver trusts only the former CA until its files are updated.
 */
export async function newServerCertificates(
  signing: SigningOptions,
  before?: ServerCertificates,
): Promise<ServerCertificates> {
  const made = await newCa(signing);
  if (before === undefined || before.validities.ca.endsAt <= signing.now)
    return renewCertificates({ ca: made, names: certificateNames, signing, before });
  const ca = { ...made, certificate: made.certificate + firstCertificate(before.ca.certificate) };
  if (before.validities.ca.endsAt < signing.now + validityMs.serving)
    return renewCertificates({ ca, names: certificateNames, signing, before });
  const served = await renewCertificates({ ca: before.ca, names: ["serving"], signing, before });
  return renewCertificates({ ca, names: ["client"], signing, before: served });
}

/** The certificates to renew, and the CA that signs them. */
interface Renewal {
  readonly ca: KeyPair;
  readonly names: readonly CertificateName[];
  readonly signing: SigningOptions;
  readonly before?: ServerCertificates | undefined;
}

/**
 * Renews the certificates of `names` with the CA; generates an admission segment if `before` has
 * none.
 */
export async function renewCertificates({
  ca,
  names,
  signing,
  before,
}: Renewal): Promise<ServerCertificates> {
  const pair = async (name: "serving" | "client"): Promise<KeyPair> =>
    before === undefined || names.includes(name)
      ? await issueCertificate(name, ca, signing)
      : before[name];
  const [serving, client] = [await pair("serving"), await pair("client")];
  return certificatesOf({ ca, serving, client }, before?.admissionSegment ?? newAdmissionSegment());
}

/**
 * The name of the Secret of the certificates, that of the webhook unless given; with a
 * resourceVersion, it replaces the existing Secret.
 */
interface SecretPlace extends Partial<CertificatesSecretName> {
  readonly namespace: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * The Secret of the certificates in Latchkey's own namespace, with an annotation of the former CA
 * that kube-apiserver trusts, if any.
 */
export function serverCertificatesSecret(
  certificates: ServerCertificates,
  place: SecretPlace,
  former: CaFingerprints = [],
): Manifest {
  const { component, ...metadata } = { ...certificateSecrets.webhook, ...place };
  const { admissionSegment } = certificates;
  const data = Object.fromEntries(
    certificateNames.flatMap((name) => [
      [files[name].certificate, encoded(certificates[name].certificate)],
      [files[name].privateKey, encoded(SecretText.reveal(certificates[name].privateKey))],
    ]),
  );
  return {
    apiVersion: "v1",
    kind: resources.secrets.kind,
    metadata: {
      ...metadata,
      labels: { [labels.component]: component },
      ...(former.length > 0 && { annotations: { [annotations.formerCa]: formerCaText(former) } }),
    },
    type: "Opaque",
    data: {
      ...data,
      ...(admissionSegment !== undefined && { [segmentFile]: encoded(admissionSegment) }),
    },
  } satisfies Wire<"Secret">;
}

/**
 * TLS options of the server, with the private key in plain text, which otherwise only files and
 * Secrets contain.
 */
export function tlsOf({ serving, ca }: ServerCertificates): {
  readonly certificate: string;
  readonly privateKey: string;
  readonly clientAuthority: string;
} {
  return {
    certificate: serving.certificate,
    privateKey: SecretText.reveal(serving.privateKey),
    clientAuthority: ca.certificate,
  };
}

/**
 * User and cluster data of a kubeconfig in base64, with the private key in plain text, for the
 * files that kube-apiserver reads.
 */
export function clientDataOf({ client, ca }: ServerCertificates): {
  readonly certificate: string;
  readonly privateKey: string;
  readonly ca: string;
} {
  return {
    certificate: base64(client.certificate),
    privateKey: base64(SecretText.reveal(client.privateKey)),
    ca: base64(ca.certificate),
  };
}

/** Certificates of valid pairs. */
function certificatesOf(
  pairs: Readonly<Record<CertificateName, KeyPair>>,
  admissionSegment: string | undefined,
): ServerCertificates {
  const validity = (name: CertificateName): CertificateValidity => {
    const found = validityOf(pairs[name].certificate);
    if (found === undefined) throw new TypeError(`the ${name} certificate is invalid`);
    return found;
  };
  const validities = {
    ca: validity("ca"),
    serving: validity("serving"),
    client: validity("client"),
  };
  return { ...pairs, validities, dnsNames: namesIn(pairs.serving.certificate), admissionSegment };
}

function decoded(data: Readonly<Record<string, unknown>>, file: string): string {
  return Buffer.from(stringAt(data, file) ?? "", "base64").toString("utf8");
}

function encoded(text: string): SecretText {
  return new SecretText(base64(text));
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
