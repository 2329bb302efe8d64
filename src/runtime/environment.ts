import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Environment } from "./options.ts";

/** The environment variables of this process, from which options are read. */
export function readEnvironment(): Environment {
  return process.env;
}

/**
 * The Service of the API server, from the environment that the kubelet sets in every container;
 * undefined outside of a pod.
 */
export function readPodApiServer(): { readonly host: string; readonly port: string } | undefined {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = process.env;
  return host === "" || port === "" ? undefined : { host, port };
}

/** A unique identity of this process in the Lease: host name and UUID. */
export function uniqueIdentity(): string {
  return `${hostname()}_${randomUUID()}`;
}
