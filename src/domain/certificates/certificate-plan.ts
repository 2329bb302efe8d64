import {
  caAfterComparison,
  type CaFingerprints,
  type CaKnowledge,
  formerCa,
  formerCaInUse,
  formerCaText,
  parseFormerCa,
} from "./ca-change.ts";

/** The validity of a certificate; instants in milliseconds since the epoch. */
export interface CertificateValidity {
  readonly startsAt: number;
  readonly endsAt: number;
}

/**
 * The certificates of a server: its CA, its serving certificate, and the client certificate of
 * kube-apiserver, which only the webhook asks for.
 */
export const certificateNames = ["ca", "serving", "client"] as const;

/** Name of one of these certificates. */
export type CertificateName = (typeof certificateNames)[number];

/** Validity of each certificate. */
export type CertificateValidities = Readonly<Record<CertificateName, CertificateValidity>>;

/**
 * The instant at which a certificate is renewed, in milliseconds since the epoch: when a third of
 * its validity remains, as in cert-manager. This leaves months to install a client certificate on a
 * control plane.
 */
export function renewalInstant({ startsAt, endsAt }: CertificateValidity): number {
  return endsAt - (endsAt - startsAt) / 3;
}

/** The certificates that are due for renewal at `now`; all of them if the CA is due. */
export function dueCertificates(
  validities: CertificateValidities,
  now: number,
): readonly CertificateName[] {
  const due = certificateNames.filter((name) => now >= renewalInstant(validities[name]));
  return due.includes("ca") ? certificateNames : due;
}

/** A Secret with valid certificates. */
interface ValidSecret {
  readonly kind: "valid";
  /** The value of its former-CA annotation; empty without one. */
  readonly formerCa: string;
  readonly hasAdmissionPath: boolean;
}

/** Certificates in memory. */
interface CertificatesInMemory {
  readonly validities: CertificateValidities;
  readonly dnsNames: readonly string[];
}

/** The observed state that {@link planCertificates} decides from. */
export interface ObservedCertificates<
  Certificates extends CertificatesInMemory = CertificatesInMemory,
  Secret extends ValidSecret = ValidSecret,
> {
  /** The Secret as it is stored in the API server. */
  readonly secret: { readonly kind: "missing" } | { readonly kind: "invalid" } | Secret;
  /** The certificates in memory. */
  readonly inUse: Certificates | undefined;
  readonly ca: CaKnowledge;
  /** The CA bundles in the webhook configurations; undefined until these are listed. */
  readonly published:
    | { readonly bundles: number; readonly fingerprints: CaFingerprints }
    | undefined;
  /**
   * How long this replica has waited for another replica or for the list of configurations, in
   * milliseconds.
   */
  readonly waitedMs: number;
  /** DNS names that the serving certificate must have. */
  readonly dnsNames: readonly string[];
}

/** The action on the Secret, and what the replica knows of the CA from now on. */
export type CertificatePlan<Certificates = CertificatesInMemory, Secret = ValidSecret> = {
  readonly ca: CaKnowledge;
} & (
  | { readonly kind: "nothing" }
  | { readonly kind: "wait"; readonly until: number }
  | {
      readonly kind: "create";
      /** The certificates to restore; undefined: new ones. */
      readonly certificates: Certificates | undefined;
      readonly former: CaFingerprints;
    }
  /** The Secret is up to date. */
  | { readonly kind: "keep" }
  | {
      readonly kind: "replace";
      readonly secret: Secret;
      readonly certificates: Certificates;
      readonly renew: readonly CertificateName[];
      /** The DNS names of a new serving certificate. */
      readonly dnsNames: readonly string[];
      readonly former: CaFingerprints;
    }
);

/**
 * How long a replica without certificates waits for another replica to restore the published ones.
 */
const putBackMs = 10_000;
const lookEveryMs = 250;

/**
 * Plans one reconcile of the Secret. An invalid Secret is reported and not changed, because an
 * administrator may need its content.
 */
export function planCertificates<
  Certificates extends CertificatesInMemory,
  Secret extends ValidSecret,
>(
  observed: ObservedCertificates<Certificates, Secret>,
  now: number,
): CertificatePlan<Certificates, Secret> {
  const { secret, inUse, ca, published, waitedMs } = observed;
  const isWaitOver = waitedMs >= putBackMs;
  const wait = { kind: "wait", until: now + lookEveryMs, ca } as const;
  if (secret.kind === "missing" && inUse !== undefined)
    return { kind: "create", certificates: inUse, former: formerCaInUse(ca, []), ca };
  if (secret.kind === "missing") {
    // If a CA is published, another replica may have its certificates in memory and restores them
    // at once.
    if (published?.bundles !== 0 && !isWaitOver) return wait;
    const compared = caAfterComparison(ca, published?.fingerprints ?? []);
    const former = formerCa({ ...compared, current: [], recorded: [] });
    return { kind: "create", certificates: undefined, former, ca: compared };
  }
  if (secret.kind === "invalid" || inUse === undefined) return { kind: "nothing", ca };
  if (!ca.isCompared && published === undefined && !isWaitOver) return wait;
  const compared = caAfterComparison(ca, published?.fingerprints ?? []);
  const former = formerCaInUse(compared, parseFormerCa(secret.formerCa));
  const due = dueCertificates(inUse.validities, now);
  const isServingDue = due.includes("serving");
  const lacksNames = observed.dnsNames.some((dnsName) => !inUse.dnsNames.includes(dnsName));
  const renew = lacksNames && !isServingDue ? [...due, "serving" as const] : due;
  const isCurrent =
    renew.length === 0 && secret.hasAdmissionPath && formerCaText(former) === secret.formerCa;
  if (isCurrent) return { kind: "keep", ca: compared };
  // A replica with other options may ask for the other names: it would take these away in turn.
  const others = isServingDue ? [] : inUse.dnsNames;
  const dnsNames = [...new Set([...observed.dnsNames, ...others])];
  return { kind: "replace", secret, certificates: inUse, renew, dnsNames, former, ca: compared };
}
