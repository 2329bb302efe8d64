import { resources } from "../api/resources.ts";
import { accessOf, type Prefixes } from "./access-rules.ts";
import { type AccessSeen, accessSteps, revokeSteps } from "./access.ts";
import { settleConditions } from "./conditions.ts";
import type { CopySeen, Source, StrangerSeen } from "./copy.ts";
import { derivedRoles } from "./derived-role.ts";
import { holdWrite, isHeld, releaseWrite } from "./finalizer.ts";
import { healthNotices } from "./notices.ts";
import { nothingToDo, type Plan, removal, type Write } from "./plan.ts";
import { type Findings, sharedSecretClaims, sharedSecretFigures } from "./shared-secret-status.ts";
import { statusWrites } from "./status-write.ts";
import type { SyncSummary } from "./sync-summary.ts";
import { targetNotices } from "./target-notices.ts";

/** All that a pass over one SharedSecret looks at. */
export interface SharedSecretSeen {
  readonly source: Source;
  readonly access: Omit<AccessSeen, "secret">;
  readonly prefixes: Prefixes;
  /** Whether its own namespace is going away: nothing can be created there any more. */
  readonly namespaceIsTerminating: boolean;
  /** Its copies, for the day it is deleted. */
  readonly copies: readonly (CopySeen | StrangerSeen)[];
  readonly summary: SyncSummary;
  /** Since when the status has been waiting for targets to be written, in milliseconds since the epoch. */
  readonly waitingSince?: number;
}

/** How long the status waits for a fan-out before it tells of its progress, and between two such tellings. */
const patienceMs = 1_000;

/** Whether a status that has waited since then (milliseconds since the epoch) tells of progress now. */
export function isProgressDue(waitingSince: number, now: number): boolean {
  return now >= waitingSince + patienceMs;
}

/** What to do for a SharedSecret; `now` is in milliseconds since the epoch. */
export function planSharedSecret(seen: SharedSecretSeen, now: number): Plan {
  const { metadata } = seen.source.secret;
  if (metadata.deletionTimestamp !== undefined) return isHeld(metadata) ? planFarewell(seen) : nothingToDo;
  if (seen.namespaceIsTerminating) return nothingToDo;
  if (!isHeld(metadata)) return { ...nothingToDo, steps: [[holdWrite(resources.sharedSecrets, metadata)]] };
  return planLife(seen, now);
}

/** Who could read is cut off first, then the copies go, then the object. */
function planFarewell({ source, access, copies }: SharedSecretSeen): Plan {
  const { metadata } = source.secret;
  const steps = [
    ...revokeSteps(access),
    copies.map((copy) => removal(resources.secrets, copy)),
    [releaseWrite(resources.sharedSecrets, metadata)],
  ];
  return { ...nothingToDo, steps };
}

/** What to tell when the API server refused a Role or RoleBinding; `why` holds no secret. */
export function planRefused(seen: SharedSecretSeen, why: string, now: number): Plan {
  return { ...nothingToDo, steps: reportSteps({ ...findingsOf(seen), refusal: why }, now) };
}

function planLife(seen: SharedSecretSeen, now: number): Plan {
  const { source, access, summary } = seen;
  const found = findingsOf(seen);
  const steps = accessSteps({ ...access, secret: source.secret.metadata }, found.wanted);
  const waiting = summary.pending > 0 && !source.options.paused;
  const since = seen.waitingSince ?? now;
  if (waiting && !isProgressDue(since, now)) return { steps, next: { kind: "look-again", at: since + patienceMs } };
  // Whatever a target comes to brings the next pass: ten thousand sources that wait must not be counted every second.
  return { ...nothingToDo, steps: [...steps, ...reportSteps(found, now)] };
}

function findingsOf({ source, access, prefixes, summary }: SharedSecretSeen): Findings {
  const { grants, problems, emptyRules } = accessOf(source.secret, prefixes);
  const wanted = derivedRoles(source.secret.metadata, grants);
  const nameConflicts = wanted.map(({ name }) => name).filter((name) => access.strangers.has(name));
  return { source, wanted, ruleProblems: problems, emptyRules, nameConflicts, summary };
}

function reportSteps(found: Findings, now: number): readonly (readonly Write[])[] {
  const { secret } = found.source;
  const { metadata } = secret;
  const claims = sharedSecretClaims(found);
  const conditions = settleConditions(secret.conditions, claims, { generation: metadata.generation, now });
  const status = { observedGeneration: metadata.generation, ...sharedSecretFigures(found), conditions };
  const telling = { resource: resources.sharedSecrets, metadata, standing: secret.conditions };
  const tells = [...healthNotices(telling, claims, ["Ready", "Synced"]), ...targetNotices(secret, found.summary)];
  return [tells, statusWrites(resources.sharedSecrets, secret, status)].filter((step) => step.length > 0);
}
