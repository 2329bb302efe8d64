import { expiringFrom, isOver, type Validity } from "../lifetime.ts";

/**
 * Whether the credential with which the gateway reaches a connected cluster is valid at `now`, in
 * the last tenth of a lifetime of more than a day, or over.
 */
export function credentialState(
  validity: Validity,
  now: number,
): "Active" | "Expiring" | "Expired" {
  if (isOver(validity, now)) return "Expired";
  return now >= (expiringFrom(validity) ?? Infinity) ? "Expiring" : "Active";
}
