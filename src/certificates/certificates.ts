import { type CertificatesSecretName, certificateSecrets } from "../api/names.ts";
import { resources } from "../api/resources.ts";
import type { Result } from "../api/result.ts";
import { formerCaText } from "../domain/certificates/ca-change.ts";
import {
  certificateNames,
  type CertificatePlan,
  planCertificates,
  renewalInstant,
} from "../domain/certificates/certificate-plan.ts";
import { requeueAt } from "../domain/plan/plan.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { ObjectController, type ObjectControllerDeps } from "../kube/object-controller.ts";
import type { ServerTls } from "../runtime/server-options.ts";
import { caFingerprints } from "../tokens/certificate-pem.ts";
import type { CertifiedNames } from "../tokens/certificate-signing.ts";
import { isSameText } from "../tokens/random-text.ts";
import {
  newServerCertificates,
  renewCertificates,
  type ServerCertificates,
  serverCertificatesSecret,
  type StoredCertificates,
  storedCertificates,
  tlsOf,
} from "../tokens/server-certificates.ts";
import { CaBundleInjector } from "./ca-bundle-injector.ts";
import { CertificatesInUse } from "./certificates-in-use.ts";
import { PacedWrites } from "./paced-writes.ts";

/** What {@link Certificates} need. */
interface CertificatesDeps extends ObjectControllerDeps {
  readonly client: Pick<Client, "create" | "replace">;
}

/** The Service in front of a server, and more DNS names and IP addresses of the server. */
export interface ServiceNames {
  readonly namespace: string;
  readonly serviceName: string;
  readonly externalNames: readonly string[];
}

/** Whose certificates they are, and who learns their CA. */
interface CertificatesOptions extends ServiceNames {
  /** The common name of the client certificate; the name of the Service by default. */
  readonly clientName?: string;
  /** Whether kube-apiserver reads the CA in Latchkey's webhook configurations. */
  readonly hasConfigurations?: boolean;
  /** What an administrator wrote into these configurations, which are then not changed. */
  readonly admissionPath?: string | undefined;
}

type Owner = keyof typeof certificateSecrets;

type ValidSecret = Extract<StoredCertificates, { readonly kind: "valid" }>;
type Plan = CertificatePlan<ServerCertificates, ValidSecret>;
type PlanOf<Kind extends Plan["kind"]> = Extract<Plan, { readonly kind: Kind }>;

const name = "certificates";

/**
 * The certificates of a server, in a Secret that all replicas share. Any replica creates and renews
 * them; a replica that has the certificates in memory restores a deleted Secret. The replicas of
 * the webhook also write their CA into its configurations, once they have recorded a change of the
 * CA.
 */
export class Certificates {
  readonly #deps: CertificatesDeps;
  readonly #options: CertificatesOptions;
  readonly #secretName: CertificatesSecretName;
  readonly #signing: CertifiedNames;
  readonly #inUse: CertificatesInUse;
  readonly #paced: PacedWrites;
  #secret: ObjectController<StoredCertificates> | undefined;
  #injector: CaBundleInjector | undefined;
  /** The certificates whose CA is recorded, so that the configurations may have it. */
  #recorded: ServerCertificates | undefined;
  #waitingSince: number | undefined;

  /** `owner` is the process whose replicas share the Secret. */
  constructor(owner: Owner, options: CertificatesOptions, deps: CertificatesDeps) {
    const { serviceName, clientName = serviceName } = options;
    this.#deps = deps;
    this.#options = options;
    this.#secretName = certificateSecrets[owner];
    this.#signing = { dnsNames: dnsNamesOf(options), clientName };
    this.#inUse = new CertificatesInUse(deps, this.#secretName.name);
    this.#paced = new PacedWrites(deps);
  }

  /**
   * Creates, renews and watches the certificates until the signal aborts; calls `onTls` for each
   * set of valid ones.
   */
  async run(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void> {
    const { hasConfigurations = false, namespace } = this.#options;
    const { name: secretName } = this.#secretName;
    // A process that does not run them has none of their metrics.
    this.#injector = hasConfigurations ? new CaBundleInjector(this.#deps) : undefined;
    const secret = new ObjectController<StoredCertificates>(this.#deps, {
      name,
      resource: resources.secrets,
      objects: new Map([[name, { namespace, name: secretName }]]),
      parse: (raw) => storedCertificates(raw, secretName),
      onChange: (change) => {
        const found = this.#inUse.use(change);
        if (found !== undefined) onTls(tlsOf(found));
        this.#inUse.report(this.#stored);
      },
      reconcile: () => this.#reconcile(),
    });
    this.#secret = secret;
    this.#inUse.report(this.#stored);
    void secret.synced.then(() => secret.enqueue(name));
    await Promise.all([secret.run(signal), this.#injector?.run(signal)]);
  }

  /**
   * Records the client certificate (PEM) that kube-apiserver presents: a certificate of the current
   * CA ends the report of a changed CA.
   */
  shown(certificate: string | undefined): void {
    if (!this.#inUse.confirm(certificate)) return;
    this.#inUse.report(this.#stored);
    this.#secret?.enqueue(name);
  }

  /** Whether this is the first path segment of the admission routes. */
  isAdmissionSegment(segment: string): boolean {
    const expected = this.#options.admissionPath ?? this.#inUse.certificates?.admissionSegment;
    return expected !== undefined && isSameText(segment, expected);
  }

  /** The current problems of the certificates, one sentence each. */
  warnings(): readonly string[] {
    return this.#inUse.warnings();
  }

  get #stored(): StoredCertificates | undefined {
    return this.#secret?.get(name);
  }

  async #reconcile(): Promise<Result> {
    const { clock } = this.#deps;
    const stored = this.#stored;
    const bundles = this.#injector === undefined ? [] : this.#injector.bundles();
    const plan = planCertificates<ServerCertificates, ValidSecret>(
      {
        secret: stored ?? { kind: "missing" },
        inUse: this.#inUse.certificates,
        ca: this.#inUse.ca,
        published: bundles && {
          bundles: bundles.length,
          fingerprints: caFingerprints(bundles.join("\n")),
        },
        waitedMs: this.#waitingSince === undefined ? 0 : clock.monotonic() - this.#waitingSince,
        dnsNames: this.#signing.dnsNames,
      },
      clock.now(),
    );
    this.#inUse.report(stored, plan.ca);
    switch (plan.kind) {
      case "nothing":
        return { kind: "done" };
      case "wait":
        this.#waitingSince ??= clock.monotonic();
        return { kind: "requeue-at", at: plan.until };
      case "create": {
        const waits = await this.#write(plan, this.#signing, () => this.#create(plan));
        return waits ?? { kind: "done" };
      }
      case "keep":
        return this.#publish();
      case "replace":
        return this.#replace(plan);
    }
  }

  async #create({ certificates, former }: PlanOf<"create">): Promise<void> {
    const { clock, client, log } = this.#deps;
    const { namespace } = this.#options;
    const isNew = certificates === undefined;
    const signing = { ...this.#signing, now: clock.now() };
    const made = isNew ? await newServerCertificates(signing) : certificates;
    const place = { namespace, ...this.#secretName };
    const secret = serverCertificatesSecret(made, place, former);
    try {
      this.#secret?.observe(name, await client.create(resources.secrets, secret));
      log.info({ former: formerCaText(former), isNew }, "certificate Secret created");
    } catch (error) {
      // Another replica has created it: a watch event brings its certificates.
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
  }

  async #replace(plan: PlanOf<"replace">): Promise<Result> {
    try {
      const waits = await this.#write(plan, plan, () => this.#renew(plan));
      if (waits !== undefined) return waits;
    } catch (error) {
      // A Secret that the webhook may not write, such as one without its label, must not block
      // admission.
      if (isKubeError(error, "Forbidden", "Invalid")) this.#publish();
      throw error;
    }
    return this.#publish();
  }

  /** Writes the Secret, or resolves to when it is due. */
  #write(
    { former }: Pick<PlanOf<"create">, "former">,
    { dnsNames }: Pick<CertifiedNames, "dnsNames">,
    send: () => Promise<void>,
  ): Promise<Result | undefined> {
    const intent = `${dnsNames.join()} ${formerCaText(former)}`;
    return this.#paced.write(`Secret ${this.#secretName.name}`, intent, send);
  }

  async #renew({
    secret: { metadata },
    certificates: before,
    renew,
    dnsNames,
    former,
  }: PlanOf<"replace">): Promise<void> {
    const { clock, client, log } = this.#deps;
    const { namespace } = this.#options;
    const { uid, resourceVersion } = metadata;
    const signing = { ...this.#signing, dnsNames, now: clock.now() };
    const renewed = renew.includes("ca")
      ? await newServerCertificates(signing, before)
      : await renewCertificates({ ca: before.ca, names: renew, signing, before });
    const place = { namespace, ...this.#secretName, uid, resourceVersion };
    const secret = serverCertificatesSecret(renewed, place, former);
    this.#secret?.observe(name, await client.replace(resources.secrets, secret));
    if (renew.length > 0) log.info({ certificates: renew.join(", ") }, "certificates renewed");
  }

  /** Publishes the CA of the certificates in use, because it is recorded; requeues at a renewal. */
  #publish(): Result {
    const inUse = this.#inUse.certificates;
    if (inUse === undefined) return { kind: "done" };
    const { ca, admissionSegment: segment } = inUse;
    const isOurs = this.#options.admissionPath === undefined && segment !== undefined;
    if (this.#recorded !== inUse && isOurs)
      this.#injector?.publish({ ca: ca.certificate, segment });
    this.#recorded = inUse;
    const { validities } = this.#stored?.kind === "valid" ? this.#stored.certificates : inUse;
    return requeueAt(
      this.#deps.clock.now(),
      certificateNames.map((certificate) => renewalInstant(validities[certificate])),
    );
  }
}

/** The names in the serving certificate of a Service. */
function dnsNamesOf({ namespace, serviceName, externalNames }: ServiceNames): readonly string[] {
  const inNamespace = `${serviceName}.${namespace}`;
  return [
    `${inNamespace}.svc`,
    `${inNamespace}.svc.cluster.local`,
    inNamespace,
    serviceName,
    ...externalNames,
  ];
}
