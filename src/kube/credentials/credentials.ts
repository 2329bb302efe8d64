import { readFileSync } from "node:fs";
import type { Clock } from "../../runtime/clock.ts";

/** TLS options of connections to the API server; certificates and keys are PEM. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
}

/** Address of the API server, and credentials. */
export interface Credentials {
  /** Origin and path prefix of the API server, without a trailing slash. */
  readonly server: string;
  readonly tls: TlsMaterial;
  /** The Authorization header, at most a minute old; undefined with client certificates. */
  authorization(): Promise<string | undefined>;
  /** Discards the cached header after a 401, so that the next call reads the credential again. */
  forget(): void;
}

const freshMs = 60_000;

const processFix =
  "set --kubeconfig or KUBECONFIG to a kubeconfig, or run in a pod with a ServiceAccount token";

/** The fix for a user at a terminal. */
export const userFix = "correct the kubeconfig, or set --kubeconfig, --context or KUBECONFIG";

/**
 * Credentials for an API server are missing or invalid; the message names the file, the cause and
 * the fix.
 */
export class CredentialsError extends Error {
  constructor(problem: string, fix: string = processFix) {
    super(`${problem}; ${fix}`);
    this.name = "CredentialsError";
  }
}

/** Caches the header that `read` returns for a minute, or until `forget`. */
export function cachedAuthorization(
  read: () => Promise<string | undefined>,
  clock: Clock,
): Pick<Credentials, "authorization" | "forget"> {
  let cached: { readonly header: string | undefined; readonly readAt: number } | undefined;
  return {
    async authorization() {
      if (cached === undefined || clock.monotonic() - cached.readAt > freshMs)
        cached = { header: await read(), readAt: clock.monotonic() };
      return cached.header;
    },
    forget() {
      cached = undefined;
    },
  };
}

/** The Authorization header with the token in a file. */
export function bearerFrom(file: string): string {
  return `Bearer ${readFileSync(file, "utf8").trim()}`;
}
