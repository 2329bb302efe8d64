/** SHA-256 fingerprints of the certificates of a CA bundle. */
export type CaFingerprints = readonly string[];

/** What is known of the webhook's current CA and of earlier ones. */
interface CaHistory {
  /** The bundle that is used now; its first certificate signs. */
  readonly current: CaFingerprints;
  /** The former CA that the Secret records. */
  readonly recorded: CaFingerprints;
  /**
   * The previous CA that this process has observed: in memory, or published in a webhook
   * configuration.
   */
  readonly observed: CaFingerprints;
  /** The CA of the client certificate that kube-apiserver presented last. */
  readonly confirmed: string | undefined;
}

/**
 * What a replica of the webhook knows of the CA; the Secret may record a former one in addition.
 */
export interface CaKnowledge extends Pick<CaHistory, "observed" | "confirmed"> {
  /** The bundle that is used now; undefined while there is none. */
  readonly current: CaFingerprints | undefined;
  /** Whether the CA was compared with the bundles in the webhook configurations. */
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
interface CertificatesChange {
  /** Their CA bundle. */
  readonly current: CaFingerprints;
  /** The former CA that the Secret records, before the change and since. */
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

/** The former CA of the certificates in use, if the Secret records `recorded`. */
export function formerCaInUse(ca: CaKnowledge, recorded: CaFingerprints): CaFingerprints {
  return ca.current === undefined ? [] : formerCa({ ...ca, current: ca.current, recorded });
}

/** What a replica knows of the CA after a change of its certificates. */
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
 * What a replica knows of the CA after it has read the webhook configurations: kube-apiserver is
 * configured to trust the CA that was published before.
 */
export function caAfterComparison(ca: CaKnowledge, published: CaFingerprints): CaKnowledge {
  if (ca.isCompared) return ca;
  return {
    ...ca,
    isCompared: true,
    observed: ca.observed.length === 0 ? published : ca.observed,
  };
}

/**
 * What a replica knows of the CA after kube-apiserver has presented a client certificate of the CA
 * in use.
 */
export function caAfterConfirmation(ca: CaKnowledge): CaKnowledge {
  return { ...ca, confirmed: ca.current?.[0] };
}

/** The annotation value for a former CA. */
export function formerCaText(former: CaFingerprints): string {
  return former.join(",");
}

/** Parses the fingerprints in an annotation value; invalid entries are ignored. */
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
  // kube-apiserver presented a certificate of the new CA to another replica, or an administrator
  // removed the annotation.
  return recorded.before.length > 0 ? [] : ca.observed;
}
