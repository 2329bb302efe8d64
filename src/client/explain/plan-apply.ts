import { keyOf } from "../../api/object.ts";
import { isRecord } from "../../api/parse.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { objectPath, withQuery } from "../../kube/client/paths.ts";
import { bodyForUser } from "../../kube/client/response-body.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodeOf, exitCodes, Failure, sentenceOf } from "../failure.ts";
import { conflictAdvice } from "../secrets/field-owners.ts";
import type { PlannedManifest } from "./plan-manifests.ts";

/** How objects are applied. */
interface ApplyOptions {
  readonly fieldManager: string;
  readonly forceConflicts: boolean;
}

/** An object as the API server would store it. */
export interface AppliedManifest extends PlannedManifest {
  readonly object: Readonly<Record<string, unknown>>;
  readonly isNew: boolean;
  /** False if its namespace does not exist yet, so that the API server cannot check it. */
  readonly isChecked: boolean;
}

/** Dependencies of {@link dryRunApply}. */
interface ApplyDeps {
  readonly cluster: Cluster;
  /** The current time, RFC 3339. */
  readonly now: string;
}

/**
 * Applies objects as a dry run, which stores nothing: server-side, as the user. Rejects with a
 * Failure that names the object, and the missing right.
 */
export async function dryRunApply(
  manifests: readonly PlannedManifest[],
  options: ApplyOptions,
  deps: ApplyDeps,
): Promise<readonly AppliedManifest[]> {
  const added = new Set(
    manifests.flatMap(({ kind, ref }) => (kind === "Namespace" ? ref.name : [])),
  );
  const applied: AppliedManifest[] = [];
  for (const manifest of manifests) {
    try {
      applied.push(await applyOne(manifest, options, deps));
    } catch (error) {
      const isEarly =
        isKubeError(error, "NotFound") &&
        error.objectName === manifest.ref.namespace &&
        added.has(manifest.ref.namespace ?? "");
      if (!isEarly) throw failureAt(manifest, error);
      const object = withIdentity(manifest.manifest, deps.now);
      applied.push({ ...manifest, object, isNew: true, isChecked: false });
    }
  }
  return applied;
}

async function applyOne(
  planned: PlannedManifest,
  { fieldManager, forceConflicts }: ApplyOptions,
  { cluster, now }: ApplyDeps,
): Promise<AppliedManifest> {
  const call = {
    method: "PATCH",
    path: withQuery(objectPath(planned.resource, planned.ref), {
      dryRun: "All",
      fieldManager,
      fieldValidation: "Strict",
      force: forceConflicts ? "true" : undefined,
    }),
    body: planned.manifest,
    contentType: "application/apply-patch+yaml",
  } as const;
  const response = await cluster.transport.request(call);
  const object = withIdentity(bodyForUser(call, response), now);
  return { ...planned, object, isNew: response.status === 201, isChecked: true };
}

/** A dry run of a new object has no resourceVersion, and one that is not sent has no identity. */
function withIdentity(object: unknown, now: string): Readonly<Record<string, unknown>> {
  const given = isRecord(object) ? object : {};
  const metadata = isRecord(given["metadata"]) ? given["metadata"] : {};
  const identity = { uid: `new-${String(metadata["namespace"])}-${String(metadata["name"])}` };
  const stored = { ...identity, resourceVersion: "0", creationTimestamp: now };
  return { ...given, metadata: { ...stored, ...metadata } };
}

function failureAt({ kind, ref, file }: PlannedManifest, error: unknown): unknown {
  const advice = isKubeError(error, "Conflict") ? conflictAdvice(error.explanation) : undefined;
  const reasons = [sentenceOf(error), ...(advice === undefined ? [] : [advice])].join(": ");
  const sentence = `${kind} "${keyOf(ref)}" of ${file} cannot be applied: ${reasons}`;
  switch (exitCodeOf(error)) {
    case exitCodes.forbidden.code:
      return new Failure(sentence, "forbidden");
    case exitCodes.notFound.code:
      return new Failure(sentence, "notFound");
    default:
      return isKubeError(error, ...refusals) ? new Failure(sentence) : error;
  }
}

const refusals = ["BadRequest", "Forbidden", "Conflict", "Invalid", "AlreadyExists"] as const;
