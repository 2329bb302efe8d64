import { byAge, keyOf, type Metadata, type ObjectRef } from "../../api/object.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { listedFailures } from "../../domain/object-state.ts";
import { nameOf, reportObject } from "../../domain/report-object.ts";
import { copiedSource, type Source } from "../../domain/sync/copy.ts";
import { secretAt } from "../../domain/sync/observed-target.ts";
import { explain, explainGone } from "../../domain/sync/explain.ts";
import { type Target, namesProject, projectOf } from "../../domain/sync/obstacles.ts";
import { placeholderRequestOf } from "../../domain/sync/placeholder.ts";
import { syncIndexes, type SyncObjects, syncObjectsOf } from "../../domain/sync/sync-objects.ts";
import { copyItem, isAtTarget, sourceItem, targetItem } from "../../domain/sync/sync-report.ts";
import { isHidden, type MissingRight } from "../missing-right.ts";
import { plainItem } from "../report.ts";
import type { LiveSync } from "./sync-objects.ts";

/** A target, and the live objects that decide about it. */
interface SeenTarget {
  readonly target: Target;
  readonly objects: SyncObjects;
  readonly missing: readonly MissingRight[];
}

/**
 * Answers for a Secret: an item for each SharedSecret that would arrive under its name; none if
 * there is no such SharedSecret.
 */
export function secretItems(target: Target, live: LiveSync): readonly ReportItem[] {
  const seen = { target, objects: syncObjectsOf(live.snapshot), missing: live.missing };
  const secret = existingAt(seen);
  const followers = seen.objects.sharedSecrets
    .by(syncIndexes.dataFrom, keyOf(target))
    .map((source) => followedItem(source, target));
  const request = secret === undefined ? undefined : placeholderRequestOf(secret);
  if (secret !== undefined && request !== undefined && request.source === undefined)
    return [...followers, copyItem(secret)];
  const claimed = request?.source ?? (secret === undefined ? undefined : copiedSource(secret));
  const sources = sourcesFor(seen, claimed);
  const answers = sources.map((source) => ({
    item: targetItemFor(source, seen),
    isMeant: isMeantFor(source, seen),
  }));
  const isClaimFound = sources.some(({ secret: { metadata } }) => isSame(metadata, claimed));
  if (secret !== undefined && claimed !== undefined && !isClaimFound)
    answers.push({ item: claimedItem(secret, claimed, seen), isMeant: true });
  return [...followers, ...quieted(answers)];
}

/** Whether a SharedSecret has the data of a Secret that it follows, and what keeps it from it. */
function followedItem(source: Source, target: Target): ReportItem {
  const object = reportObject(resources.secrets.kind, target);
  const own = reportObject(resources.sharedSecrets.kind, source.secret.metadata);
  const problem = source.followed?.state === "data" ? undefined : sourceItem(source);
  if (problem !== undefined) return { ...problem, object, source: own };
  const message = `${nameOf(own)} has the data of ${nameOf(object)}.`;
  return { object, source: own, state: "ok", reason: "Followed", message, causes: [] };
}

/**
 * Sources that are not meant for a target are no problem if another one arrives there, or names its
 * project. An older source, a foreign Secret and a paused one stay problems.
 */
function quieted(
  answers: readonly { readonly item: ReportItem; readonly isMeant: boolean }[],
): readonly ReportItem[] {
  const isThere = answers.some(({ item }) => item.reason === "Arrives");
  const isAnyMeant = answers.some(({ item, isMeant }) => item.state === "problem" && isMeant);
  return answers.map(({ item, isMeant }) => {
    const isQuiet = isThere ? !isAtTarget(item.reason) : isAnyMeant && !isMeant;
    return item.state === "problem" && isQuiet ? { ...item, state: "info" } : item;
  });
}

/** Whether a source names the project of the target, or the target has none. */
function isMeantFor(source: Source, { target, objects }: SeenTarget): boolean {
  const namespace = objects.namespaces.get(target.namespace);
  const project = namespace === undefined ? undefined : projectOf(namespace);
  if (project === undefined) return true;
  return source.options.projectsAreUnreadable === true || namesProject(source, project);
}

/**
 * The sources of the name, the one that the Secret is a copy of or asks for, and invalid ones of
 * that name.
 */
function sourcesFor(
  { target, objects }: SeenTarget,
  claimed: ObjectRef | undefined,
): readonly Source[] {
  const { sharedSecrets } = objects;
  const asking = sharedSecrets.by(syncIndexes.secretName, target.name);
  const claiming = claimed === undefined ? undefined : sharedSecrets.get(keyOf(claimed));
  // The name that an invalid annotation gives is none that a user asks for.
  const invalid = [...sharedSecrets.keys()]
    .flatMap((key) => sharedSecrets.get(key) ?? [])
    .filter(
      ({ secret, options }) =>
        secret.metadata.name === target.name && options.problem !== undefined,
    );
  const found = [...asking, ...(claiming === undefined ? [] : [claiming]), ...invalid];
  const byKey = new Map(found.map((source) => [keyOf(source.secret.metadata), source]));
  return [...byKey.values()].toSorted((one, other) => byAge(one.secret, other.secret));
}

/**
 * Why a source has, or does not have, its data at a target. What the user may not read comes from
 * what the controller recorded.
 */
export function targetItemFor(source: Source, seen: SeenTarget): ReportItem {
  const { target, objects, missing } = seen;
  const item = targetItem(explain(source, target, objects));
  if (isHidden(missing, resources.namespaces, { name: target.namespace })) {
    const name = JSON.stringify(keyOf(source.secret.metadata));
    const unknown = plainItem(
      item.object,
      ["unknown", "NamespaceUnknown"],
      `Namespace "${target.namespace}" cannot be read, ` +
        `so it is not known whether it accepts ${name}.`,
    );
    return { ...(recordedItem(source, seen) ?? unknown), source: item.source };
  }
  // Without the Secret, only what both sides allow is known.
  const isDecided = item.state === "problem" && !isAtTarget(item.reason);
  if (isDecided || !isHidden(missing, resources.secrets, target)) return item;
  const unknown = plainItem(
    item.object,
    ["unknown", "SecretUnknown"],
    "Both sides allow the sync, and the status reports no failure, " +
      `but ${nameOf(item.object)} cannot be read.`,
  );
  return { ...(reportedItem(source, target) ?? unknown), source: item.source };
}

/** What the controller recorded in the copy of a source, or reports in the status of the source. */
function recordedItem(source: Source, seen: SeenTarget): ReportItem | undefined {
  const secret = existingAt(seen);
  const origin = secret && (placeholderRequestOf(secret)?.source ?? copiedSource(secret));
  const isItsCopy = secret !== undefined && isSame(source.secret.metadata, origin);
  return isItsCopy ? copyItem(secret) : reportedItem(source, seen.target);
}

/** What the status of a source reports about a target. */
export function reportedItem({ secret }: Source, target: Target): ReportItem | undefined {
  const failure = listedFailures(secret.status).find((one) => isSame(one, target));
  if (failure === undefined) return undefined;
  const value = `${failure.reason}: ${failure.message}`;
  const object = reportObject(resources.secrets.kind, target);
  const source = reportObject(resources.sharedSecrets.kind, secret.metadata);
  const reason = "Reported";
  const fix = "Follow the message.";
  const cause = { object: source, field: "status.sync.failures", value, reason, message: fix };
  const message = `the controller reports for ${nameOf(object)}: ${value}.`;
  return { object, source, state: "problem", reason, message, causes: [cause] };
}

/** A copy whose source was not found or cannot be read. */
function claimedItem(
  secret: Metadata & { readonly namespace: string },
  claimed: ObjectRef,
  { target, objects, missing }: SeenTarget,
): ReportItem {
  return isHidden(missing, resources.sharedSecrets, claimed)
    ? { ...copyItem(secret), source: reportObject(resources.sharedSecrets.kind, claimed) }
    : targetItem(explainGone(claimed, target, objects));
}

/** The Secret at the target, with its namespace. */
function existingAt({
  target,
  objects,
}: SeenTarget): (Metadata & { readonly namespace: string }) | undefined {
  const found = secretAt(keyOf(target), objects);
  return found === undefined ? undefined : { ...found.metadata, namespace: target.namespace };
}

function isSame(one: ObjectRef, other: ObjectRef | undefined): boolean {
  return other !== undefined && keyOf(one) === keyOf(other);
}
