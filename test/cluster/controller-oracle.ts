import { readFileSync } from "node:fs";
import { expect, inject } from "vitest";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import { latchkeyAccount } from "./policy-request.ts";

/** Every secret value of these tests begins so; the base64 of it has a beginning of its own. */
export const canary = "canary-";

const canaries = [canary, Buffer.from(canary).toString("base64").slice(0, 8)];

/** Log lines that stand for a mistake of Latchkey's own. */
const bugs = /bug in a reconcile|object cannot be read|"code":"BadRequest"/;

/** A text without any secret value of these tests, plain or as base64. */
export function expectNoCanary(text: string): void {
  for (const word of canaries) expect(text).not.toContain(word);
}

/** What must hold after any test: no bug and no secret in the controller's log, and its account was never forbidden anything. */
export function expectNoTrouble(): void {
  const log = readFileSync(inject("controller").log, "utf8");
  expect(log.split("\n").filter((line) => bugs.test(line))).toEqual([]);
  expectNoCanary(log);
  expect(auditOf('"authorization.k8s.io/decision":"forbid"')).toEqual([]);
}

/** Verbs of the controller's writes to one Secret, in order; undefined where there is no audit log. */
export function writesTo(namespace: string, name: string): readonly string[] | undefined {
  if (inject("controller").auditLog === undefined) return undefined;
  const records = auditOf(`"namespace":"${namespace}","name":"${name}"`).filter(
    ({ objectRef, verb }) => stringAt(objectRef, "resource") === "secrets" && !["get", "list", "watch"].includes(String(verb)),
  );
  return records.map(({ verb }) => String(verb));
}

/** Audit records of the controller's account whose line has these words. */
function auditOf(words: string): readonly Readonly<Record<string, unknown>>[] {
  const { auditLog } = inject("controller");
  if (auditLog === undefined) return [];
  const { user } = latchkeyAccount("latchkey-controller");
  const lines = readFileSync(auditLog, "utf8").split("\n").filter((line) => line.includes(words));
  const records = lines.map((line): unknown => JSON.parse(line)).filter(isRecord);
  return records.filter((record) => stringAt(recordAt(record, "user"), "username") === user);
}
