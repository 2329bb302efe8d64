import { parseConditions, recordAt } from "../../../api/parse.ts";
import {
  explainKey,
  explainReportedKey,
  explainUnknownRoles,
  type KeyExplanation,
  objectOf,
} from "../../../domain/access-key/explain-key.ts";
import { notObserved } from "../../../domain/object-state.ts";
import { unknownRoles } from "../../../domain/scope/roles.ts";
import { isObserved, readyOf } from "../keys/key-view.ts";
import type { LiveKey } from "./live-keys.ts";
import type { Finding } from "./why-report.ts";

/**
 * Answers for a key: whether it authenticates, and whether its scope names roles that exist. What
 * the user may not read, and options that only the controller knows, come from its conditions.
 */
export function keyFinding(raw: unknown, live: LiveKey, now: number): Finding {
  const { resolved, missing } = live;
  const object = objectOf(resolved);
  const own = explainKey(resolved, now);
  const problem = own.isAccepted
    ? (reportedRefusal(raw, live, now) ??
      rolesProblem(live, now) ??
      reportedProblem(raw, live, now))
    : own;
  if (problem !== undefined) return { object, state: "problem", ...contentOf(problem) };
  const isUnobserved = readyOf(raw) === undefined;
  if (isUnobserved && missing.length > 0)
    return { object, state: "unknown", ...notObserved, causes: [] };
  return { object, state: "ok", ...contentOf(own) };
}

function contentOf({
  reason,
  sentence,
  causes,
}: KeyExplanation): Pick<Finding, "reason" | "sentence" | "causes"> {
  return { reason, sentence, causes };
}

/** The condition Active, if it is of the current generation and says that the key is refused. */
function reportedRefusal(
  raw: unknown,
  { resolved }: LiveKey,
  now: number,
): KeyExplanation | undefined {
  const active = parseConditions(recordAt(raw, "status")).find(({ type }) => type === "Active");
  return isObserved(raw) && active?.status === "False"
    ? explainReportedKey(resolved, active, now)
    : undefined;
}

function rolesProblem(
  { resolved, roles, areRolesKnown }: LiveKey,
  now: number,
): KeyExplanation | undefined {
  if (!areRolesKnown) return undefined;
  const missing = unknownRoles(resolved.key.spec.scope, (role) => roles.has(role));
  return explainUnknownRoles(resolved, missing, now);
}

/** The condition Ready, for what no object explains, such as a write that fails. */
function reportedProblem(
  raw: unknown,
  { resolved }: LiveKey,
  now: number,
): KeyExplanation | undefined {
  const ready = readyOf(raw);
  return ready === undefined || ready.status === "True"
    ? undefined
    : explainReportedKey(resolved, ready, now);
}
