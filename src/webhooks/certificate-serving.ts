import { certificateProblemSentence } from "../domain/certificates/certificate-problem.ts";
import { certificateSecrets } from "../api/names.ts";
import type { ServerTls } from "../runtime/http-server.ts";
import { isSameText } from "../tokens/random-text.ts";
import { tlsOf, type WebhookCertificates } from "../tokens/webhook-certificates.ts";
import {
  type CaBundleInjectorDeps,
  createCaBundleInjector,
} from "../certificates/ca-bundle-injector.ts";
import { Certificates, type CertificatesDeps } from "../certificates/certificates.ts";
import { dnsNamesOf } from "../certificates/service-certificates.ts";
import { apiServerName } from "./review-route.ts";

/** Dependencies of {@link CertificateServing}. */
type CertificateServingDeps = CaBundleInjectorDeps &
  Omit<CertificatesDeps, "publishedBundles" | "onChange" | "onRecorded">;

/** The namespace of the certificates, and the DNS names and admission path of the webhook. */
export interface CertificateServingOptions {
  readonly namespace: string;
  readonly serviceName: string;
  /** DNS names in addition to those of the Service. */
  readonly certificateNames: readonly string[];
  /**
   * The first path segment of the admission routes, if an administrator manages the webhook
   * configurations; otherwise the webhook generates and publishes one.
   */
  readonly admissionPath: string | undefined;
}

/** Serves with the certificates of the Secret, and publishes their CA and the admission path. */
export class CertificateServing {
  readonly #deps: CertificateServingDeps;
  readonly #options: CertificateServingOptions;
  #segment: string | undefined;
  #certificates: Certificates | undefined;

  constructor(deps: CertificateServingDeps, options: CertificateServingOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#segment = options.admissionPath;
  }

  /** Whether this is the first path segment of the admission routes. */
  isAdmissionSegment(segment: string): boolean {
    return this.#segment !== undefined && isSameText(segment, this.#segment);
  }

  /** Records the client certificate (PEM) that kube-apiserver presents. */
  shown(certificate: string | undefined): void {
    this.#certificates?.shown(certificate);
  }

  /** The problems of the certificates, one sentence each. */
  warnings(): readonly string[] {
    const problems = this.#certificates?.problems() ?? [];
    return problems.map((problem) =>
      certificateProblemSentence(problem, certificateSecrets.webhook.name),
    );
  }

  /**
   * Watches the certificates until the signal aborts; calls `onTls` for each set of certificates.
   */
  async run(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void> {
    const { namespace, admissionPath } = this.#options;
    const injector = createCaBundleInjector(this.#deps);
    const onChange = (made: WebhookCertificates): void => {
      if (admissionPath === undefined) this.#segment = made.admissionSegment;
      onTls(tlsOf(made));
    };
    const onRecorded = ({ ca, admissionSegment }: WebhookCertificates): void => {
      if (admissionPath === undefined && admissionSegment !== undefined)
        injector.publish({ ca: ca.certificate, segment: admissionSegment });
    };
    const publishedBundles = (): readonly string[] | undefined => injector.bundles();
    this.#certificates = new Certificates(
      { ...this.#deps, publishedBundles, onChange, onRecorded },
      {
        namespace,
        dnsNames: dnsNamesOf({ ...this.#options, externalNames: this.#options.certificateNames }),
        clientName: apiServerName,
        secret: certificateSecrets.webhook,
      },
    );
    await Promise.all([this.#certificates.run(signal), injector.run(signal)]);
  }
}
