import type { Credentials } from "../../src/kube/credentials/credentials.ts";

/** Credentials whose header is read again after each `forget`: `Bearer own-0`, `own-1` ... */
export function fakeCredentials(server: string): {
  readonly credentials: Credentials;
  /** How often they were forgotten. */
  readonly forgotten: () => number;
} {
  let forgotten = 0;
  return {
    forgotten: () => forgotten,
    credentials: {
      server,
      tls: { rejectUnauthorized: true },
      authorization: async () => `Bearer own-${forgotten}`,
      forget: () => void forgotten++,
    },
  };
}
