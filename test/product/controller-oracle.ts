import { readFileSync } from "node:fs";
import { expect, inject } from "vitest";
import {
  auditLength,
  type AuditRecord,
  latchkeyRecords,
  mutations,
  shortcomings,
} from "../support/audit-log.ts";
import { eventually } from "../support/eventually.ts";

/**
 * The prefix of every secret value of these tests, and of no name; its base64 has a constant prefix
 * too.
 */
export const canary = "canary-";

const canaries = [canary, Buffer.from(canary).toString("base64").slice(0, 8)];

/** Log lines of unexpected errors of Latchkey. */
const bugs =
  /reconcile failed with an unexpected error|parsing the object failed|"code":"BadRequest"/;

const { auditLog } = inject("controller");
/** Where the audit log of this file's tests begins. */
const begin = auditLog === undefined ? 0 : auditLength(auditLog);

/** The requests of the controller since this file began; none where there is no audit log. */
function requests(): readonly AuditRecord[] {
  if (auditLog === undefined) return [];
  return latchkeyRecords(auditLog, begin).filter(({ user }) =>
    user.username.endsWith(":latchkey-controller"),
  );
}

/**
 * The secret values of these tests in a text, plain or as base64; the text itself is not returned.
 */
export function canariesIn(text: string): readonly string[] {
  return canaries.filter((word) => text.includes(word));
}

/** The messages, which are constants, of the log lines with a secret value. */
function messagesWithCanaries(log: string): readonly unknown[] {
  const lines = log.split("\n").filter((line) => canariesIn(line).length > 0);
  return lines.map((line) => (line.startsWith("{") ? JSON.parse(line).message : "not a log line"));
}

/**
 * Checks invariants of all tests: the controller's log has no unexpected error and no secret, and
 * RBAC never rejected one of its requests.
 */
export function expectNoTrouble(): void {
  const text = readFileSync(inject("controller").log, "utf8");
  expect(text.split("\n").filter((line) => bugs.test(line))).toEqual([]);
  expect(messagesWithCanaries(text)).toEqual([]);
  expect(shortcomings(requests())).toEqual([]);
}

/**
 * Expects the verbs of the controller's writes to one Secret, in order; the API server records a
 * request after it has answered. Passes where there is no audit log.
 */
export async function expectWrites(
  { target, name }: { readonly target: string; readonly name: string },
  verbs: readonly string[],
): Promise<void> {
  const writes = () => writesTo(target, name) ?? verbs;
  await eventually(() => writes().length >= verbs.length, { what: "the audit log" });
  expect(writes()).toEqual(verbs);
}

/**
 * Verbs of the controller's writes to one Secret, in order; undefined where there is no audit log.
 */
export function writesTo(namespace: string, name: string): readonly string[] | undefined {
  if (auditLog === undefined) return undefined;
  return mutations(requests())
    .filter(
      ({ objectRef }) =>
        objectRef?.resource === "secrets" &&
        objectRef.namespace === namespace &&
        objectRef.name === name,
    )
    .map(({ verb }) => verb);
}
