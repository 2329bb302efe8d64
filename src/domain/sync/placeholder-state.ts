import { annotations, labels } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import { copiedSource, hasMarks, type ObservedCopy, type Source } from "./copy.ts";
import { hasCopyMetadata } from "./copy-metadata.ts";
import {
  asksFor,
  haveSameValues,
  isFilled,
  mostKeysToPickFrom,
  pick,
  type PickedKeys,
  type PlaceholderRequest,
} from "./placeholder.ts";
import { isPaused, isRefusedType } from "./sync-options.ts";
import type { NamespaceObstacle } from "./obstacles.ts";
import type { ObservedRequest, ObservedTarget } from "./observed-target.ts";
import type { TargetState } from "./state-table.ts";

/** The state of a Secret with the label of a placeholder. */
export function placeholderState(
  copy: ObservedCopy,
  request: ObservedRequest,
  observed: ObservedTarget,
): TargetState {
  const [source] = observed.candidates;
  if (source === undefined) return unansweredState(copy, request, observed);
  const paused = pausedBy(copy, source);
  const why = request.problem ?? problemWith(copy, source, request.keys);
  const hasWithdrawnData = hasDataOfOther(copy, request);
  if ((paused !== undefined || why !== undefined) && hasWithdrawnData)
    return { kind: "to-empty", copy, why: why ?? pausedText, ...(paused && { isPaused: true }) };
  if (paused !== undefined) return { kind: "paused", by: paused };
  if (why !== undefined) return { kind: "unfillable", source, copy, why };
  return isCurrentlyFilled(copy, source, request.keys)
    ? { kind: "current", source }
    : { kind: "differs", source, copy, ...(hasWithdrawnData && { hasWithdrawnData }) };
}

function pausedBy({ metadata }: ObservedCopy, source: Source): "source" | "copy" | undefined {
  if (source.options.paused) return "source";
  return isPaused(metadata) ? "copy" : undefined;
}

const pausedText = `sync is paused by the annotation ${annotations.disableSync}; remove it`;

/** Why a placeholder cannot have the data of a source that it may have. */
function problemWith(copy: ObservedCopy, source: Source, keys: PickedKeys): string | undefined {
  if (isRefusedType(copy.type))
    return (
      `type: ${JSON.stringify(copy.type)} is not allowed because Kubernetes or Helm ` +
      "interprets Secrets of this type; create a Secret of another type"
    );
  if (keys !== undefined) {
    if (source.values === undefined)
      return (
        `${annotations.syncKeys}: the SharedSecret has more than ${mostKeysToPickFrom} data ` +
        "keys; remove the annotation, or split the SharedSecret"
      );
    const picked = pick(source.values, keys);
    if (picked.kind === "missing")
      return (
        `${annotations.syncKeys}: the SharedSecret has no data key ` +
        `${JSON.stringify(picked.key)}; name one that it has`
      );
  }
  return copy.immutable && !hasData(copy, source, keys)
    ? "immutable: is true, so the data cannot be changed; " +
        "delete the Secret and create it without this field"
    : undefined;
}

/** Whether a placeholder has the data that it asks for, Latchkey's marks and no error. */
function isCurrentlyFilled(copy: ObservedCopy, source: Source, keys: PickedKeys): boolean {
  return (
    hasData(copy, source, keys) &&
    hasMarks(copy, source) &&
    isFilled(copy.metadata) &&
    hasCopyMetadata(copy.metadata, undefined)
  );
}

function hasData(copy: ObservedCopy, source: Source, keys: PickedKeys): boolean {
  if (keys === undefined) return copy.digest === source.ownDigest;
  const picked = pick(source.values ?? {}, keys);
  return (
    picked.kind === "values" &&
    copy.values !== undefined &&
    haveSameValues(copy.values, picked.values)
  );
}

/** The state of a placeholder whose source is missing, invalid, or does not permit it. */
function unansweredState(
  copy: ObservedCopy,
  request: ObservedRequest,
  { owner, ownerIsNotPermitted: notPermitted = false }: ObservedTarget,
): TargetState {
  const why = whyUnanswered(request);
  const sourceRef = copiedSource(copy.metadata);
  const { permitted } = request;
  // What is said of it would be about data that is not read yet.
  if (sourceRef === undefined && permitted?.followed?.state === "unread")
    return { kind: "source-unavailable", sourceRef: permitted.secret.metadata };
  if (sourceRef === undefined) return { kind: "unfilled", copy, why };
  const removal = { copy, why, ...(isPaused(copy.metadata) && { isPaused: true }) };
  if (hasDataOfOther(copy, request)) return { kind: "to-empty", ...removal };
  if (owner === undefined) return { kind: "orphaned", sourceRef, ...removal };
  const { problem } = owner.options;
  if (
    problem === undefined ||
    notPermitted ||
    owner.secret.metadata.deletionTimestamp !== undefined
  )
    return { kind: "to-empty", ...removal };
  return owner.followed !== undefined && owner.followed.state !== "data"
    ? { kind: "source-unavailable", sourceRef }
    : { kind: "source-invalid", copy, sourceRef, why: problem.message };
}

/** Whether a placeholder has the data of another source than it asks for. */
function hasDataOfOther({ metadata }: ObservedCopy, request: PlaceholderRequest): boolean {
  const from = copiedSource(metadata);
  return from !== undefined && !asksFor(request, from);
}

/**
 * Why a placeholder is not filled. A source that does not permit it and a source that does not
 * exist have the same sentence: a project member must not learn which SharedSecrets exist
 * elsewhere.
 */
function whyUnanswered({ problem, obstacle, permitted, project, source }: ObservedRequest): string {
  if (source === undefined || problem !== undefined) return problem ?? "";
  if (obstacle !== undefined) return obstacleText(obstacle, source);
  const named = JSON.stringify(`${source.namespace}/${source.name}`);
  if (permitted?.secret.metadata.deletionTimestamp !== undefined)
    return `SharedSecret ${named} is being deleted`;
  if (permitted?.options.problem !== undefined) return permitted.options.problem.message;
  return (
    `SharedSecret ${named} does not exist, or its annotation ${annotations.syncToProjects} ` +
    `does not name project ${JSON.stringify(project ?? "")}`
  );
}

function obstacleText(obstacle: NamespaceObstacle, source: ObjectRef): string {
  const from = JSON.stringify(source.namespace ?? "");
  switch (obstacle) {
    case "no-project":
      return `the namespace does not have the label ${labels.project}`;
    case "sync-from-required":
      return (
        `the namespace does not have the annotation ${annotations.syncFrom}, ` +
        `which --require-sync-from requires; set it to ${from}`
      );
    case "sync-from-invalid":
      return (
        `annotation ${annotations.syncFrom} of the namespace is invalid; ` +
        "separate names of namespaces by commas or line breaks"
      );
    case "sync-from-excludes":
      return (
        `annotation ${annotations.syncFrom} of the namespace does not name namespace ` +
        `${from}; add it to the list`
      );
    case "namespace-terminating":
    case "sync-not-enabled":
    case "project-not-named":
      return "";
  }
}
