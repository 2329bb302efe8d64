import { isRecord } from "../../api/parse.ts";

/**
 * A field of a message of authorization.k8s.io/v1 (k8s.io/api, generated.proto); its number in
 * protobuf is its place in the list, from 1. What is ignored decides nothing.
 */
type Field = { readonly name: string } & (
  | { readonly kind: "text" | "texts" | "bytes" | "ignored" }
  | { readonly kind: "message" | "messages"; readonly fields: readonly Field[] }
);

/** A review that cannot be read in one way only; the message quotes nothing of it. */
export class UnreadReview extends Error {}

const text = (name: string): Field => ({ name, kind: "text" });
const message = (name: string, fields: readonly Field[]): Field => ({
  name,
  kind: "message",
  fields,
});

const requirement: readonly Field[] = [
  text("key"),
  text("operator"),
  { name: "values", kind: "texts" },
];
const selector: readonly Field[] = [
  text("rawSelector"),
  { name: "requirements", kind: "messages", fields: requirement },
];
const review: readonly Field[] = [
  { name: "metadata", kind: "ignored" },
  message("spec", [
    message("resourceAttributes", [
      ...["namespace", "verb", "group", "version", "resource", "subresource", "name"].map(text),
      message("fieldSelector", selector),
      message("labelSelector", selector),
    ]),
    message("nonResourceAttributes", [text("path"), text("verb")]),
  ]),
  { name: "status", kind: "ignored" },
];
/** What JSON has beside the message, and protobuf in the envelope. */
const type: readonly Field[] = [text("apiVersion"), text("kind")];
/** The envelope (k8s.io/apimachinery, runtime.Unknown). */
const envelope: readonly Field[] = [
  message("typeMeta", type),
  { name: "raw", kind: "bytes" },
  text("contentEncoding"),
  text("contentType"),
];

/** The fields of a message that were read; absent ones are not set. */
type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of a SelfSubjectAccessReview that decide, out of parsed JSON or YAML; null is absent.
 * Throws an UnreadReview for a field that is not known or has another type.
 */
export function reviewInJson(raw: unknown): Fields {
  return fieldsIn(raw, [...type, ...review], "the review");
}

function fieldsIn(raw: unknown, fields: readonly Field[], where: string): Fields {
  if (!isRecord(raw)) throw new UnreadReview(`${where} must be an object`);
  const read: [string, unknown][] = [];
  for (const [name, value] of Object.entries(raw)) {
    const field = fields.find((known) => known.name === name);
    if (field === undefined) throw new UnreadReview(`${where} has a field that is not known`);
    if (value !== null && field.kind !== "ignored") read.push([name, valueIn(value, field)]);
  }
  return Object.fromEntries(read);
}

function valueIn(value: unknown, field: Field): unknown {
  switch (field.kind) {
    case "message":
      return fieldsIn(value, field.fields, field.name);
    case "messages":
      return listIn(value, field).map((each) => fieldsIn(each, field.fields, field.name));
    case "texts":
      return listIn(value, field).map((each) => textIn(each, field));
    case "text":
    case "bytes":
    case "ignored":
      return textIn(value, field);
  }
}

function listIn(value: unknown, { name }: Field): readonly unknown[] {
  if (!Array.isArray(value)) throw new UnreadReview(`${name} must be a list`);
  return value;
}

function textIn(value: unknown, { name }: Field): string {
  if (typeof value !== "string") throw new UnreadReview(`${name} must be a text`);
  return value;
}

/** What begins an object in protobuf (k8s.io/apimachinery, serializer/protobuf). */
const magic = [0x6b, 0x38, 0x73, 0x00];

/**
 * The same out of protobuf. Every field of these messages has its length in front and a number
 * below 16; throws an UnreadReview for any other, for one that is sent twice, and for a text that
 * is not UTF-8.
 */
export function reviewInProtobuf(bytes: Uint8Array): Fields {
  if (!magic.every((byte, at) => bytes[at] === byte))
    throw new UnreadReview("the body must begin as an object of Kubernetes in protobuf");
  const { typeMeta, raw, contentEncoding, contentType } = fieldsOf(
    bytes.subarray(magic.length),
    envelope,
  );
  if (!isEmpty(contentEncoding) || !isEmpty(contentType))
    throw new UnreadReview("the envelope must not name an encoding");
  if (!(raw instanceof Uint8Array)) throw new UnreadReview("the envelope has no object");
  return { ...(isRecord(typeMeta) ? typeMeta : {}), ...fieldsOf(raw, review) };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === "";
}

function fieldsOf(bytes: Uint8Array, fields: readonly Field[]): Fields {
  const read = new Map<string, unknown>();
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at] ?? 0;
    const field = tag < 0x80 && (tag & 7) === lengthDelimited ? fields[(tag >> 3) - 1] : undefined;
    if (field === undefined) throw new UnreadReview("a field of the review is not known");
    const [start, end] = partAt(bytes, at + 1);
    at = end;
    if (field.kind !== "ignored") add(read, field, bytes.subarray(start, end));
  }
  return Object.fromEntries(read);
}

/** The wire type of texts, bytes and messages (Protocol Buffers, "Encoding"). */
const lengthDelimited = 2;
/** The longest length, in bytes: three have 21 bits. */
const longestLength = 3;

/** Where a part begins and ends whose length is at this place. */
function partAt(bytes: Uint8Array, at: number): readonly [start: number, end: number] {
  let length = 0;
  for (let index = 0; index < longestLength; index += 1) {
    const byte = bytes[at + index] ?? 0xff;
    length += (byte & 0x7f) * 128 ** index;
    if (byte >= 0x80) continue;
    const start = at + index + 1;
    if (start + length > bytes.length) break;
    return [start, start + length];
  }
  throw new UnreadReview("a length in the review is longer than the review");
}

function add(read: Map<string, unknown>, field: Field, part: Uint8Array): void {
  const { name } = field;
  const before = read.get(name);
  if (field.kind === "texts" || field.kind === "messages") {
    const list: unknown[] = Array.isArray(before) ? before : [];
    list.push(partOf(part, field));
    read.set(name, list);
  } else if (before === undefined) read.set(name, partOf(part, field));
  else throw new UnreadReview(`${name} must be sent once`);
}

function partOf(part: Uint8Array, field: Field): unknown {
  switch (field.kind) {
    case "message":
    case "messages":
      return fieldsOf(part, field.fields);
    case "bytes":
    case "ignored":
      return part;
    case "text":
    case "texts":
      return textOf(part);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(part: Uint8Array): string {
  try {
    return utf8.decode(part);
  } catch {
    throw new UnreadReview("a text of the review is not UTF-8");
  }
}
