import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../runtime/error-code.ts";
import type { Clock } from "../runtime/clock.ts";
import {
  bearerFrom,
  cachedAuthorization,
  type Credentials,
  CredentialsError,
} from "./credentials.ts";

/** The Service of the API server, from the environment that the kubelet sets in every container. */
export interface PodApiServer {
  /** KUBERNETES_SERVICE_HOST. */
  readonly host: string;
  /** KUBERNETES_SERVICE_PORT. */
  readonly port: string;
}

const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Reads the credentials of the pod's ServiceAccount: `token` and `ca.crt` in its directory, like
 * client-go's InClusterConfig. Throws a CredentialsError if one cannot be read.
 */
export function podCredentials(
  { host, port }: PodApiServer,
  clock: Clock,
  directory = serviceAccountDirectory,
): Credentials {
  const token = join(directory, "token");
  readAtStart(token);
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    tls: { ca: readAtStart(join(directory, "ca.crt")), rejectUnauthorized: true },
    // The kubelet replaces the file before the token in it expires.
    ...cachedAuthorization(async () => bearerFrom(token), clock),
  };
}

function readAtStart(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CredentialsError(
      `ServiceAccount file "${file}" cannot be read: ${errorCode(error) ?? String(error)}`,
    );
  }
}
