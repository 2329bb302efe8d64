import type { Event } from "../api/event.ts";
import { type Key, keyOf, type Manifest, type ObjectRef } from "../api/object.ts";
import { isRecord, recordAt, stringAt } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import type { Plan, Write } from "../domain/plan/plan.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError, type KubeErrorCode } from "../kube/errors.ts";

/** Dependencies of {@link applyPlan}. */
export interface ApplyPlanDeps {
  readonly client: Client;
  /** Puts the response to a write into the store, so that the next reconcile observes it. */
  readonly recordWrite: (resource: Resource, answer: unknown) => void;
  /** Removes an object from the store after an own delete, before its watch event arrives. */
  readonly recordDelete: (resource: Resource, ref: ObjectRef, uid: string) => void;
  readonly recordEvent: (notice: Event) => Promise<void>;
  /** Reads an object from the API server into the stores. */
  readonly refresh: (resource: Resource, ref: ObjectRef) => Promise<void>;
}

/**
 * Executes the writes of a plan, step by step; throws the first failure of a step once all writes
 * of the step have ended.
 */
export async function applyPlan(plan: Pick<Plan, "steps">, deps: ApplyPlanDeps): Promise<void> {
  const own = new Map<Key, string>();
  for (const step of plan.steps) {
    const results = await Promise.allSettled(
      step.map((write) => applyAndRefresh(write, { ...deps, own })),
    );
    const failure = results.find((result) => result.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  }
}

interface ApplyContext extends ApplyPlanDeps {
  /** resourceVersions from the responses to earlier steps of this plan; later steps use them. */
  readonly own: Map<Key, string>;
}

/**
 * Errors after which the stored object may be stale, so that it is read again. The watch would
 * correct it later, but not if the API server has lost writes (a crashed etcd), and too late for a
 * thousand targets.
 */
const doubtful: readonly KubeErrorCode[] = ["Conflict", "AlreadyExists", "NotFound", "Network"];

async function applyAndRefresh(write: Write, deps: ApplyContext): Promise<void> {
  try {
    await applyWrite(write, deps);
  } catch (error) {
    if (
      write.do !== "record-event" &&
      write.do !== "dry-run-create" &&
      isKubeError(error, ...doubtful)
    )
      await deps.refresh(write.resource, refOf(write));
    throw error;
  }
}

function refOf(write: Exclude<Write, { do: "record-event" }>): ObjectRef {
  return write.do === "patch" || write.do === "delete" ? write.ref : write.object.metadata;
}

async function applyWrite(write: Write, deps: ApplyContext): Promise<void> {
  switch (write.do) {
    case "dry-run-create":
      return dryRunCreate(write, deps);
    case "create":
      return recordResult(write, await deps.client.create(write.resource, write.object), deps);
    case "replace":
      return recordResult(
        write,
        await deps.client.replace(write.resource, rebased(write.resource, write.object, deps)),
        deps,
      );
    case "patch":
      return unlessGone(write, deps, async () =>
        recordResult(write, await patch(write, deps), deps),
      );
    case "delete":
      return unlessGone(write, deps, () => remove(write, deps));
    case "record-event":
      return deps.recordEvent(write.event);
  }
}

/**
 * Checks that the API server accepts an object. It validates an object before it checks the name,
 * so AlreadyExists means that the object is valid. An exceeded quota is no error: it has room once
 * the old object is deleted.
 */
async function dryRunCreate(
  { resource, object }: Extract<Write, { do: "dry-run-create" }>,
  { client }: ApplyContext,
): Promise<void> {
  try {
    await client.create(resource, object, { dryRun: true });
  } catch (error) {
    const isFull = isKubeError(error, "Forbidden") && error.explanation.includes("exceeded quota");
    if (!isKubeError(error, "AlreadyExists") && !isFull) throw error;
  }
}

function patch(
  write: Extract<Write, { do: "patch" }>,
  { client, own }: ApplyContext,
): Promise<unknown> {
  const { resource, ref, subresource, body } = write;
  const resourceVersion = own.get(ownKey(resource, ref)) ?? body.metadata.resourceVersion;
  const rebasedBody = { ...body, metadata: { ...body.metadata, resourceVersion } };
  return client.patch(resource, ref, {
    body: rebasedBody,
    ...(subresource === undefined ? {} : { subresource }),
  });
}

async function remove(
  write: Extract<Write, { do: "delete" }>,
  { client, own, ...deps }: ApplyContext,
): Promise<void> {
  const { resource, ref, uid } = write;
  const resourceVersion = own.get(ownKey(resource, ref)) ?? write.resourceVersion;
  const answer = await client.delete(resource, ref, { uid, resourceVersion });
  if (!isRecord(answer)) return;
  if (answer["kind"] === "Status") deps.recordDelete(resource, ref, uid);
  // Finalizers keep the object.
  else deps.recordWrite(resource, answer);
}

/**
 * Runs a write that succeeds if the object is not found: it then needs no status, no finalizer and
 * no delete.
 */
async function unlessGone(
  { resource, ref }: { readonly resource: Resource; readonly ref: ObjectRef },
  { refresh }: ApplyContext,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    await refresh(resource, ref);
  }
}

function rebased(resource: Resource, object: Manifest, { own }: ApplyContext): Manifest {
  const resourceVersion = own.get(ownKey(resource, object.metadata));
  return resourceVersion === undefined
    ? object
    : { ...object, metadata: { ...object.metadata, resourceVersion } };
}

function recordResult(
  write: Extract<Write, { do: "create" | "replace" | "patch" }>,
  answer: unknown,
  deps: ApplyContext,
): void {
  const ref = refOf(write);
  const resourceVersion = stringAt(recordAt(answer, "metadata"), "resourceVersion");
  if (resourceVersion !== undefined) deps.own.set(ownKey(write.resource, ref), resourceVersion);
  deps.recordWrite(write.resource, answer);
}

function ownKey(resource: Resource, ref: ObjectRef): Key {
  return `${resource.plural}/${keyOf(ref.namespace === undefined ? { name: ref.name } : { namespace: ref.namespace, name: ref.name })}`;
}
