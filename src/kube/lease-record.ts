import type { Manifest, Metadata, ObjectRef } from "../api/object.ts";
import { numberAt, parseMetadata, recordAt, stringAt } from "../api/parse.ts";
import { apiVersionOf, resources } from "../api/resources.ts";
import type { Wire } from "../api/wire.ts";
import { microTime } from "./micro-time.ts";

/** LeaseSpec (Kubernetes API reference, Lease); times are MicroTime. */
export interface LeaseSpec {
  /** Empty without a holder. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions: number;
}

/** A Lease as the API server sent it. */
export interface LeaseRecord {
  readonly metadata: Metadata;
  readonly spec: LeaseSpec;
}

/**
 * Parses a Lease; fields that are missing in its spec are empty or 0. Throws a TypeError that names
 * the missing metadata field.
 */
export function parseLease(raw: unknown): LeaseRecord {
  const spec = recordAt(raw, "spec");
  const acquireTime = stringAt(spec, "acquireTime");
  const renewTime = stringAt(spec, "renewTime");
  return {
    metadata: parseMetadata(raw),
    spec: {
      holderIdentity: stringAt(spec, "holderIdentity") ?? "",
      leaseDurationSeconds: numberAt(spec, "leaseDurationSeconds") ?? 0,
      ...(acquireTime === undefined ? {} : { acquireTime }),
      ...(renewTime === undefined ? {} : { renewTime }),
      leaseTransitions: numberAt(spec, "leaseTransitions") ?? 0,
    },
  };
}

/** The spec with which a candidate takes or renews a Lease; times are in milliseconds. */
export function heldSpec(
  observed: LeaseSpec | undefined,
  {
    identity,
    leaseDuration,
    now: epochMs,
  }: { readonly identity: string; readonly leaseDuration: number; readonly now: number },
): LeaseSpec {
  const now = microTime(epochMs);
  const isOurs = observed?.holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseDuration / 1000),
    acquireTime: (isOurs ? observed.acquireTime : undefined) ?? now,
    renewTime: now,
    leaseTransitions: observed === undefined ? 0 : observed.leaseTransitions + (isOurs ? 0 : 1),
  };
}

/** The manifest of a new Lease. */
export function newLease(
  ref: ObjectRef,
  spec: LeaseSpec,
  notes: Readonly<Record<string, string>> = {},
): Manifest {
  const annotations = Object.keys(notes).length === 0 ? {} : { annotations: notes };
  return {
    apiVersion: apiVersionOf(resources.leases),
    kind: resources.leases.kind,
    metadata: { ...ref, ...annotations },
    spec,
  } satisfies Wire<"Lease">;
}

/**
 * The manifest that replaces the `observed` Lease; keeps its labels and, by default, its
 * annotations, with its resourceVersion as the precondition.
 */
export function nextLease(
  observed: LeaseRecord,
  spec: LeaseSpec,
  notes: (observed: Metadata["annotations"]) => Metadata["annotations"] = (kept) => kept,
): Manifest {
  const { uid, resourceVersion, labels, annotations, finalizers, ...ref } = observed.metadata;
  const kept = { labels, annotations: notes(annotations), finalizers, uid, resourceVersion };
  const manifest = newLease(
    { name: ref.name, ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }) },
    spec,
  );
  return { ...manifest, metadata: { ...manifest.metadata, ...kept } };
}
