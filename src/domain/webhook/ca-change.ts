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

/**
 * The CA that kube-apiserver was told to trust, while it was not told of the one that is used now;
 * empty when both are the same, as after a renewal that keeps the former one in the bundle, and
 * once kube-apiserver has shown a client certificate of the CA of now.
 */
export function formerCa({ current, recorded, observed, confirmed }: CaHistory): CaFingerprints {
  if (confirmed !== undefined && confirmed === current[0]) return [];
  const former = recorded.length > 0 ? recorded : observed;
  return former.some((fingerprint) => current.includes(fingerprint)) ? [] : former;
}

/** A former CA as the Secret's annotation names it. */
export function formerCaText(former: CaFingerprints): string {
  return former.join(",");
}

/** The fingerprints that an annotation names; what is none is left out. */
export function parseFormerCa(text: string | undefined): CaFingerprints {
  return (text ?? "").split(",").filter((fingerprint) => /^[0-9a-f]{64}$/.test(fingerprint));
}
