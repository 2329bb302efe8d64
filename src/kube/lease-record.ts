import type { Manifest, Metadata, ObjectRef } from "../api/object.ts";
import { numberAt, parseMetadata, recordAt, stringAt } from "../api/parse.ts";
import { apiVersionOf, resources } from "../api/resources.ts";

/** LeaseSpec (Kubernetes API reference, Lease); times are MicroTime. */
export interface LeaseSpec {
  /** Empty when there is no holder. */
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
 * A Lease at the door; what is missing in its spec is empty or 0. Throws a TypeError when the
 * metadata is no ObjectMeta.
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

/** A Lease to create. */
export function newLease(ref: ObjectRef, spec: LeaseSpec): Manifest {
  return {
    apiVersion: apiVersionOf(resources.leases),
    kind: resources.leases.kind,
    metadata: { ...ref },
    spec,
  };
}

/**
 * A Lease to replace the `seen` one with; others' labels and annotations stay, its resourceVersion
 * is the precondition.
 */
export function nextLease(observed: LeaseRecord, spec: LeaseSpec): Manifest {
  const { uid, resourceVersion, labels, annotations, finalizers, ...ref } = observed.metadata;
  const kept = { labels, annotations, finalizers, uid, resourceVersion };
  const manifest = newLease(
    { name: ref.name, ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }) },
    spec,
  );
  return { ...manifest, metadata: { ...manifest.metadata, ...kept } };
}
