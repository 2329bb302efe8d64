import type { Event } from "../../api/event.ts";
import type { Manifest, Metadata, ObjectRef } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import type { Result } from "../../api/result.ts";
import { mergePatch } from "./merge-patch.ts";

/** What a write may do beside what it adds. */
interface Removing {
  /** Whether it takes back data or rights that may not stay, so that it never waits. */
  readonly isRemoval?: boolean;
}

/** An object that is written as a whole. */
interface Whole extends Removing {
  readonly resource: Resource;
  readonly object: Manifest;
  /** Digest of its secret data, which tells a new value from a repair. */
  readonly dataDigest?: string;
}

/** One write to the API server, with the uid and resourceVersion that it was decided on. */
export type Write =
  | ({ readonly do: "create" } & Whole)
  /**
   * Creates with dry-run, to check that the API server accepts the object before the existing one
   * is deleted.
   */
  | { readonly do: "dry-run-create"; readonly resource: Resource; readonly object: Manifest }
  /** `object.metadata` carries the uid and resourceVersion that were observed. */
  | ({ readonly do: "replace" } & Whole)
  | ({
      readonly do: "patch";
      readonly resource: Resource;
      readonly ref: ObjectRef & { readonly uid?: string };
      readonly subresource?: "status";
      /** The whole of what the body, a difference, leads to. */
      readonly wanted?: Readonly<Record<string, unknown>>;
      readonly body: {
        readonly metadata: { readonly resourceVersion: string; readonly [field: string]: unknown };
        readonly [field: string]: unknown;
      };
    } & Removing)
  | {
      readonly do: "delete";
      readonly resource: Resource;
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly resourceVersion: string;
    }
  | { readonly do: "record-event"; readonly event: Event };

/**
 * The writes of a reconcile: steps run in order, the writes of a step in any order; a failed step
 * ends the reconcile.
 */
export interface Plan {
  readonly steps: readonly (readonly Write[])[];
  readonly result: Result;
  /** Logged once the writes have succeeded. */
  readonly log?: {
    readonly level: "info" | "warn";
    readonly fields: Readonly<Record<string, unknown>>;
    readonly message: string;
  };
}

/** Nothing to do until something changes. */
export const nothingToDo: Plan = { steps: [], result: { kind: "done" } };

/** Deletes exactly the observed object, by uid and resourceVersion. */
export function deleteWrite(
  resource: Resource,
  { metadata }: { readonly metadata: Metadata },
): Write {
  return {
    do: "delete",
    resource,
    ref: metadata,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
  };
}

/**
 * Requeues at the earliest of the instants after `now`, in milliseconds since the epoch; done if
 * there is none.
 */
export function requeueAt(now: number, instants: readonly (number | undefined)[]): Result {
  const ahead = instants
    .filter((instant) => instant !== undefined)
    .filter((instant) => instant > now);
  return ahead.length === 0 ? { kind: "done" } : { kind: "requeue-at", at: Math.min(...ahead) };
}

/** Returns the status write of a reconcile; empty if the status is up to date. */
export function statusWrites(
  resource: Resource,
  {
    metadata,
    status,
  }: { readonly metadata: Metadata; readonly status: Readonly<Record<string, unknown>> },
  wanted: Readonly<Record<string, unknown>>,
): readonly Write[] {
  const change = mergePatch(status, wanted);
  if (change === undefined) return [];
  const body = { metadata: { resourceVersion: metadata.resourceVersion }, status: change };
  return [
    {
      do: "patch",
      resource,
      ref: metadata,
      subresource: "status",
      body,
      wanted: { status: wanted },
    },
  ];
}
