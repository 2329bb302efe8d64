import type { Reason } from "../../api/conditions.ts";
import { quoted } from "../report-object.ts";
import type { TargetWrites } from "../sync/target-writes.ts";

/** What an agent does; only the last three write anything. */
export type AgentState =
  /** It does not know yet what to do. */
  | { readonly kind: "waiting"; readonly why: string }
  /** The outbox is that of another cluster. */
  | { readonly kind: "duplicate"; readonly why: string }
  | { readonly kind: "policies-missing"; readonly why: string }
  | { readonly kind: "disconnected"; readonly why: string }
  | { readonly kind: "working" };

/** Which cluster the outbox belongs to, by the uid of kube-system. */
export type OutboxIdentity =
  | { readonly kind: "unknown" }
  | { readonly kind: "own" }
  | { readonly kind: "other"; readonly uid: string };

/** What is known of both clusters. */
export interface AgentFacts {
  readonly identity: OutboxIdentity;
  /** Whether the outbox has been listed since the process started. */
  readonly isOutboxListed: boolean;
  /** Whether the connected cluster has answered about its policies since the process started. */
  readonly arePoliciesChecked: boolean;
  /** Why a policy of the connected cluster does not count; undefined if all of them do. */
  readonly policyProblem: string | undefined;
  /** For how long the central cluster was not heard, in milliseconds. */
  readonly silentMs: number;
  /** After which time in milliseconds all copies are removed; undefined is never. */
  readonly deleteAfterMs: number | undefined;
}

/**
 * What an agent does. A central cluster that is not heard says nothing: an agent that has read the
 * outbox goes on with what it knows.
 */
export function agentState(facts: AgentFacts): AgentState {
  const { identity, isOutboxListed, policyProblem, silentMs, deleteAfterMs } = facts;
  if (identity.kind === "other")
    return {
      kind: "duplicate",
      why:
        `another cluster, whose kube-system has the uid ${quoted(identity.uid)}, ` +
        "uses this outbox; stop its agent, or run kubectl latchkey cluster connect --replace",
    };
  if (deleteAfterMs !== undefined && silentMs >= deleteAfterMs)
    return {
      kind: "disconnected",
      why:
        `the central cluster was not heard for ${Math.floor(deleteAfterMs / 1000)} s ` +
        "(--delete-after-disconnect)",
    };
  if (!isOutboxListed) return { kind: "waiting", why: "the outbox has not been read yet" };
  if (identity.kind === "unknown")
    return { kind: "waiting", why: "the Lease in the outbox has not been read yet" };
  if (!facts.arePoliciesChecked)
    return { kind: "waiting", why: "the policies of this cluster have not been checked yet" };
  return policyProblem === undefined
    ? { kind: "working" }
    : { kind: "policies-missing", why: policyProblem };
}

/** What an agent in this state may write at targets; undefined if it may write nothing at all. */
export function agentWrites(state: AgentState): TargetWrites | undefined {
  switch (state.kind) {
    case "waiting":
    case "duplicate":
      return undefined;
    case "policies-missing":
      return { kind: "removals", why: `PoliciesMissing: ${state.why}` };
    case "disconnected":
      return { kind: "remove-all", why: state.why };
    case "working":
      return { kind: "all" };
  }
}

/**
 * What keeps an agent from its work, for its first report and its log; undefined if it works, or
 * if it is about to.
 */
export function agentProblem(
  state: AgentState,
): { readonly reason: Reason; readonly message: string } | undefined {
  switch (state.kind) {
    case "policies-missing":
      return { reason: "PoliciesMissing", message: state.why };
    case "duplicate":
      return { reason: "DuplicateAgent", message: state.why };
    case "waiting":
    case "disconnected":
    case "working":
      return undefined;
  }
}
