import type { ReasonAndMessage } from "../../api/report.ts";
import { contestedReason } from "../plan/failed-request.ts";
import { quoted } from "../report-object.ts";
import { copiedSource, type TargetSecret } from "./copy.ts";

/** The reason of a Secret that keeps data of a source, or stays, although it may not. */
export const leftoverReason = "RemovalBlocked";

/** Maximum finalizers that a message names. */
const mostNamed = 3;

/**
 * Why a Secret whose data may not stay is still there, and whether it still has that data, as a
 * sentence without a period; undefined while its removal is only in progress. `failure` is that of
 * the last write.
 */
export function leftoverText(
  copy: TargetSecret,
  failure: ReasonAndMessage | undefined,
): string | undefined {
  const { deletionTimestamp, finalizers } = copy.metadata;
  const isHeld = deletionTimestamp !== undefined && finalizers.length > 0;
  if (!isHeld && failure === undefined) return undefined;
  const named = finalizers.slice(0, mostNamed).map(quoted);
  const more = finalizers.length - named.length;
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const obstacles = [
    ...(isHeld ? [`finalizers of others keep the Secret: ${list}`] : []),
    ...(failure === undefined ? [] : [failureText(failure)]),
  ].join("; ");
  return `${stateOf(copy)}; ${obstacles}`;
}

function failureText({ reason, message }: ReasonAndMessage): string {
  if (reason === contestedReason) return message;
  return `the API server rejected its removal: ${reason}: ${message}`;
}

function stateOf(copy: TargetSecret): string {
  if (!("digest" in copy)) return "the data is still there";
  if (copy.hasLeastData === true) return "the data is removed, but the Secret is still there";
  return copy.immutable
    ? "the data is still there, because the Secret is immutable"
    : "the data is still there";
}

/**
 * Whether the finalizer of a source that is being deleted waits for a Secret: until it is gone or
 * has no data. What is immutable and kept by finalizers of others does not keep the source, so that
 * nobody keeps another's object and its namespace from being deleted.
 */
export function keepsSource(copy: TargetSecret): boolean {
  if (copiedSource(copy.metadata) === undefined) return false;
  if (!("digest" in copy)) return true;
  const isSealed = copy.immutable && copy.metadata.deletionTimestamp !== undefined;
  return copy.hasLeastData !== true && !isSealed;
}
