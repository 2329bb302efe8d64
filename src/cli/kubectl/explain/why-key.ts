import { parseConditions, recordAt } from "../../../api/parse.ts";
import type { ReportItem } from "../../../api/report.ts";
import {
  explainKey,
  explainReportedKey,
  explainUnknownRoles,
} from "../../../domain/access-key/explain-key.ts";
import { isObserved, notObserved, readyOf } from "../../../domain/object-state.ts";
import { unknownRoles } from "../../../domain/scope/scope-roles.ts";
import type { LiveKey } from "./live-keys.ts";

/**
 * Answers for a key: whether it authenticates, and whether its scope names roles that exist. What
 * the user may not read, and options that only the controller knows, come from its conditions.
 */
export function keyItem(raw: unknown, live: LiveKey, now: number): ReportItem {
  const own = explainKey(live.resolved, now);
  if (own.state === "problem") return own;
  const problem =
    reportedRefusal(raw, live, now) ?? rolesProblem(live, now) ?? reportedProblem(raw, live, now);
  if (problem !== undefined) return problem;
  const isUnknown = readyOf(raw) === undefined && live.missing.length > 0;
  return isUnknown ? { object: own.object, ...notObserved } : own;
}

/** The condition Active, if it is of the current generation and says that the key is refused. */
function reportedRefusal(raw: unknown, { resolved }: LiveKey, now: number): ReportItem | undefined {
  const active = parseConditions(recordAt(raw, "status")).find(({ type }) => type === "Active");
  return isObserved(raw) && active?.status === "False"
    ? explainReportedKey(resolved, active, now)
    : undefined;
}

function rolesProblem(
  { resolved, roles, areRolesKnown }: LiveKey,
  now: number,
): ReportItem | undefined {
  if (!areRolesKnown) return undefined;
  const missing = unknownRoles(resolved.key.spec.scope, (role) => roles.has(role));
  return explainUnknownRoles(resolved, missing, now);
}

/** The condition Ready, for what no object explains, such as a write that fails. */
function reportedProblem(raw: unknown, { resolved }: LiveKey, now: number): ReportItem | undefined {
  const ready = readyOf(raw);
  return ready === undefined || ready.status === "True"
    ? undefined
    : explainReportedKey(resolved, ready, now);
}
