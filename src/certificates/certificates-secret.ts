import { annotations, type CertificatesSecretName } from "../api/names.ts";
import { keyOf, type Metadata } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { type CaFingerprints, parseFormerCa } from "../domain/certificates/ca-change.ts";
import type { ObservedSecret } from "../domain/certificates/certificate-plan.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { InformerDeps } from "../kube/informer/informer-deps.ts";
import type { Change } from "../kube/informer/store.ts";
import {
  parseWebhookCertificates,
  type WebhookCertificates,
  WebhookCertificatesError,
  webhookCertificatesSecret,
} from "../tokens/webhook-certificates.ts";

/** Dependencies of a {@link CertificatesSecret}. */
export interface CertificatesSecretDeps extends InformerDeps {
  readonly client: Pick<Client, "create" | "replace">;
}

/** The stored Secret; `certificates` is undefined if it is invalid. */
export interface StoredCertificates {
  readonly metadata: Metadata;
  readonly certificates: WebhookCertificates | undefined;
  /** Why it is invalid. */
  readonly why?: string;
}

/** Which Secret it is. */
interface CertificatesLocation {
  readonly namespace: string;
  readonly secret: CertificatesSecretName;
}

/** The Secret of the certificates: its watch and its writes. */
export class CertificatesSecret {
  readonly #client: CertificatesSecretDeps["client"];
  readonly #place: { readonly namespace: string } & CertificatesSecretName;
  readonly #informer: Informer<StoredCertificates>;

  constructor(
    deps: CertificatesSecretDeps,
    { namespace, secret }: CertificatesLocation,
    onChange: (change: Change<StoredCertificates>) => void,
  ) {
    this.#client = deps.client;
    this.#place = { namespace, ...secret };
    this.#informer = new Informer<StoredCertificates>(
      {
        listOptions: {
          resource: resources.secrets,
          namespace,
          fieldSelector: `metadata.name=${secret.name}`,
        },
        parse: (raw) => parseStored(raw, secret.name),
        onChange,
      },
      deps,
    );
  }

  /** Resolves when it is known whether the Secret exists. */
  get synced(): Promise<void> {
    return this.#informer.synced;
  }

  /** Watches the Secret until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  /** The last observed Secret; undefined if it does not exist. */
  stored(): StoredCertificates | undefined {
    return this.#informer.store.get(keyOf(this.#place));
  }

  /** Creates the Secret; returns false if another replica has created it. */
  async create(certificates: WebhookCertificates, former: CaFingerprints): Promise<boolean> {
    const secret = webhookCertificatesSecret(certificates, this.#place, former);
    try {
      this.#informer.observe(await this.#client.create(resources.secrets, secret));
      return true;
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
      return false;
    }
  }

  /** Replaces the observed Secret, by uid and resourceVersion. */
  async replace(
    { metadata: { uid, resourceVersion } }: StoredCertificates,
    certificates: WebhookCertificates,
    former: CaFingerprints,
  ): Promise<void> {
    const place = { ...this.#place, uid, resourceVersion };
    const secret = webhookCertificatesSecret(certificates, place, former);
    this.#informer.observe(await this.#client.replace(resources.secrets, secret));
  }
}

/** The former CA that a Secret records. */
export function recordedCa(stored: StoredCertificates | undefined): CaFingerprints {
  return parseFormerCa(stored?.metadata.annotations[annotations.formerCa]);
}

/** The state of the Secret for `planCertificates`. */
export function observedSecret(stored: StoredCertificates | undefined): ObservedSecret {
  if (stored === undefined) return { kind: "missing" };
  if (stored.certificates === undefined) return { kind: "invalid" };
  return {
    kind: "valid",
    formerCa: stored.metadata.annotations[annotations.formerCa] ?? "",
    hasAdmissionPath: stored.certificates.admissionSegment !== undefined,
  };
}

function parseStored(raw: unknown, name: string): StoredCertificates {
  const metadata = parseMetadata(raw);
  try {
    return { metadata, certificates: parseWebhookCertificates(raw, name) };
  } catch (error) {
    if (!(error instanceof WebhookCertificatesError)) throw error;
    return { metadata, certificates: undefined, why: error.message };
  }
}
