import { byAge, keyOf, type Metadata, type ObjectRef } from "../../../api/object.ts";
import { listAt, recordAt, stringAt } from "../../../api/parse.ts";
import { resources } from "../../../api/resources.ts";
import { copiedSource, type Source } from "../../../domain/sync/copy.ts";
import {
  arrives,
  explain,
  type Explanation,
  explainGone,
  type Target,
} from "../../../domain/sync/explain.ts";
import { explainCopy } from "../../../domain/sync/explain-copy.ts";
import { isAtTarget, reasonOf } from "../../../domain/sync/outcome-reasons.ts";
import { causesOf, factsOf } from "../../../domain/sync/outcome-texts.ts";
import { placeholderRequestOf } from "../../../domain/sync/placeholder.ts";
import { syncIndexes, type SyncObjects } from "../../../domain/sync/sync-objects.ts";
import { namesProject, projectOf } from "../../../domain/sync/sync-target.ts";
import { syncObjectsOf } from "../../../domain/sync/sync-snapshot.ts";
import { isHidden, type MissingRight } from "../missing-right.ts";
import type { LiveSync } from "./sync-objects.ts";
import { type Finding, named } from "./why-report.ts";

/** A finding without the objects that it is about. */
type Judgement = Omit<Finding, "object" | "source">;

/** A target, and the live objects that decide about it. */
interface SeenTarget {
  readonly target: Target;
  readonly objects: SyncObjects;
  readonly missing: readonly MissingRight[];
}

/**
 * Answers for a Secret: a finding for each SharedSecret that would arrive under its name; none if
 * there is no such SharedSecret.
 */
export function secretFindings(target: Target, live: LiveSync): readonly Finding[] {
  const seen = { target, objects: syncObjectsOf(live.snapshot), missing: live.missing };
  const secret = existingAt(seen);
  const request = secret === undefined ? undefined : placeholderRequestOf(secret);
  if (secret !== undefined && request !== undefined && request.source === undefined)
    return [{ object: named(resources.secrets.kind, target), ...copyReport(secret) }];
  const claimed = request?.source ?? (secret === undefined ? undefined : copiedSource(secret));
  const sources = sourcesFor(seen, claimed);
  const findings = sources.map((source) => targetFinding(source, seen));
  const isClaimFound = sources.some(({ secret: { metadata } }) => isSame(metadata, claimed));
  const isUnexplained = secret !== undefined && claimed !== undefined && !isClaimFound;
  const all = [...findings, ...(isUnexplained ? [copyFinding(secret, claimed, seen)] : [])];
  return quieted(all, (finding) => namesTarget(finding, seen));
}

/**
 * Sources that are not meant for a target are no problem if another one arrives there, or names its
 * project. An older source, a foreign Secret and a paused one stay problems.
 */
function quieted(
  findings: readonly Finding[],
  isMeant: (finding: Finding) => boolean,
): readonly Finding[] {
  const isThere = findings.some(({ reason }) => reason === "Arrives");
  const isAnyMeant = findings.some((finding) => finding.state === "problem" && isMeant(finding));
  const isQuiet = (finding: Finding): boolean =>
    isThere ? !isAtTarget(finding.reason) : isAnyMeant && !isMeant(finding);
  return findings.map((finding) =>
    finding.state === "problem" && isQuiet(finding) ? { ...finding, state: "info" } : finding,
  );
}

/** Whether the source of a finding names the project of the target, or the target has none. */
function namesTarget(finding: Finding, { target, objects }: SeenTarget): boolean {
  const source = finding.source && objects.sharedSecrets.get(keyOf(finding.source));
  const namespace = objects.namespaces.get(target.namespace);
  const project = namespace === undefined ? undefined : projectOf(namespace);
  if (source === undefined || project === undefined) return true;
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

/** Why a source has, or does not have, its data at a target. */
export function targetFinding(source: Source, seen: SeenTarget): Finding {
  const { target, objects, missing } = seen;
  const explanation = explain(source, target, objects);
  const about = {
    object: named(resources.secrets.kind, target),
    source: named(resources.sharedSecrets.kind, source.secret.metadata),
  };
  if (isHidden(missing, resources.namespaces, { name: target.namespace })) {
    const reported = copyOrStatus(source, seen);
    if (reported !== undefined) return { ...reported, ...about };
    const sentence = `Namespace "${target.namespace}" cannot be read, so it is not known whether it accepts ${JSON.stringify(keyOf(source.secret.metadata))}.`;
    return { ...about, state: "unknown", reason: "NamespaceUnknown", sentence, causes: [] };
  }
  const isBlind = isHidden(missing, resources.secrets, target);
  if (isBlind && isUndecided(explanation)) {
    const reported = statusFinding(source, target);
    if (reported !== undefined) return { ...reported, ...about };
    const sentence = `Both sides allow the sync, and the status reports no failure, but Secret "${keyOf(target)}" cannot be read.`;
    return { ...about, state: "unknown", reason: "SecretUnknown", sentence, causes: [] };
  }
  return {
    ...about,
    state: arrives(explanation) ? "ok" : "problem",
    reason: reasonOf(explanation),
    sentence: factsOf(explanation),
    causes: causesOf(explanation),
  };
}

/** Without the Secret, only what both sides allow is known. */
function isUndecided(explanation: Explanation): boolean {
  return arrives(explanation) || isAtTarget(reasonOf(explanation));
}

function copyOrStatus(source: Source, seen: SeenTarget): Judgement | undefined {
  const secret = existingAt(seen);
  const origin = secret && (placeholderRequestOf(secret)?.source ?? copiedSource(secret));
  const isItsCopy = secret !== undefined && isSame(source.secret.metadata, origin);
  return isItsCopy ? copyReport(secret) : statusFinding(source, seen.target);
}

/** What the status of a source reports about a target. */
function statusFinding({ secret }: Source, target: Target): Judgement | undefined {
  const failures = listAt(recordAt(secret.status, "sync"), "failures");
  const entry = failures.find(
    (one) =>
      stringAt(one, "namespace") === target.namespace && stringAt(one, "name") === target.name,
  );
  if (entry === undefined) return undefined;
  const found = `${stringAt(entry, "reason") ?? ""}: ${stringAt(entry, "message") ?? ""}`;
  const object = named(resources.sharedSecrets.kind, secret.metadata);
  return {
    state: "problem",
    reason: "Reported",
    sentence: `the controller reports for Secret "${keyOf(target)}": ${found}.`,
    causes: [
      {
        ...{ object, field: "status.sync.failures", found },
        ...{ reason: "Reported", fix: "Follow the message" },
      },
    ],
  };
}

/** A copy whose source was not found or cannot be read. */
function copyFinding(
  secret: Metadata & { readonly namespace: string },
  claimed: ObjectRef,
  { target, objects, missing }: SeenTarget,
): Finding {
  const about = {
    object: named(resources.secrets.kind, target),
    source: named(resources.sharedSecrets.kind, claimed),
  };
  if (isHidden(missing, resources.sharedSecrets, claimed))
    return { ...about, ...copyReport(secret) };
  const explanation = explainGone(claimed, target, objects);
  return {
    ...about,
    state: "problem",
    reason: reasonOf(explanation),
    sentence: factsOf(explanation),
    causes: causesOf(explanation),
  };
}

function copyReport(secret: Metadata & { readonly namespace: string }): Judgement {
  const { reason, sentence, causes } = explainCopy(secret);
  return { state: causes.length === 0 ? "unknown" : "problem", reason, sentence, causes };
}

/** The Secret at the target, with its namespace. */
function existingAt({
  target,
  objects,
}: SeenTarget): (Metadata & { readonly namespace: string }) | undefined {
  const key = keyOf(target);
  const { copies, placeholders, unmanagedSecrets } = objects;
  const found = copies.get(key) ?? placeholders.get(key) ?? unmanagedSecrets.get(key);
  return found === undefined ? undefined : { ...found.metadata, namespace: target.namespace };
}

function isSame(one: ObjectRef, other: ObjectRef | undefined): boolean {
  return other !== undefined && keyOf(one) === keyOf(other);
}
