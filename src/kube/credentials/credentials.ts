import { readFileSync } from "node:fs";
import type { Clock } from "../../runtime/clock.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import type { Proxy } from "./proxies.ts";
import type { ServerAnswer } from "./server-answers.ts";

/** TLS options of connections to the API server; certificates and keys are PEM. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
}

/** The Authorization header of requests. */
interface CachedAuthorization {
  /**
   * The Authorization header, at most a minute old or not expired; undefined with client
   * certificates.
   */
  readonly authorization: () => Promise<string | undefined>;
  /** Discards the cached header after a 401, so that the next call reads the credential again. */
  readonly forget: () => void;
}

/**
 * The address of an API server, and credentials. If they are read from files that change, `server`
 * is another text, and `tls` another object, after the next call of `authorization`.
 */
export interface Credentials extends CachedAuthorization {
  /** Origin and path prefix of the API server, without a trailing slash. */
  readonly server: string;
  readonly tls: TlsMaterial;
  /** Called with how the API server answers requests; absent if nobody asks for that. */
  readonly noteAnswer?: (answer: ServerAnswer) => void;
  /** The proxy on the way to the API server; undefined: it is connected to directly. */
  readonly proxy?: Proxy | undefined;
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
  readonly problem: string;
  /** The error code of a file that cannot be read. */
  readonly code?: string;

  constructor(problem: string, fix: string = processFix, code?: string) {
    super(`${problem}; ${fix}`);
    this.name = "CredentialsError";
    this.problem = problem;
    if (code !== undefined) this.code = code;
  }
}

/** An Authorization header; undefined without one. */
interface Authorization {
  readonly header: string | undefined;
  /** Milliseconds since the epoch; default: a minute after it was read. */
  readonly expiresAt?: number;
}

/** Caches the header that `read` returns until it expires, or until `forget`. */
export function cachedAuthorization(
  read: () => Promise<Authorization>,
  clock: Clock,
): CachedAuthorization {
  let cached: (Authorization & { readonly readAt: number }) | undefined;
  const isCurrent = ({ expiresAt, readAt }: NonNullable<typeof cached>): boolean =>
    expiresAt === undefined ? clock.monotonic() - readAt <= freshMs : clock.now() < expiresAt;
  let reading: Promise<Authorization> | undefined;
  return {
    async authorization() {
      if (cached === undefined || !isCurrent(cached)) {
        reading ??= read().finally(() => (reading = undefined));
        cached = { ...(await reading), readAt: clock.monotonic() };
      }
      return cached.header;
    },
    forget() {
      cached = undefined;
    },
  };
}

/** The Authorization header with the token in a file; throws a CredentialsError. */
export function bearerFrom(file: string): string {
  return `Bearer ${readAccountFile(file).trim()}`;
}

/** Reads a file of the pod's ServiceAccount; throws a CredentialsError. */
export function readAccountFile(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = errorCode(error);
    const problem = `ServiceAccount file "${file}" cannot be read: ${code ?? String(error)}`;
    throw new CredentialsError(problem, processFix, code);
  }
}
