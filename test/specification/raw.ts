/** Texts by key. */
export type Texts = Readonly<Record<string, string>>;

/** The metadata of an object, as the API server stores it. */
export interface RawMetadata {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number | undefined;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string | undefined;
  readonly labels?: Texts | undefined;
  readonly annotations?: Texts | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[] | undefined;
}

/** A subject of a binding. */
export interface RawSubject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** A rule of a Role. */
export interface RawRule {
  readonly resources?: readonly string[] | undefined;
  readonly resourceNames?: readonly string[] | undefined;
  readonly verbs?: readonly string[] | undefined;
}

/** An access rule of a SharedSecret. */
export interface RawAccess {
  readonly verbs?: readonly string[] | undefined;
  readonly subresources?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly teams?: readonly string[] | undefined;
}

/** What a SharedSecret has of the Secret that it follows, and why if that is no data. */
export type Followed =
  | { readonly state: "data"; readonly type: string }
  | { readonly state: "withdrawn" }
  | { readonly state: "kept"; readonly reason: string };

/** The fields of the specs that the worlds use. */
export interface RawSpec {
  readonly data?: Texts | undefined;
  readonly access?: readonly RawAccess[] | undefined;
  readonly owner?:
    | { readonly user?: string | undefined; readonly team?: string | undefined }
    | undefined;
  readonly hard?: Texts | undefined;
  readonly ttl?: number | undefined;
  readonly disabled?: boolean | undefined;
  readonly [field: string]: unknown;
}

/** The fields of the statuses that the specification reads. */
export interface RawStatus {
  readonly observedGeneration?: number | undefined;
  readonly conditions?:
    | readonly { readonly type: string; readonly status: string; readonly reason: string }[]
    | undefined;
  readonly sync?: Readonly<Record<string, unknown>> | undefined;
  readonly access?: Readonly<Record<string, unknown>> | undefined;
  readonly token?: string | undefined;
  readonly expiresAt?: string | undefined;
  readonly [field: string]: unknown;
}

/** An object as the API server stores it, in JSON. */
export interface Raw {
  readonly metadata: RawMetadata;
  readonly spec?: RawSpec | undefined;
  readonly status?: RawStatus | undefined;
  readonly data?: Texts | undefined;
  readonly type?: string | undefined;
  readonly immutable?: boolean | undefined;
  readonly rules?: readonly RawRule[] | undefined;
  readonly roleRef?: { readonly kind: string; readonly name: string } | undefined;
  readonly subjects?: readonly RawSubject[] | undefined;
  /** Of no API server: what `followed.ts` adds to a SharedSecret. */
  readonly followed?: Followed | undefined;
  readonly [field: string]: unknown;
}

/** Whether a value is a JSON object with metadata: everything else of a Raw is optional. */
export function isRaw(value: unknown): value is Raw {
  return isJsonObject(value) && isJsonObject(value["metadata"]);
}

/** Whether a value is a JSON object. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `namespace/name`, or `name` without a namespace. */
export function nameOf({
  namespace,
  name,
}: {
  readonly namespace?: string | undefined;
  readonly name: string;
}): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The JSON merge patch of RFC 7386; null removes a field. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result: Record<string, unknown> = isJsonObject(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field];
    else result[field] = merged(result[field], value);
  }
  return result;
}

/** Deep equality of JSON; undefined is a missing field. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => isEqual(item, other[at]));
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  const fields = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...fields].every((field) => isEqual(one[field], other[field]));
}
