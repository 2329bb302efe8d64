/** The life of a certificate; instants in milliseconds since the epoch. */
export interface CertificateValidity {
  readonly startsAt: number;
  readonly endsAt: number;
}

/**
 * The certificates of the webhook: its authority, what it serves with, and what kube-apiserver
 * shows it.
 */
export const certificateNames = ["authority", "serving", "client"] as const;

/** Name of one of the webhook's certificates. */
export type CertificateName = (typeof certificateNames)[number];

/** Lives of all of them. */
export type CertificateValidities = Readonly<Record<CertificateName, CertificateValidity>>;

/**
 * When a certificate is made anew: when a third of its life is left, as cert-manager does, so that
 * somebody who has to carry a client certificate to a control plane has months for it.
 */
export function renewalInstant({ startsAt, endsAt }: CertificateValidity): number {
  return endsAt - (endsAt - startsAt) / 3;
}

/** Certificates that are due at `now`; a new authority signs all of them anew. */
export function dueCertificates(
  validities: CertificateValidities,
  now: number,
): readonly CertificateName[] {
  const due = certificateNames.filter((name) => now >= renewalInstant(validities[name]));
  return due.includes("authority") ? certificateNames : due;
}
