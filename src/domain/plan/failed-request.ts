import type { Result } from "../../api/result.ts";
import type { ObservedFailure } from "./failure-history.ts";

/** The reason of a write that does not stay. */
export const contestedReason = "Contested";

/** A failed request to the API server; `message` contains no secret. */
export interface FailedRequest {
  /** The code of the KubeError. */
  readonly code: string;
  /** The reason of the metav1.Status, or the code. */
  readonly reason: string;
  readonly message: string;
  /** The message with the method, the path and the status. */
  readonly requestMessage: string;
  /** Whether the API server rejected the request, so that a retry alone does not succeed. */
  readonly isRefusal: boolean;
  /** Whether it rejected the object (validation, policy, quota), and not Latchkey. */
  readonly isRejection: boolean;
  /** Whether the object is too large for the API server or etcd. */
  readonly isTooLarge: boolean;
  /** Whether the namespace of the object is terminating or deleted. */
  readonly isNamespaceGone: boolean;
  /** Whether it was a write. */
  readonly isWrite: boolean;
}

/** What a failed request means for the reconcile. */
export interface FailureVerdict {
  /** The failure of the object; absent if the request says nothing about it. */
  readonly failure?: ObservedFailure;
  /** Whether there is nothing left to try, so that an earlier failure ends. */
  readonly isOver?: boolean;
  /** The result of the reconcile; absent if it fails, which is logged and retried with backoff. */
  readonly result?: Result;
}

/**
 * A temporary failure: users do not cause the rejection of writes to their object itself, or to
 * their requester's grants, and it may end.
 */
export function temporaryFailure({ reason, requestMessage }: FailedRequest): FailureVerdict {
  return { failure: { kind: "failed", reason, message: requestMessage } };
}

/**
 * A failure to write Roles and RoleBindings: a user must change what the API server rejects or
 * cannot store.
 */
export function accessFailure(failed: FailedRequest): FailureVerdict {
  const { reason, message, isRefusal, isRejection, isTooLarge } = failed;
  const result =
    isRejection || isTooLarge ? ({ kind: "requeue-with-backoff" } as const) : undefined;
  const verdict = result === undefined ? {} : { result };
  if (isTooLarge)
    return { ...verdict, failure: { kind: "too-large", reason: "TooLarge", message } };
  if (isRefusal) return { ...verdict, failure: { kind: "refused", reason, message } };
  return temporaryFailure(failed);
}

/** A failure at a target: a rejection requires a change there. */
export function targetFailure(failed: FailedRequest): FailureVerdict {
  const { code, reason, message, isRefusal, isRejection, isNamespaceGone, isWrite } = failed;
  if (!isWrite) return { failure: { kind: "failed", reason, message } };
  // The namespace's own event enqueues the target.
  if (isNamespaceGone) return { isOver: true, result: { kind: "done" } };
  // A failing webhook causes a 500 each time; other server errors are transient.
  const isLasting = isRefusal || code === "ServerError" || code === contestedReason;
  const kind = isLasting ? "refused" : "failed";
  // The Secret in the way was read; one that is being deleted may stay for ever.
  const isInTheWay = code === "AlreadyExists";
  return {
    failure: { kind, reason, message },
    ...(isRejection || isInTheWay ? { result: { kind: "requeue-with-backoff" } } : {}),
  };
}
