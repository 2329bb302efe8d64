import {
  type CertificateProblem,
  certificateProblems,
  certificateProblemSentence,
} from "../domain/certificates/certificate-problem.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";

/** Dependencies of a {@link CertificateProblemReport}. */
interface CertificateProblemReportDeps {
  readonly log: Pick<Logger, "warn" | "info">;
  readonly metrics: Pick<Metrics, "certificateProblem">;
}

/** Log fields for each problem. */
type CertificateProblemFacts = Readonly<
  Record<CertificateProblem, () => Readonly<Record<string, unknown>>>
>;

/**
 * Reports the problems of the certificates in metrics, and logs each one when it starts and ends.
 */
export class CertificateProblemReport {
  readonly #deps: CertificateProblemReportDeps;
  readonly #secret: string;
  #reported: readonly CertificateProblem[] = [];

  /** `secret` is the name of the Secret. */
  constructor(deps: CertificateProblemReportDeps, secret: string) {
    this.#deps = deps;
    this.#secret = secret;
  }

  /** Whether the last update contained this problem. */
  includes(problem: CertificateProblem): boolean {
    return this.#reported.includes(problem);
  }

  /** Reports the current problems. */
  update(now: readonly CertificateProblem[], facts: CertificateProblemFacts): void {
    const { log, metrics } = this.#deps;
    for (const problem of certificateProblems)
      metrics.certificateProblem(problem, now.includes(problem));
    for (const problem of now.filter((found) => !this.includes(found)))
      log.warn({ problem, ...facts[problem]() }, certificateProblemSentence(problem, this.#secret));
    for (const problem of this.#reported.filter((found) => !now.includes(found)))
      log.info({ problem }, "certificate problem resolved");
    this.#reported = now;
  }
}
