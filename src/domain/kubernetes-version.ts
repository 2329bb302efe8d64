/** The oldest minor version of Kubernetes 1 that Latchkey supports (docs/compatibility.md). */
export const oldestMinor = 35;
