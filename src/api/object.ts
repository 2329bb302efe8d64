/** Identifies an object within its kind; `namespace` is absent for cluster-scoped kinds. */
export interface ObjectRef {
  readonly namespace?: string;
  readonly name: string;
}

/**
 * The part of ObjectMeta that Latchkey reads (Kubernetes API reference, ObjectMeta). Times are RFC
 * 3339 strings.
 */
export interface Metadata extends ObjectRef, Created, Marks {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deletionTimestamp?: string;
  readonly finalizers: readonly string[];
}

/** When the API server created an object, in RFC 3339. */
export interface Created {
  readonly creationTimestamp: string;
}

/** The labels of an object. */
export interface Labelled {
  readonly labels: Readonly<Record<string, string>>;
}

/** The annotations of an object. */
export interface Annotated {
  readonly annotations: Readonly<Record<string, string>>;
}

/** The labels and annotations of an object. */
export interface Marks extends Labelled, Annotated {}

/** An object as it is sent to the API server. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ManifestMetadata;
  readonly [field: string]: unknown;
}

/** Metadata as it is sent; `uid` and `resourceVersion` are preconditions on a replace. */
export interface ManifestMetadata extends ObjectRef {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly [field: string]: unknown;
}

/** Kubernetes API reference, OwnerReference. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of queues and stores. */
export type Key = string;

/** The key of an object. */
export function keyOf(ref: ObjectRef): Key {
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
}

/** The object that a key names; the inverse of {@link keyOf}. */
export function refOf(key: Key): ObjectRef {
  const slash = key.indexOf("/");
  return slash === -1
    ? { name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Compares objects by age, older first: by creationTimestamp, then by uid. */
export function byAge(
  one: { readonly metadata: Created & { readonly uid: string } },
  other: { readonly metadata: Created & { readonly uid: string } },
): number {
  return (
    compare(one.metadata.creationTimestamp, other.metadata.creationTimestamp) ||
    compare(one.metadata.uid, other.metadata.uid)
  );
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
