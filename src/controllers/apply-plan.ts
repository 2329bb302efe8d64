import type { Event } from "../api/event.ts";
import { type Key, keyOf, type Manifest, type ObjectRef } from "../api/object.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import type { Plan, Write } from "../domain/plan/plan.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError, type KubeErrorCode } from "../kube/errors.ts";

/** What carrying out a plan needs. */
export interface ApplyPlanDeps {
  readonly client: Client;
  /** Puts the API server's answer to a write into the store, so that the next reconcile sees it. */
  readonly recordWrite: (resource: Resource, answer: unknown) => void;
  readonly recordEvent: (notice: Event) => Promise<void>;
  /** Has the stores take in what the API server itself says of an object. */
  readonly refresh: (resource: Resource, ref: ObjectRef) => Promise<void>;
}

/**
 * Writes what a plan says, step after step; throws the first failure of a step once the step has
 * ended.
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
  /**
   * resourceVersions that earlier steps of this very plan have made: a later step is decided on
   * them.
   */
  readonly own: Map<Key, string>;
}

/**
 * Says that what is held of the object may be wrong: the watch would tell sooner or later, but not
 * where the API server has lost writes (a crashed etcd), and later is too late for a thousand
 * targets.
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
 * The API server validates before it notices that the name is taken: AlreadyExists is the answer to
 * what it would take. A quota that is full now has room once the old object is gone.
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
  { client, own }: ApplyContext,
): Promise<void> {
  const { resource, ref, uid } = write;
  const resourceVersion = own.get(ownKey(resource, ref)) ?? write.resourceVersion;
  await client.delete(resource, ref, { uid, resourceVersion });
}

/** An object that is gone needs no status, no finalizer and no delete. */
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
