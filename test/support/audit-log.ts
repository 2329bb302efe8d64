import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

/** The fields of an audit.k8s.io/v1 Event at level Metadata that tests use. */
export interface AuditRecord {
  stage: string;
  requestReceivedTimestamp: string;
  verb: string;
  requestURI: string;
  user: { username: string };
  impersonatedUser?: { username: string };
  objectRef?: {
    resource: string;
    namespace?: string;
    name?: string;
    apiGroup?: string;
    subresource?: string;
  };
  responseStatus?: { code: number; message?: string; reason?: string };
  annotations?: Readonly<Record<string, string>>;
}

const mutatingVerbs = ["create", "update", "patch", "delete", "deletecollection"];

/** The authenticated user, without impersonation: tests that impersonate Latchkey do not count. */
const accounts = "system:serviceaccount:latchkey-system:latchkey-";

/** The current size of an audit log in bytes, to read from there later. */
export function auditLength(path: string): number {
  return statSync(path).size;
}

/**
 * All requests of Latchkey's accounts after this byte; a line that is not complete yet is left for
 * the next call.
 */
export function latchkeyRecords(path: string, from = 0): readonly AuditRecord[] {
  const text = textFrom(path, from);
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines
    .filter((line) => line.includes(accounts))
    .map(parse)
    .filter(({ user }) => user.username.startsWith(accounts));
}

/**
 * Requests that change something, except for the Lease: each once, when it is complete. A review
 * changes nothing.
 */
export function mutations(records: readonly AuditRecord[]): readonly AuditRecord[] {
  return records.filter(
    ({ stage, verb, objectRef }) =>
      stage === "ResponseComplete" &&
      mutatingVerbs.includes(verb) &&
      !["leases", "subjectaccessreviews"].includes(objectRef?.resource ?? ""),
  );
}

/**
 * Requests that the shipped RBAC does not allow. The code 403 is not enough: a terminating
 * namespace returns it for an allowed request, and RBAC escalation is rejected after authorization.
 */
export function shortcomings(records: readonly AuditRecord[]): readonly string[] {
  const isShort = ({ annotations, responseStatus }: AuditRecord) =>
    annotations?.["authorization.k8s.io/decision"] === "forbid" ||
    (responseStatus?.message ?? "").includes("attempting to grant");
  return records.filter(isShort).map(sentence);
}

/** A record in one line, for the message of a failing test. */
export function sentence({ user, verb, requestURI, responseStatus }: AuditRecord): string {
  return `${user.username.slice(accounts.length)}: ${verb} ${requestURI}: ${responseStatus?.code ?? "?"} ${responseStatus?.message ?? ""}`;
}

function textFrom(path: string, from: number): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - from));
    const length = readSync(file, bytes, 0, bytes.length, from);
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

function parse(line: string): AuditRecord {
  const record: AuditRecord = JSON.parse(line);
  return record;
}
