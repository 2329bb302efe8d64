import { ownObjects } from "../api/names.ts";
import { keyOf, type Metadata } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { type CertificateLives, certificateNames, dueCertificates, renewalInstant } from "../domain/certificate-plan.ts";
import { nextLook } from "../domain/next-look.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";
import { Informer, type InformerDeps } from "../kube/informer.ts";
import { type Next, runLoop } from "../kube/loop.ts";
import { WorkQueue } from "../kube/queue.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { newWebhookCertificates, parseWebhookCertificates, renewCertificates, type WebhookCertificates, webhookCertificatesSecret } from "../tokens/webhook-certificates.ts";

/** What keeping the certificates needs. */
export interface CertificatesDeps extends InformerDeps {
  readonly client: Pick<Client, "create" | "replace">;
  readonly metrics: Pick<Metrics, "controller" | "queue" | "certificateEnd">;
}

/** Where the certificates are kept, and the names that they stand for. */
export interface CertificatesOptions {
  readonly namespace: string;
  readonly dnsNames: readonly string[];
  readonly clientName: string;
}

/** The webhook's certificates, kept in a Secret that all replicas share. */
export interface Certificates {
  /** Makes them, renews them and follows them until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

interface Seen {
  readonly metadata: Metadata;
  readonly certificates: WebhookCertificates;
}

const name = "webhookcertificates";

/** Follows the Secret of the certificates; `onChange` is told of each that can be used. Any replica makes and renews them. */
export function createCertificates(deps: CertificatesDeps, options: CertificatesOptions, onChange: (certificates: WebhookCertificates) => void): Certificates {
  const { clock, random, turns, log, metrics, client } = deps;
  const { namespace } = options;
  const place = { namespace, name: ownObjects.webhookCertificates };
  const queue = new WorkQueue({ clock, random, metrics: metrics.queue(name) });
  const informer = new Informer<Seen>(
    {
      selection: { resource: resources.secrets, namespace, fieldSelector: `metadata.name=${place.name}` },
      parse: (raw) => ({ metadata: parseMetadata(raw), certificates: parseWebhookCertificates(raw) }),
      onChange({ after }) {
        queue.add(name, "fresh");
        if (after === undefined) return;
        tellEnds(after.certificates.lives);
        onChange(after.certificates);
      },
    },
    deps,
  );
  const seen = (): Seen | undefined => informer.store.get(keyOf(place));

  function tellEnds(lives: CertificateLives): void {
    for (const certificate of certificateNames) metrics.certificateEnd(certificate, lives[certificate].endsAt / 1000);
  }

  async function reconcile(): Promise<Next> {
    const standing = seen();
    if (standing === undefined) await make();
    else await renewDue(standing);
    const { lives } = seen()?.certificates ?? {};
    return lives === undefined ? { kind: "wait-for-change" } : nextLook(clock.now(), certificateNames.map((certificate) => renewalInstant(lives[certificate])));
  }

  async function make(): Promise<void> {
    const made = await newWebhookCertificates({ ...options, now: clock.now() });
    try {
      informer.observe(await client.create(resources.secrets, webhookCertificatesSecret(made, { namespace })));
    } catch (error) {
      // Another replica was first, and the watch tells of its certificates; or what stands cannot be read, and the informer says so.
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
  }

  async function renewDue({ metadata, certificates }: Seen): Promise<void> {
    const terms = { ...options, now: clock.now() };
    const lacksNames = options.dnsNames.some((dnsName) => !certificates.dnsNames.includes(dnsName));
    const names = [...new Set([...dueCertificates(certificates.lives, terms.now), ...(lacksNames ? ["serving" as const] : [])])];
    if (names.length === 0 && certificates.admissionSegment !== undefined) return;
    const renewed = names.includes("authority")
      ? await newWebhookCertificates(terms, certificates)
      : await renewCertificates({ authority: certificates.authority, names, terms, before: certificates });
    const { uid, resourceVersion } = metadata;
    informer.observe(await client.replace(resources.secrets, webhookCertificatesSecret(renewed, { namespace, uid, resourceVersion })));
    log.info({ certificates: names.join(", ") }, "certificates renewed");
  }

  return {
    async run(signal) {
      void informer.synced.then(() => queue.add(name, "fresh"));
      await Promise.all([informer.run(signal), runLoop({ name, queue, reconcile, workers: 1, signal, clock, turns, log, metrics: metrics.controller(name) })]);
    },
  };
}
