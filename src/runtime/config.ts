import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Environment } from "./options.ts";

/** The variables of this process; options are read from them. */
export function readEnvironment(): Environment {
  return process.env;
}

/**
 * The Service of the API server as the kubelet names it to every container; undefined outside of a
 * pod.
 */
export function readPodApiServer(): { readonly host: string; readonly port: string } | undefined {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = process.env;
  return host === "" || port === "" ? undefined : { host, port };
}

/** A name for this process in the Lease that no other process has. */
export function uniqueIdentity(): string {
  return `${hostname()}_${randomUUID()}`;
}
