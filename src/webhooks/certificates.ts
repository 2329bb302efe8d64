import type { Result } from "../api/result.ts";
import { annotations, ownObjects } from "../api/names.ts";
import { keyOf, type Metadata } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import {
  type CaFingerprints,
  formerCa,
  formerCaText,
  parseFormerCa,
} from "../domain/webhook/ca-change.ts";
import {
  certificateNames,
  dueCertificates,
  renewalInstant,
} from "../domain/webhook/certificate-plan.ts";
import {
  type CertificateProblem,
  certificateProblems,
  certificateProblemSentences,
} from "../domain/webhook/certificate-problem.ts";
import { requeueAt } from "../domain/plan/plan.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";
import { Informer, type InformerDeps } from "../kube/informer.ts";
import { runLoop } from "../kube/loop.ts";
import { WorkQueue } from "../kube/queue.ts";
import type { Metrics } from "../runtime/metrics.ts";
import {
  caFingerprints,
  isSignedBy,
  newWebhookCertificates,
  parseWebhookCertificates,
  renewCertificates,
  type WebhookCertificates,
  WebhookCertificatesError,
  webhookCertificatesSecret,
} from "../tokens/webhook-certificates.ts";

/** What keeping the certificates needs. */
export interface CertificatesDeps extends InformerDeps {
  readonly client: Pick<Client, "create" | "replace">;
  readonly metrics: Pick<Metrics, "controller" | "queue" | "certificateEnd" | "certificateProblem">;
  /** The CA bundles (PEM) in Latchkey's webhook configurations; undefined until they are listed. */
  readonly publishedBundles: () => readonly string[] | undefined;
  /** Told of each set of certificates that can be used, before anything else. */
  readonly onChange: (certificates: WebhookCertificates) => void;
  /**
   * Told of it once a change of the CA is on record: what configurations say of the former one may
   * be overwritten.
   */
  readonly onRecorded: (certificates: WebhookCertificates) => void;
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
  /**
   * Takes note of the client certificate (PEM) that kube-apiserver shows: one of the CA of now ends
   * the report of a changed CA.
   */
  shown(certificate: string | undefined): void;
  /** What is wrong with them now. */
  problems(): readonly CertificateProblem[];
}

/** The Secret as it is; `certificates` are undefined where it cannot be read. */
interface Seen {
  readonly metadata: Metadata;
  readonly certificates: WebhookCertificates | undefined;
  readonly why?: string;
}

const name = "webhookcertificates";
/**
 * So long a replica that has no certificates waits for another one to put back those that were
 * published.
 */
const putBackMs = 10_000;
const lookEveryMs = 250;

/**
 * Follows the Secret of the certificates. Any replica makes and renews them; one that is deleted is
 * put back by a replica that has them in memory.
 */
export function createCertificates(
  deps: CertificatesDeps,
  options: CertificatesOptions,
): Certificates {
  const { clock, random, yielder, log, metrics, client } = deps;
  const { namespace } = options;
  const secretRef = { namespace, name: ownObjects.webhookCertificates };
  const queue = new WorkQueue({ clock, random, metrics: metrics.queue(name) });
  const informer = new Informer<Seen>(
    {
      listOptions: {
        resource: resources.secrets,
        namespace,
        fieldSelector: `metadata.name=${secretRef.name}`,
      },
      parse: parseSeen,
      onChange({ before, after }) {
        queue.add(name, "high");
        if (after?.certificates !== undefined)
          takeOver(after.certificates, { before: recordOf(before), after: recordOf(after) });
        report();
      },
    },
    deps,
  );
  const seen = (): Seen | undefined => informer.store.get(keyOf(secretRef));
  let inUse: WebhookCertificates | undefined;
  let onRecord: WebhookCertificates | undefined;
  /**
   * The CA before, as far as this process knows and until it is confirmed that the one of now is
   * trusted.
   */
  let observed: CaFingerprints = [];
  let confirmed: string | undefined;
  const shownBefore = new Set<string>();
  let isCompared = false;
  let beganAt: number | undefined;
  let reported: readonly CertificateProblem[] = [];

  function formerNow(): CaFingerprints {
    return inUse === undefined
      ? []
      : formerCa({
          current: fingerprintsOf(inUse),
          recorded: recordOf(seen()),
          observed,
          confirmed,
        });
  }

  function takeOver(
    found: WebhookCertificates,
    record: { readonly before: CaFingerprints; readonly after: CaFingerprints },
  ): void {
    const before = inUse;
    const isSameCa = before !== undefined && fingerprintsOf(before)[0] === fingerprintsOf(found)[0];
    if (before !== undefined && !isSameCa)
      observed = observed.length > 0 && confirmed === undefined ? observed : fingerprintsOf(before);
    else if (record.after.length > 0) observed = record.after;
    // Another replica was shown a certificate of the new CA, or an administrator took the record
    // away.
    else if (record.before.length > 0) observed = [];
    if (!isSameCa) {
      confirmed = undefined;
      shownBefore.clear();
    }
    inUse = { ...found, admissionSegment: found.admissionSegment ?? before?.admissionSegment };
    for (const certificate of certificateNames)
      metrics.certificateEnd(certificate, inUse.lives[certificate].endsAt / 1000);
    deps.onChange(inUse);
  }

  function problems(): readonly CertificateProblem[] {
    const found = seen();
    const isSo: Readonly<Record<CertificateProblem, boolean>> = {
      "ca-changed": formerNow().length > 0,
      "secret-missing": inUse !== undefined && found === undefined,
      "secret-unreadable": found !== undefined && found.certificates === undefined,
    };
    return certificateProblems.filter((problem) => isSo[problem]);
  }

  function report(): void {
    const now = problems();
    for (const problem of certificateProblems)
      metrics.certificateProblem(problem, now.includes(problem));
    for (const problem of now.filter((one) => !reported.includes(one)))
      log.warn({ problem, ...factsOf(problem) }, certificateProblemSentences[problem]);
    for (const problem of reported.filter((one) => !now.includes(one)))
      log.info({ problem }, "webhook certificate problem resolved");
    reported = now;
  }

  function factsOf(problem: CertificateProblem): Readonly<Record<string, unknown>> {
    if (problem === "ca-changed")
      return { former: formerCaText(formerNow()), now: inUse && fingerprintsOf(inUse)[0] };
    return problem === "secret-unreadable" ? { why: seen()?.why } : {};
  }

  async function reconcile(): Promise<Result> {
    const found = seen();
    if (found === undefined) return inUse === undefined ? makeUnlessHeld() : create(inUse);
    // What somebody has put there may be what is needed: it is reported, and left alone.
    if (found.certificates === undefined || inUse === undefined) return { kind: "done" };
    if (!compare()) return lookSoon();
    try {
      await writeDue(found, inUse);
    } catch (error) {
      // A Secret that the webhook may not write, such as one without its label, must not keep
      // admission from working.
      if (isKubeError(error, "Forbidden", "Invalid")) release(inUse);
      throw error;
    }
    release(inUse);
    const { certificates = inUse } = seen() ?? {};
    return requeueAt(
      clock.now(),
      certificateNames.map((certificate) => renewalInstant(certificates.lives[certificate])),
    );
  }

  function release(certificates: WebhookCertificates): void {
    if (onRecord !== certificates) deps.onRecorded(certificates);
    onRecord = certificates;
  }

  /** What was published before is what kube-apiserver was told to trust; false: not known yet. */
  function compare(): boolean {
    if (isCompared) return true;
    const bundles = deps.publishedBundles();
    if (bundles === undefined && !isWaitOver()) return false;
    isCompared = true;
    if (observed.length === 0) observed = caFingerprints((bundles ?? []).join("\n"));
    report();
    return true;
  }

  /**
   * Where a CA is published, another replica may have its certificates in memory, and puts them
   * back at once.
   */
  async function makeUnlessHeld(): Promise<Result> {
    const bundles = deps.publishedBundles();
    if ((bundles === undefined || bundles.length > 0) && !isWaitOver()) return lookSoon();
    compare();
    return create(await newWebhookCertificates({ ...options, now: clock.now() }));
  }

  function isWaitOver(): boolean {
    beganAt ??= clock.monotonic();
    return clock.monotonic() - beganAt >= putBackMs;
  }

  function lookSoon(): Result {
    return { kind: "requeue-at", at: clock.now() + lookEveryMs };
  }

  async function create(made: WebhookCertificates): Promise<Result> {
    const former = formerCa({ current: fingerprintsOf(made), recorded: [], observed, confirmed });
    try {
      informer.observe(
        await client.create(
          resources.secrets,
          webhookCertificatesSecret(made, { namespace }, former),
        ),
      );
      log.info(
        { former: formerCaText(former), isNew: made !== inUse },
        "webhook certificate Secret created",
      );
    } catch (error) {
      // Another replica was first, and the watch tells of its certificates.
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
    return { kind: "done" };
  }

  async function writeDue(
    { metadata, certificates: stored }: Seen,
    certificates: WebhookCertificates,
  ): Promise<void> {
    const terms = { ...options, now: clock.now() };
    const lacksNames = options.dnsNames.some((dnsName) => !certificates.dnsNames.includes(dnsName));
    const names = [
      ...new Set([
        ...dueCertificates(certificates.lives, terms.now),
        ...(lacksNames ? ["serving" as const] : []),
      ]),
    ];
    const former = formerNow();
    const isOnRecord = formerCaText(former) === (metadata.annotations[annotations.formerCa] ?? "");
    if (names.length === 0 && stored?.admissionSegment !== undefined && isOnRecord) return;
    const renewed = names.includes("authority")
      ? await newWebhookCertificates(terms, certificates)
      : await renewCertificates({
          authority: certificates.authority,
          names,
          terms,
          before: certificates,
        });
    const { uid, resourceVersion } = metadata;
    informer.observe(
      await client.replace(
        resources.secrets,
        webhookCertificatesSecret(renewed, { namespace, uid, resourceVersion }, former),
      ),
    );
    if (names.length > 0)
      log.info({ certificates: names.join(", ") }, "webhook certificates renewed");
  }

  return {
    async run(signal) {
      report();
      void informer.synced.then(() => queue.add(name, "high"));
      await Promise.all([
        informer.run(signal),
        runLoop({
          name,
          queue,
          reconcile,
          workers: 1,
          signal,
          clock,
          yielder,
          log,
          metrics: metrics.controller(name),
        }),
      ]);
    },
    shown(certificate) {
      if (
        certificate === undefined ||
        inUse === undefined ||
        !reported.includes("ca-changed") ||
        shownBefore.has(certificate)
      )
        return;
      shownBefore.add(certificate);
      if (!isSignedBy(certificate, inUse)) return;
      [confirmed] = fingerprintsOf(inUse);
      report();
      queue.add(name, "high");
    },
    problems,
  };
}

function parseSeen(raw: unknown): Seen {
  const metadata = parseMetadata(raw);
  try {
    return { metadata, certificates: parseWebhookCertificates(raw) };
  } catch (error) {
    if (!(error instanceof WebhookCertificatesError)) throw error;
    return { metadata, certificates: undefined, why: error.message };
  }
}

/** The former CA that a Secret names. */
function recordOf(seen: Seen | undefined): CaFingerprints {
  return parseFormerCa(seen?.metadata.annotations[annotations.formerCa]);
}

function fingerprintsOf({ authority }: WebhookCertificates): CaFingerprints {
  return caFingerprints(authority.certificate);
}
