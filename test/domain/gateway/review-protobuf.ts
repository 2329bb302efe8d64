/** A message as a test writes it: fields by their numbers, texts, messages, bytes or lists of them. */
export interface Written {
  readonly [number: number]: Part | readonly Part[];
}
type Part = string | Uint8Array | Written;

/** A message in protobuf, all of whose fields have their length in front. */
export function written(message: Written): Uint8Array {
  return Buffer.concat(
    Object.entries(message).flatMap(([number, value]) =>
      (Array.isArray(value) ? value : [value]).flatMap((part: Part) => {
        const bytes = bytesOf(part);
        return [Buffer.from([(Number(number) << 3) | 2, ...varint(bytes.length)]), bytes];
      }),
    ),
  );
}

function bytesOf(part: Part): Uint8Array {
  if (typeof part === "string") return Buffer.from(part);
  return part instanceof Uint8Array ? part : written(part);
}

/** A number of seven bits a byte, the lowest first. */
export function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

/** What begins an object of Kubernetes in protobuf. */
export const magic = Buffer.from("k8s\0");

/** An object as client-go sends it, in its envelope; `envelope` replaces its fields. */
export function enveloped(object: Written | Uint8Array, envelope: Written = {}): Buffer {
  const typeMeta = { 1: "authorization.k8s.io/v1", 2: "SelfSubjectAccessReview" };
  const fields = { 1: typeMeta, 2: bytesOf(object), 3: "", 4: "", ...envelope };
  return Buffer.concat([magic, written(fields)]);
}

interface Requirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

interface Selector {
  readonly rawSelector?: string;
  readonly requirements?: readonly Requirement[];
}

/** The attributes of a review about a resource. */
export interface Attributes {
  readonly namespace?: string;
  readonly verb?: string;
  readonly group?: string;
  readonly version?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly fieldSelector?: Selector;
  readonly labelSelector?: Selector;
}

const numbered = (values: readonly (Part | readonly Part[] | undefined)[]): Written =>
  Object.fromEntries(
    values.flatMap((value, index) => (value === undefined ? [] : [[index + 1, value]])),
  );

const selector = ({ rawSelector, requirements = [] }: Selector): Written =>
  numbered([
    rawSelector,
    requirements.map(({ key, operator, values }) => numbered([key, operator, values])),
  ]);

/** The spec of a review in protobuf. */
export function specOf(attributes: Attributes): Written {
  const { namespace, verb, group, version, resource, subresource, name } = attributes;
  const { fieldSelector, labelSelector } = attributes;
  return {
    1: numbered([
      ...[namespace, verb, group, version, resource, subresource, name],
      fieldSelector && selector(fieldSelector),
      labelSelector && selector(labelSelector),
    ]),
  };
}
