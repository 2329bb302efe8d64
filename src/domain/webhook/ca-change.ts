/** SHA-256 fingerprints of the certificates of a CA bundle. */
export type CaFingerprints = readonly string[];

/** What is known of the webhook's CA and of those before it. */
export interface CaHistory {
  /** The bundle that is used now; its first certificate signs. */
  readonly current: CaFingerprints;
  /** The former CA that the Secret names. */
  readonly recorded: CaFingerprints;
  /**
   * The CA that this process saw before: in its memory, or published in a webhook configuration.
   */
  readonly observed: CaFingerprints;
  /** The CA of the client certificate that kube-apiserver showed last. */
  readonly confirmed: string | undefined;
}

/** What a replica of the webhook knows of the CA; the Secret may name a former one besides. */
export interface CaKnowledge extends Pick<CaHistory, "observed" | "confirmed"> {
  /** The bundle that is used now; undefined while there is none. */
  readonly current: CaFingerprints | undefined;
  /** Whether the webhook configurations were read for the CA before this process. */
  readonly isCompared: boolean;
}

/** What a replica knows of the CA when it starts. */
export const noCaKnowledge: CaKnowledge = {
  current: undefined,
  observed: [],
  confirmed: undefined,
  isCompared: false,
};

/** Certificates that were read from the Secret. */
export interface CertificatesChange {
  /** Their CA bundle. */
  readonly current: CaFingerprints;
  /** The former CA that the Secret names, before the change and since. */
  readonly recorded: { readonly before: CaFingerprints; readonly after: CaFingerprints };
}

/**
 * The CA that kube-apiserver is configured to trust, if it is not the current one; empty if both
 * are the same, as after a renewal that keeps the former CA in the bundle, and once kube-apiserver
 * has presented a client certificate of the current CA.
 */
export function formerCa({ current, recorded, observed, confirmed }: CaHistory): CaFingerprints {
  if (confirmed !== undefined && confirmed === current[0]) return [];
  const former = recorded.length > 0 ? recorded : observed;
  return former.some((fingerprint) => current.includes(fingerprint)) ? [] : former;
}

/** The former CA of the certificates in use, where the Secret names `recorded`. */
export function formerCaInUse(ca: CaKnowledge, recorded: CaFingerprints): CaFingerprints {
  return ca.current === undefined ? [] : formerCa({ ...ca, current: ca.current, recorded });
}

/** What a replica knows of the CA once it uses other certificates. */
export function caAfterChange(
  ca: CaKnowledge,
  { current, recorded }: CertificatesChange,
): CaKnowledge {
  return {
    ...ca,
    current,
    observed: observedAfterChange(ca, { current, recorded }),
    confirmed: isSignedBySame(ca, current) ? ca.confirmed : undefined,
  };
}

/** Whether the CA that signs is that of the certificates in use. */
export function isSignedBySame(ca: CaKnowledge, current: CaFingerprints): boolean {
  return ca.current !== undefined && ca.current[0] === current[0];
}

/**
 * What a replica knows of the CA once it has read the webhook configurations: what was published
 * before is what kube-apiserver was told to trust.
 */
export function caAfterComparison(ca: CaKnowledge, published: CaFingerprints): CaKnowledge {
  if (ca.isCompared) return ca;
  return {
    ...ca,
    isCompared: true,
    observed: ca.observed.length === 0 ? published : ca.observed,
  };
}

/** What a replica knows once kube-apiserver has shown a client certificate of the CA in use. */
export function caAfterConfirmation(ca: CaKnowledge): CaKnowledge {
  return { ...ca, confirmed: ca.current?.[0] };
}

/** A former CA as the Secret's annotation names it. */
export function formerCaText(former: CaFingerprints): string {
  return former.join(",");
}

/** The fingerprints that an annotation names; what is none is left out. */
export function parseFormerCa(text: string | undefined): CaFingerprints {
  return (text ?? "").split(",").filter((fingerprint) => /^[0-9a-f]{64}$/.test(fingerprint));
}

function observedAfterChange(
  ca: CaKnowledge,
  { current, recorded }: CertificatesChange,
): CaFingerprints {
  if (ca.current !== undefined && !isSignedBySame(ca, current))
    return ca.observed.length > 0 && ca.confirmed === undefined ? ca.observed : ca.current;
  if (recorded.after.length > 0) return recorded.after;
  // Another replica was shown a certificate of the new CA, or an administrator removed the record.
  return recorded.before.length > 0 ? [] : ca.observed;
}
