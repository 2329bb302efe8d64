import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

/** The parts of an audit.k8s.io/v1 Event at level Metadata that tests ask about. */
export interface AuditRecord {
  stage: string;
  verb: string;
  requestURI: string;
  user: { username: string };
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

/** Who asked, without impersonation: tests that pretend to be Latchkey are not meant. */
const accounts = "system:serviceaccount:latchkey-system:latchkey-";

/** Bytes that an audit log holds now, to read from later. */
export function auditLength(path: string): number {
  return statSync(path).size;
}

/**
 * Everything that Latchkey's accounts have asked for, from that byte on; a line that is still being
 * written waits.
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
 * Requests that change something, but those for the Lease: once each, when they have been answered.
 * A review is a question.
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
 * What the shipped RBAC does not allow. A 403 alone says nothing: a terminating namespace gives it
 * to an allowed account, and a grant of more than one's own is refused after it was allowed.
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
