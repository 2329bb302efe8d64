import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Environment } from "./options.ts";

/** The environment variables of this process, from which options are read. */
export function readEnvironment(): Environment {
  return process.env;
}

/** A unique identity of this process in the Lease: host name and UUID. */
export function uniqueIdentity(): string {
  return `${hostname()}_${randomUUID()}`;
}
