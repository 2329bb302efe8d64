import type { CertificatesSecretName } from "../api/names.ts";
import type { Result } from "../api/result.ts";
import {
  caAfterChange,
  caAfterConfirmation,
  type CaFingerprints,
  type CaKnowledge,
  formerCaInUse,
  formerCaText,
  isSignedBySame,
  noCaKnowledge,
} from "../domain/certificates/ca-change.ts";
import {
  certificateNames,
  type CertificatePlan,
  type ObservedCertificates,
  planCertificates,
  renewalInstant,
} from "../domain/certificates/certificate-plan.ts";
import {
  type CertificateProblem,
  presentProblems,
} from "../domain/certificates/certificate-problem.ts";
import { requeueAt } from "../domain/plan/plan.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { runLoop } from "../kube/queue/loop.ts";
import { WorkQueue } from "../kube/queue/work-queue.ts";
import type { Change } from "../kube/informer/store.ts";
import type { Metrics } from "../runtime/metrics.ts";
import {
  caFingerprints,
  isSignedBy,
  newWebhookCertificates,
  renewCertificates,
  type WebhookCertificates,
} from "../tokens/webhook-certificates.ts";
import { CertificateProblemReport } from "./certificate-problem-report.ts";
import {
  CertificatesSecret,
  type CertificatesSecretDeps,
  observedSecret,
  recordedCa,
  type StoredCertificates,
} from "./certificates-secret.ts";

/** Dependencies of {@link Certificates}. */
export interface CertificatesDeps extends CertificatesSecretDeps {
  readonly metrics: Pick<Metrics, "controller" | "queue" | "certificateEnd" | "certificateProblem">;
  /** The CA bundles (PEM) in Latchkey's webhook configurations; undefined until they are listed. */
  readonly publishedBundles: () => readonly string[] | undefined;
  /** Called for each set of valid certificates, before anything else. */
  readonly onChange: (certificates: WebhookCertificates) => void;
  /**
   * Called once a change of the CA is recorded: from then on the configurations may be overwritten.
   */
  readonly onRecorded: (certificates: WebhookCertificates) => void;
}

/** Where the Secret is, and the names in the certificates. */
interface CertificatesOptions {
  readonly namespace: string;
  readonly dnsNames: readonly string[];
  readonly clientName: string;
  readonly secret: CertificatesSecretName;
}

type PlanOf<Kind extends CertificatePlan["kind"]> = Extract<
  CertificatePlan,
  { readonly kind: Kind }
>;

const name = "webhookcertificates";

/**
 * The certificates of a server, in a Secret that all replicas share. Any replica creates and renews
 * them; a replica that has the certificates in memory restores a deleted Secret.
 */
export class Certificates {
  readonly #deps: CertificatesDeps;
  readonly #options: CertificatesOptions;
  readonly #queue: WorkQueue;
  readonly #secret: CertificatesSecret;
  readonly #report: CertificateProblemReport;
  #inUse: WebhookCertificates | undefined;
  #onRecord: WebhookCertificates | undefined;
  #ca: CaKnowledge = noCaKnowledge;
  /** Client certificates that were compared with the CA in use. */
  readonly #shownBefore = new Set<string>();
  #waitingSince: number | undefined;

  constructor(deps: CertificatesDeps, options: CertificatesOptions) {
    const { clock, random, metrics } = deps;
    this.#deps = deps;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, metrics: metrics.queue(name) });
    this.#report = new CertificateProblemReport(deps, options.secret.name);
    this.#secret = new CertificatesSecret(deps, options, (change) => this.#changed(change));
  }

  /** Creates, renews and watches the certificates until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, yielder, log, metrics } = this.#deps;
    this.#reportProblems();
    void this.#secret.synced.then(() => this.#queue.add(name, "high"));
    await Promise.all([
      this.#secret.run(signal),
      runLoop({
        name,
        queue: this.#queue,
        reconcile: () => this.#reconcile(),
        workers: 1,
        signal,
        clock,
        yielder,
        log,
        metrics: metrics.controller(name, 1),
      }),
    ]);
  }

  /**
   * Records the client certificate (PEM) that kube-apiserver presents: a certificate of the current
   * CA ends the report of a changed CA.
   */
  shown(certificate: string | undefined): void {
    if (
      certificate === undefined ||
      this.#inUse === undefined ||
      !this.#report.includes("ca-changed") ||
      this.#shownBefore.has(certificate)
    )
      return;
    this.#shownBefore.add(certificate);
    if (!isSignedBy(certificate, this.#inUse)) return;
    this.#ca = caAfterConfirmation(this.#ca);
    this.#reportProblems();
    this.#queue.add(name, "high");
  }

  /** The current problems of the certificates. */
  problems(): readonly CertificateProblem[] {
    return presentProblems({
      secret: observedSecret(this.#secret.stored()).kind,
      isInUse: this.#inUse !== undefined,
      former: this.#former(),
    });
  }

  #former(): CaFingerprints {
    return formerCaInUse(this.#ca, recordedCa(this.#secret.stored()));
  }

  #reportProblems(): void {
    this.#report.update(this.problems(), {
      "ca-changed": () => ({ former: formerCaText(this.#former()), now: this.#ca.current?.[0] }),
      "secret-missing": () => ({}),
      "secret-unreadable": () => ({ why: this.#secret.stored()?.why }),
    });
  }

  #changed({ before, after }: Change<StoredCertificates>): void {
    this.#queue.add(name, "high");
    if (after?.certificates !== undefined)
      this.#use(after.certificates, { before: recordedCa(before), after: recordedCa(after) });
    this.#reportProblems();
  }

  #use(
    found: WebhookCertificates,
    recorded: { readonly before: CaFingerprints; readonly after: CaFingerprints },
  ): void {
    const current = caFingerprints(found.ca.certificate);
    if (!isSignedBySame(this.#ca, current)) this.#shownBefore.clear();
    this.#ca = caAfterChange(this.#ca, { current, recorded });
    const admissionSegment = found.admissionSegment ?? this.#inUse?.admissionSegment;
    this.#inUse = { ...found, admissionSegment };
    for (const certificate of certificateNames)
      this.#deps.metrics.certificateEnd(certificate, found.validities[certificate].endsAt / 1000);
    this.#deps.onChange(this.#inUse);
  }

  async #reconcile(): Promise<Result> {
    const { clock } = this.#deps;
    const [stored, inUse] = [this.#secret.stored(), this.#inUse];
    const plan = planCertificates(this.#observe(stored), clock.now());
    this.#ca = plan.ca;
    this.#reportProblems();
    switch (plan.kind) {
      case "nothing":
        return { kind: "done" };
      case "wait":
        this.#waitingSince ??= clock.monotonic();
        return { kind: "requeue-at", at: plan.until };
      case "create":
        return this.#create(plan, inUse);
      case "keep":
        return this.#release();
      case "replace":
        return this.#replace(plan, stored, inUse);
    }
  }

  #observe(stored: StoredCertificates | undefined): ObservedCertificates {
    const { clock, publishedBundles } = this.#deps;
    const bundles = publishedBundles();
    return {
      secret: observedSecret(stored),
      inUse: this.#inUse,
      ca: this.#ca,
      published: bundles && {
        bundles: bundles.length,
        fingerprints: caFingerprints(bundles.join("\n")),
      },
      waitedMs: this.#waitingSince === undefined ? 0 : clock.monotonic() - this.#waitingSince,
      dnsNames: this.#options.dnsNames,
    };
  }

  async #create(
    { certificates, former }: PlanOf<"create">,
    inUse: WebhookCertificates | undefined,
  ): Promise<Result> {
    const { clock, log } = this.#deps;
    const isNew = certificates === "new" || inUse === undefined;
    const made = isNew
      ? await newWebhookCertificates({ ...this.#options, now: clock.now() })
      : inUse;
    // If another replica has created it, a watch event brings its certificates.
    if (await this.#secret.create(made, former))
      log.info({ former: formerCaText(former), isNew }, "certificate Secret created");
    return { kind: "done" };
  }

  async #replace(
    plan: PlanOf<"replace">,
    stored: StoredCertificates | undefined,
    inUse: WebhookCertificates | undefined,
  ): Promise<Result> {
    try {
      if (stored !== undefined && inUse !== undefined) await this.#write(plan, stored, inUse);
    } catch (error) {
      // A Secret that the webhook may not write, such as one without its label, must not block
      // admission.
      if (isKubeError(error, "Forbidden", "Invalid")) this.#release();
      throw error;
    }
    return this.#release();
  }

  async #write(
    { renew, former }: PlanOf<"replace">,
    stored: StoredCertificates,
    before: WebhookCertificates,
  ): Promise<void> {
    const { clock, log } = this.#deps;
    const terms = { ...this.#options, now: clock.now() };
    const { ca } = before;
    const renewed = renew.includes("ca")
      ? await newWebhookCertificates(terms, before)
      : await renewCertificates({ ca, names: renew, terms, before });
    await this.#secret.replace(stored, renewed, former);
    if (renew.length > 0) log.info({ certificates: renew.join(", ") }, "certificates renewed");
  }

  /**
   * Calls `onRecorded` once for the certificates in use, because their CA is recorded; requeues at
   * their next renewal.
   */
  #release(): Result {
    const inUse = this.#inUse;
    if (inUse === undefined) return { kind: "done" };
    if (this.#onRecord !== inUse) this.#deps.onRecorded(inUse);
    this.#onRecord = inUse;
    const { validities } = this.#secret.stored()?.certificates ?? inUse;
    return requeueAt(
      this.#deps.clock.now(),
      certificateNames.map((certificate) => renewalInstant(validities[certificate])),
    );
  }
}
