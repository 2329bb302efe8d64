import type { CaFingerprints } from "./ca-change.ts";
import type { ObservedSecret } from "./certificate-plan.ts";

/** What can be wrong with the webhook's certificates while it serves. */
export const certificateProblems = ["ca-changed", "secret-missing", "secret-unreadable"] as const;

/** One of these problems. */
export type CertificateProblem = (typeof certificateProblems)[number];

/** The message for each problem: the problem, its effect and what to do. */
export const certificateProblemSentences: Readonly<Record<CertificateProblem, string>> = {
  "ca-changed":
    "the CA in Secret latchkey-webhook-certificates changed and kube-apiserver has not shown a client certificate of the new CA: access keys are rejected as soon as kube-apiserver opens a new connection; run latchkey trust-config --authorization and restart kube-apiserver with its files",
  "secret-missing":
    "Secret latchkey-webhook-certificates does not exist: the webhook serves with the certificates in its memory and creates the Secret again with them",
  "secret-unreadable":
    "Secret latchkey-webhook-certificates is invalid and was not changed: the webhook serves with the certificates in its memory until it stops; restore the Secret, or delete it and the webhook creates it again with the certificates in its memory",
};

/** The observed state that problems are derived from. */
export interface ObservedProblems {
  readonly secret: ObservedSecret["kind"];
  /** Whether the replica has certificates in memory. */
  readonly isInUse: boolean;
  readonly former: CaFingerprints;
}

/** Returns the current problems, in the order of {@link certificateProblems}. */
export function presentProblems({
  secret,
  isInUse,
  former,
}: ObservedProblems): readonly CertificateProblem[] {
  const isPresent: Readonly<Record<CertificateProblem, boolean>> = {
    "ca-changed": former.length > 0,
    "secret-missing": isInUse && secret === "missing",
    "secret-unreadable": secret === "invalid",
  };
  return certificateProblems.filter((problem) => isPresent[problem]);
}
