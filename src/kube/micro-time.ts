/**
 * metav1.MicroTime: RFC 3339 with exactly six fractional digits, from milliseconds since the epoch.
 */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}
