import { randomBytes } from "node:crypto";

/**
 * A namespace name that no other test uses; nobody waits for namespaces to go, so names are never
 * used again.
 */
export function uniqueNamespace(prefix = "test"): string {
  return `${prefix}-${randomBytes(5).toString("hex")}`;
}
