import { annotations, certificateSecrets } from "../../api/names.ts";
import type { CaFingerprints } from "./ca-change.ts";
import type { ObservedCertificates } from "./certificate-plan.ts";

/** What can be wrong with the certificates of a server while it serves. */
export const certificateProblems = ["ca-changed", "secret-missing", "secret-unreadable"] as const;

/** One of these problems. */
export type CertificateProblem = (typeof certificateProblems)[number];

/** The message for a problem: the problem, its effect and what to do; `secret` is a name. */
export function certificateProblemSentence(problem: CertificateProblem, secret: string): string {
  switch (problem) {
    case "ca-changed":
      return caChangedSentence(secret);
    case "secret-missing":
      return (
        `Secret ${secret} does not exist: the process serves with the certificates in its memory ` +
        "and creates the Secret again with them"
      );
    case "secret-unreadable":
      return (
        `Secret ${secret} is invalid and was not changed: the process serves with the ` +
        "certificates in its memory until it stops; restore the Secret, or delete it " +
        "and the process creates it again with the certificates in its memory"
      );
  }
}

function caChangedSentence(secret: string): string {
  const isShown =
    `the CA in Secret ${secret} changed and kube-apiserver has not shown ` +
    "a client certificate of the new CA";
  switch (secret) {
    case certificateSecrets.webhook.name:
      return (
        `${isShown}: access keys are rejected as soon as kube-apiserver opens a new connection; ` +
        "run kubectl latchkey trust-config --authorization " +
        "and restart kube-apiserver with its files"
      );
    case certificateSecrets.authorizer.name:
      return (
        `${isShown}: requests with direct tokens fail as soon as kube-apiserver opens ` +
        "a new connection; run kubectl latchkey trust-config --authentication --authorization " +
        "and restart kube-apiserver with its files"
      );
    default:
      return (
        `the CA in Secret ${secret} changed: clients that trust only the former CA cannot ` +
        "connect; give them ca.crt of the Secret, " +
        `then remove its annotation ${annotations.formerCa}`
      );
  }
}

/** The observed state that problems are derived from. */
export interface ObservedProblems {
  readonly secret: ObservedCertificates["secret"]["kind"];
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
