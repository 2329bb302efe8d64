import { X509Certificate } from "node:crypto";
import { annotations, certificateSecrets, labels } from "../api/names.ts";
import type { Manifest } from "../api/object.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { SecretText } from "../api/secret-text.ts";
import { type CaFingerprints, formerCaText } from "../domain/certificates/ca-change.ts";
import type {
  CertificateValidity,
  CertificateValidities,
  CertificateName,
} from "../domain/certificates/certificate-plan.ts";
import {
  type CertificateTerms,
  isPair,
  issueCertificate,
  type KeyPair,
  newCa,
  validityMs,
} from "./certificate-signing.ts";
import { isAdmissionSegment, newAdmissionSegment } from "./random-text.ts";

/**
 * The content of the webhook's Secret: the CA, the serving certificate, and the client certificate
 * of kube-apiserver. The CA bundle includes the former CA while certificates that it signed may be
 * in use.
 */
export interface WebhookCertificates extends Readonly<Record<CertificateName, KeyPair>> {
  readonly validities: CertificateValidities;
  /** DNS names of the serving certificate. */
  readonly dnsNames: readonly string[];
  /** The first segment of admission paths; undefined if the Secret has none. */
  readonly admissionSegment: string | undefined;
}

/** The Secret of the certificates is invalid; the message does not quote its data. */
export class WebhookCertificatesError extends Error {
  readonly code = "WebhookCertificatesUnreadable";

  constructor(problem: string, secret: string = certificateSecrets.webhook.name) {
    super(
      `Secret ${secret}: ${problem}; restore the Secret, or delete it: a running replica recreates it with the certificates in its memory; without one, new certificates are generated`,
    );
    this.name = "WebhookCertificatesError";
  }
}

const files: Readonly<
  Record<CertificateName, { readonly certificate: string; readonly privateKey: string }>
> = {
  ca: { certificate: "ca.crt", privateKey: "ca.key" },
  serving: { certificate: "tls.crt", privateKey: "tls.key" },
  client: { certificate: "client.crt", privateKey: "client.key" },
};

const segmentFile = "admission-path";

/** Parses the Secret of the certificates; throws a WebhookCertificatesError, which names `secret`. */
export function parseWebhookCertificates(raw: unknown, secret?: string): WebhookCertificates {
  const data = recordAt(raw, "data");
  const pem = (file: string): string => {
    const encoded = stringAt(data, file);
    if (encoded === undefined || encoded === "")
      throw new WebhookCertificatesError(`data key ${file} is missing`, secret);
    return Buffer.from(encoded, "base64").toString("utf8");
  };
  const pair = (name: CertificateName): KeyPair => {
    const { certificate, privateKey } = files[name];
    const found = { certificate: pem(certificate), privateKey: new SecretText(pem(privateKey)) };
    lifeOf(name, found);
    if (!isPair(found))
      throw new WebhookCertificatesError(
        `data key ${privateKey} is not the private key of ${certificate}`,
        secret,
      );
    return found;
  };
  const segment = Buffer.from(stringAt(data, segmentFile) ?? "", "base64").toString("utf8");
  return withLives(
    { ca: pair("ca"), serving: pair("serving"), client: pair("client") },
    isAdmissionSegment(segment) ? segment : undefined,
  );
}

/**
 * Creates a new CA and all certificates; keeps the former CA in the bundle while it is valid, and
 * the admission segment. The former CA signs the serving certificate once more if it outlives it,
 * because kube-apiserver trusts only the former CA until its files are updated.
 */
export async function newWebhookCertificates(
  terms: CertificateTerms,
  before?: WebhookCertificates,
): Promise<WebhookCertificates> {
  const made = await newCa(terms);
  if (before === undefined || before.validities.ca.endsAt <= terms.now) {
    return renewCertificates({
      ca: made,
      names: ["serving", "client"],
      terms,
      ...(before === undefined ? {} : { before }),
    });
  }
  const ca = {
    ...made,
    certificate: made.certificate + firstOf(before.ca.certificate),
  };
  const outlives = before.validities.ca.endsAt >= terms.now + validityMs.serving;
  const served = outlives
    ? await renewCertificates({ ca: before.ca, names: ["serving"], terms, before })
    : before;
  return renewCertificates({
    ca,
    names: outlives ? ["client"] : ["serving", "client"],
    terms,
    before: served,
  });
}

/** The certificates to renew, and the CA that signs them. */
interface Renewal {
  readonly ca: KeyPair;
  readonly names: readonly CertificateName[];
  readonly terms: CertificateTerms;
  readonly before?: WebhookCertificates;
}

/**
 * Renews the certificates of `names` with the CA; generates an admission segment if `before` has
 * none.
 */
export async function renewCertificates({
  ca,
  names,
  terms,
  before,
}: Renewal): Promise<WebhookCertificates> {
  const pair = async (name: "serving" | "client"): Promise<KeyPair> =>
    before === undefined || names.includes(name)
      ? await issueCertificate(name, ca, terms)
      : before[name];
  const [serving, client] = [await pair("serving"), await pair("client")];
  return withLives({ ca, serving, client }, before?.admissionSegment ?? newAdmissionSegment());
}

/**
 * The name of the Secret of the certificates; with a resourceVersion, it replaces the existing
 * Secret.
 */
interface CertificatesPlace {
  readonly namespace: string;
  /** That of the webhook unless given. */
  readonly name?: string;
  readonly component?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * The Secret of the certificates in Latchkey's own namespace, with an annotation of the former CA
 * that kube-apiserver trusts, if any.
 */
export function webhookCertificatesSecret(
  certificates: WebhookCertificates,
  place: CertificatesPlace,
  former: CaFingerprints = [],
): Manifest {
  const { name, component, ...whereabouts } = { ...certificateSecrets.webhook, ...place };
  const encode = (text: string): SecretText =>
    new SecretText(Buffer.from(text, "utf8").toString("base64"));
  const entries = Object.entries(files).flatMap(
    ([which, { certificate, privateKey }]): readonly (readonly [string, SecretText])[] => {
      const pair =
        which === "ca"
          ? certificates.ca
          : which === "serving"
            ? certificates.serving
            : certificates.client;
      return [
        [certificate, encode(pair.certificate)],
        [privateKey, encode(SecretText.reveal(pair.privateKey))],
      ];
    },
  );
  return {
    apiVersion: "v1",
    kind: resources.secrets.kind,
    metadata: {
      ...whereabouts,
      name,
      labels: { [labels.component]: component },
      ...(former.length === 0
        ? {}
        : { annotations: { [annotations.formerCa]: formerCaText(former) } }),
    },
    type: "Opaque",
    data: Object.fromEntries([
      ...entries,
      ...(certificates.admissionSegment === undefined
        ? []
        : [[segmentFile, encode(certificates.admissionSegment)] as const]),
    ]),
  };
}

/**
 * TLS options of the server, with the private key in plain text, which otherwise only files and
 * Secrets contain.
 */
export function tlsOf({ serving, ca }: Pick<WebhookCertificates, "serving" | "ca">): {
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
export function clientDataOf({ client, ca }: Pick<WebhookCertificates, "client" | "ca">): {
  readonly certificate: string;
  readonly privateKey: string;
  readonly ca: string;
} {
  const encode = (text: string): string => Buffer.from(text, "utf8").toString("base64");
  return {
    certificate: encode(client.certificate),
    privateKey: encode(SecretText.reveal(client.privateKey)),
    ca: encode(ca.certificate),
  };
}

/**
 * SHA-256 fingerprints of the certificates in a PEM text, in its order and in lower-case hex; omits
 * invalid certificates.
 */
export function caFingerprints(pem: string): CaFingerprints {
  return (pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []).flatMap(
    (text) => {
      try {
        return [new X509Certificate(text).fingerprint256.replaceAll(":", "").toLowerCase()];
      } catch {
        return [];
      }
    },
  );
}

/** Whether the current CA, the first one in its bundle, signed a certificate; both are PEM. */
export function isSignedBy(certificate: string, { ca }: Pick<WebhookCertificates, "ca">): boolean {
  try {
    return new X509Certificate(certificate).verify(new X509Certificate(ca.certificate).publicKey);
  } catch {
    return false;
  }
}

/**
 * The validity of the first certificate in a PEM text; throws a WebhookCertificatesError that does
 * not quote the text.
 */
function lifeOf(name: string, { certificate }: Pick<KeyPair, "certificate">): CertificateValidity {
  try {
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    return { startsAt: validFromDate.getTime(), endsAt: validToDate.getTime() };
  } catch {
    throw new WebhookCertificatesError(`the ${name} certificate is not a PEM certificate`);
  }
}

function withLives(
  pairs: Readonly<Record<CertificateName, KeyPair>>,
  admissionSegment: string | undefined,
): WebhookCertificates {
  const { ca, serving, client } = pairs;
  const validities = {
    ca: lifeOf("ca", ca),
    serving: lifeOf("serving", serving),
    client: lifeOf("client", client),
  };
  return { ...pairs, validities, dnsNames: dnsNamesOf(serving), admissionSegment };
}

function dnsNamesOf({ certificate }: KeyPair): readonly string[] {
  const { subjectAltName = "" } = new X509Certificate(certificate);
  return subjectAltName
    .split(", ")
    .flatMap((entry) => /^(?:DNS|IP Address):(.*)$/.exec(entry)?.slice(1) ?? []);
}

function firstOf(pem: string): string {
  const end = "-----END CERTIFICATE-----";
  return `${pem.slice(0, pem.indexOf(end) + end.length)}\n`;
}
