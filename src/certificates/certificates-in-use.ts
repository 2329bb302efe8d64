import {
  caAfterChange,
  caAfterConfirmation,
  type CaFingerprints,
  type CaKnowledge,
  formerCaInUse,
  formerCaText,
  isSignedBySame,
  noCaKnowledge,
  parseFormerCa,
} from "../domain/certificates/ca-change.ts";
import { certificateNames } from "../domain/certificates/certificate-plan.ts";
import {
  type CertificateProblem,
  certificateProblems,
  certificateProblemSentence,
  presentProblems,
} from "../domain/certificates/certificate-problem.ts";
import type { Change } from "../kube/informer/store.ts";
import type { LogFields, Logger } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { caFingerprints, isSignedBy } from "../tokens/certificate-pem.ts";
import type { ServerCertificates, StoredCertificates } from "../tokens/server-certificates.ts";

/** Where the certificates in use are reported. */
interface Reporting {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** What a replica has in memory: the last valid certificates, and what it knows of their CA. */
export class CertificatesInUse {
  readonly #reporting: Reporting;
  readonly #secretName: string;
  #certificates: ServerCertificates | undefined;
  #ca: CaKnowledge = noCaKnowledge;
  /** Client certificates that were compared with the CA in use. */
  readonly #shownBefore = new Set<string>();
  #problems: readonly CertificateProblem[] = [];

  constructor(reporting: Reporting, secretName: string) {
    this.#reporting = reporting;
    this.#secretName = secretName;
  }

  /** Undefined until there are some. */
  get certificates(): ServerCertificates | undefined {
    return this.#certificates;
  }

  get ca(): CaKnowledge {
    return this.#ca;
  }

  /** The current problems, one sentence each. */
  warnings(): readonly string[] {
    return this.#problems.map((problem) => certificateProblemSentence(problem, this.#secretName));
  }

  /** Uses the certificates of a changed Secret if they are valid, and returns them. */
  use({ before, after }: Change<StoredCertificates>): ServerCertificates | undefined {
    if (after?.kind !== "valid") return undefined;
    const { certificates: found } = after;
    const current = caFingerprints(found.ca.certificate);
    if (!isSignedBySame(this.#ca, current)) this.#shownBefore.clear();
    const recorded = {
      before: parseFormerCa(before?.formerCa),
      after: parseFormerCa(after.formerCa),
    };
    this.#ca = caAfterChange(this.#ca, { current, recorded });
    const admissionSegment = found.admissionSegment ?? this.#certificates?.admissionSegment;
    this.#certificates = { ...found, admissionSegment };
    const { metrics } = this.#reporting;
    for (const name of certificateNames)
      metrics
        .gauge("latchkey_certificate_expiry_timestamp_seconds", { certificate: name })
        .set(found.validities[name].endsAt / 1000);
    return this.#certificates;
  }

  /**
   * Learns the client certificate (PEM) that kube-apiserver presents; returns whether it ends the
   * report of a changed CA, because the CA in use signed it.
   */
  confirm(certificate: string | undefined): boolean {
    if (certificate === undefined || this.#certificates === undefined) return false;
    if (!this.#problems.includes("ca-changed") || this.#shownBefore.has(certificate)) return false;
    this.#shownBefore.add(certificate);
    if (!isSignedBy(certificate, this.#certificates.ca.certificate)) return false;
    this.#ca = caAfterConfirmation(this.#ca);
    return true;
  }

  /**
   * Learns what a plan found out about the CA, if anything, and reports the problems of now in
   * metrics; logs each one when it starts and ends.
   */
  report(stored: StoredCertificates | undefined, ca: CaKnowledge = this.#ca): void {
    this.#ca = ca;
    const { log, metrics } = this.#reporting;
    const before = this.#problems;
    const former = formerCaInUse(ca, parseFormerCa(stored?.formerCa));
    const isInUse = this.#certificates !== undefined;
    const now = presentProblems({ secret: stored?.kind ?? "missing", isInUse, former });
    this.#problems = now;
    for (const problem of certificateProblems)
      metrics.gauge("latchkey_certificate_problem", { problem }).set(now.includes(problem) ? 1 : 0);
    for (const problem of now.filter((found) => !before.includes(found)))
      log.warn(
        { problem, ...this.#factsOf(problem, stored, former) },
        certificateProblemSentence(problem, this.#secretName),
      );
    for (const problem of before.filter((found) => !now.includes(found)))
      log.info({ problem }, "certificate problem resolved");
  }

  #factsOf(
    problem: CertificateProblem,
    stored: StoredCertificates | undefined,
    former: CaFingerprints,
  ): LogFields {
    switch (problem) {
      case "ca-changed":
        return { former: formerCaText(former), now: this.#ca.current?.[0] };
      case "secret-missing":
        return {};
      case "secret-unreadable":
        return { why: stored?.kind === "invalid" ? stored.why : undefined };
    }
  }
}
