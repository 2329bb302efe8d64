import { readFileSync } from "node:fs";
import { expect, inject } from "vitest";
import { latchkeyRecords, mutations, shortcomings } from "../support/audit-log.ts";

/** The prefix of every secret value of these tests; its base64 has a constant prefix too. */
export const canary = "canary-";

const canaries = [canary, Buffer.from(canary).toString("base64").slice(0, 8)];

/** Log lines of unexpected errors of Latchkey. */
const bugs =
  /reconcile failed with an unexpected error|parsing the object failed|"code":"BadRequest"/;

/**
 * The secret values of these tests in a text, plain or as base64; the text itself is not returned.
 */
export function canariesIn(text: string): readonly string[] {
  return canaries.filter((word) => text.includes(word));
}

/**
 * Checks invariants of all tests: the controller's log has no unexpected error and no secret, and
 * RBAC never rejected one of its requests.
 */
export function expectNoTrouble(): void {
  const { log, auditLog } = inject("controller");
  const text = readFileSync(log, "utf8");
  expect(text.split("\n").filter((line) => bugs.test(line))).toEqual([]);
  expect(canariesIn(text)).toEqual([]);
  expect(auditLog === undefined ? [] : shortcomings(latchkeyRecords(auditLog))).toEqual([]);
}

/**
 * Verbs of the controller's writes to one Secret, in order; undefined where there is no audit log.
 */
export function writesTo(namespace: string, name: string): readonly string[] | undefined {
  const { auditLog } = inject("controller");
  if (auditLog === undefined) return undefined;
  return mutations(latchkeyRecords(auditLog))
    .filter(
      ({ objectRef }) =>
        objectRef?.resource === "secrets" &&
        objectRef.namespace === namespace &&
        objectRef.name === name,
    )
    .map(({ verb }) => verb);
}
