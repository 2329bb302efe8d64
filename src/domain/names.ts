import { createHash } from "node:crypto";

/**
 * The first `length` hex digits of the SHA-256 of the parts as a JSON list, so that different lists
 * do not collide.
 */
export function hashName(parts: readonly unknown[], length = 16): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, length);
}

/**
 * What the name of a cluster, project, space or virtual cluster looks like in a path of the gateway
 * and in the audience of a token, as the source of a regular expression.
 */
export const upstreamNamePattern = "[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?";

/**
 * Whether a text has the letters and the length of a data key of a Secret; crds/sharedsecrets.yaml
 * bounds the letters alone.
 */
export function isDataKey(key: string): boolean {
  return /^[-._a-zA-Z0-9]{1,253}$/.test(key);
}

/** Whether a core Secret can have a data key (Kubernetes, apimachinery IsConfigMapKey). */
export function isSecretKey(key: string): boolean {
  return isDataKey(key) && key !== "." && !key.startsWith("..");
}

/** The prefixes of user and team names in RBAC and in the identity of a key. */
export interface Prefixes {
  readonly user: string;
  readonly team: string;
}
