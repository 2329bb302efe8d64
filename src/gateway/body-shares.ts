import { FairShares, type ShareLimits } from "../runtime/fair-shares.ts";

/** The largest body that kube-apiserver reads (k8s.io/apiserver, MaxRequestBodyBytes). */
export const mostOwnBodyBytes = 3 * 1024 * 1024;

/** Bodies of this size do not wait for larger ones. */
export const smallBodyBytes = 64 * 1024;

const mebibyte = 1024 * 1024;

/** The bytes of the bodies that are read as a whole, those in progress all together. */
export const bodyLimits = {
  small: { all: 16 * mebibyte, user: 8 * mebibyte, key: 8 * mebibyte },
  large: { all: 48 * mebibyte, user: 16 * mebibyte, key: 8 * mebibyte },
} as const satisfies Record<string, Required<ShareLimits>>;

/** The room for small and for large bodies, each shared by users and keys. */
export interface BodyShares {
  readonly small: FairShares;
  readonly large: FairShares;
}

/** Makes the room for bodies of a replica. */
export function bodyShares(): BodyShares {
  return { small: new FairShares(bodyLimits.small), large: new FairShares(bodyLimits.large) };
}
