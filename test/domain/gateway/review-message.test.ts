import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  reviewInJson,
  reviewInProtobuf,
  UnreadReview,
} from "../../../src/domain/gateway/review-message.ts";
import { runsAtLength } from "../../support/property-runs.ts";
import { type Attributes, enveloped, magic, specOf, varint, written } from "./review-protobuf.ts";

const apiVersion = "authorization.k8s.io/v1";
const kind = "SelfSubjectAccessReview";
const attributes = { namespace: "web", verb: "get", resource: "pods" };
const spec = specOf(attributes);
const read = { apiVersion, kind, spec: { resourceAttributes: attributes } };

const encoded = (bytes: Uint8Array): Uint8Array => Buffer.concat([magic, bytes]);
const field = (tag: number, length: readonly number[], content: string) =>
  Buffer.from([tag, ...length, ...Buffer.from(content)]);

describe("a review in protobuf", () => {
  it.each<[string, Uint8Array, unknown]>([
    ["as client-go sends it", enveloped({ 1: "", 2: spec, 3: "" }), read],
    ["without a kind", enveloped({ 2: spec }, { 1: {} }), { spec: read.spec }],
    [
      "about a path",
      enveloped({ 2: { 2: { 1: "/a", 2: "get" } } }),
      {
        ...read,
        spec: { nonResourceAttributes: { path: "/a", verb: "get" } },
      },
    ],
    [
      "whose metadata and status are anything",
      enveloped({ 1: Buffer.from([0xff]), 2: spec, 3: "x" }),
      read,
    ],
    [
      "with a length that has a byte more than it needs",
      enveloped(
        Buffer.concat([Buffer.from([0x12, 0x80 | written(spec).length, 0]), written(spec)]),
      ),
      read,
    ],
    [
      "with a byte order mark in a text",
      enveloped({ 2: { 1: { 2: "\uFEFFget" } } }),
      {
        ...read,
        spec: { resourceAttributes: { verb: "\uFEFFget" } },
      },
    ],
  ])("%s is read", (_what, bytes, expected) => {
    expect(reviewInProtobuf(bytes)).toEqual(expected);
  });

  it.each<[string, Uint8Array]>([
    ["is empty", Buffer.alloc(0)],
    ["is JSON", Buffer.from('{"kind":"SelfSubjectAccessReview"}')],
    ["has another beginning", Buffer.from("k8s\u0001")],
    ["has nothing behind its beginning", magic],
    ["has no object", enveloped({}, { 2: [] })],
    ["has two objects", enveloped({}, { 2: [written({ 2: spec }), written({ 2: spec })] })],
    ["names an encoding", enveloped({ 2: spec }, { 3: "gzip" })],
    ["names a type of content", enveloped({ 2: spec }, { 4: "application/json" })],
    ["has two specs", enveloped({ 2: [spec, spec] })],
    ["has a verb twice", enveloped({ 2: { 1: { 2: ["get", "list"] } } })],
    ["has an empty verb and another", enveloped({ 2: { 1: { 2: ["", "list"] } } })],
    ["has attributes twice", enveloped({ 2: { 1: [{ 2: "get" }, { 1: "web" }] } })],
    ["has a selector twice", enveloped({ 2: { 1: { 8: [{ 1: "a=b" }, { 1: "a=b" }] } } })],
    ["has a field that no message has", enveloped({ 2: { 1: { 10: "x" } } })],
    ["has the field 0", enveloped(field(0x02, [1], "x"))],
    ["has a number", enveloped(Buffer.from([0x10, 1]))],
    ["has a number of eight bytes", enveloped(field(0x11, [], "12345678"))],
    ["has a group", enveloped(Buffer.from([0x13, 0x14]))],
    ["has a field with a long number", enveloped(Buffer.from([0x92, 0x00, 0x00]))],
    ["ends behind a tag", enveloped(Buffer.from([0x12]))],
    ["ends in a length", enveloped(Buffer.from([0x12, 0x80]))],
    ["has a length beyond its end", enveloped(field(0x12, [2], "x"))],
    [
      "has a length beyond its part",
      enveloped({ 2: { 1: field(0x12, [9], "get") }, 3: "xxxxxxxxx" }),
    ],
    ["has a length of five bytes", enveloped(field(0x12, [0x80, 0x80, 0x80, 0x80, 0], ""))],
    ["has a length of more than 64 bits", enveloped(field(0x12, Array<number>(11).fill(0xff), ""))],
    ["has a text that is not UTF-8", enveloped({ 2: { 1: { 2: Buffer.from([0xff]) } } })],
    ["has a surrogate in a text", enveloped({ 2: { 1: { 2: Buffer.from([0xed, 0xa0, 0x80]) } } })],
  ])("that %s is refused", (_what, bytes) => {
    expect(() => reviewInProtobuf(bytes)).toThrow(UnreadReview);
  });

  const text = fc.string({ unit: "grapheme", maxLength: 200 });
  const selector = fc.record(
    {
      rawSelector: text,
      requirements: fc.array(
        fc.record(
          { key: text, operator: text, values: fc.array(text, { minLength: 1, maxLength: 3 }) },
          { requiredKeys: [] },
        ),
        { minLength: 1, maxLength: 3 },
      ),
    },
    { requiredKeys: [] },
  );
  const anyAttributes: fc.Arbitrary<Attributes> = fc.record(
    {
      ...{ namespace: text, verb: text, group: text, version: text, resource: text },
      ...{ subresource: text, name: text, fieldSelector: selector, labelSelector: selector },
    },
    { requiredKeys: [] },
  );

  test("is read as the same review in JSON", () => {
    fc.assert(
      fc.property(anyAttributes, (asked) => {
        const json = JSON.stringify({ apiVersion, kind, spec: { resourceAttributes: asked } });
        expect(reviewInProtobuf(enveloped({ 2: specOf(asked) }))).toEqual(
          reviewInJson(JSON.parse(json)),
        );
      }),
      runsAtLength(100, 10_000),
    );
  });

  const refusedOrRead = (bytes: Uint8Array): void => {
    try {
      reviewInProtobuf(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(UnreadReview);
    }
  };

  test("of any bytes is read or refused, and nothing else", () => {
    const change = fc.record({ at: fc.nat(200), byte: fc.nat(255), cut: fc.nat(220) });
    fc.assert(
      fc.property(
        anyAttributes,
        fc.array(change, { maxLength: 4 }),
        fc.uint8Array(),
        (asked, changes, other) => {
          const bytes = enveloped({ 2: specOf(asked) });
          for (const { at, byte } of changes) if (at < bytes.length) bytes[at] = byte;
          refusedOrRead(bytes.subarray(0, changes[0]?.cut ?? bytes.length));
          refusedOrRead(bytes);
          refusedOrRead(encoded(other));
          refusedOrRead(enveloped(other));
        },
      ),
      runsAtLength(200, 20_000),
    );
  });

  test("numbers of lengths are read as protobuf writes them", () => {
    for (const length of [0, 1, 127, 128, 300, 16_383, 16_384, 60_000]) {
      const verb = "v".repeat(length);
      expect(varint(length).length).toBeLessThan(4);
      expect(reviewInProtobuf(enveloped({ 2: { 1: { 2: verb } } }))).toMatchObject({
        spec: { resourceAttributes: { verb } },
      });
    }
  });
});

describe("a review in JSON", () => {
  it.each<[string, unknown, unknown]>([
    [
      "with metadata and status",
      { ...read, metadata: { name: 1 }, status: { allowed: true } },
      read,
    ],
    [
      "with null for what is not set",
      { ...read, metadata: null, spec: { ...read.spec, nonResourceAttributes: null } },
      read,
    ],
  ])("%s is read without them", (_what, raw, expected) => {
    expect(reviewInJson(raw)).toEqual(expected);
  });

  const asking = (changes: object) => ({
    spec: { resourceAttributes: { ...attributes, ...changes } },
  });
  it.each<[string, unknown]>([
    ["is no object", []],
    ["is not there", undefined],
    ["has a field that no review has", { ...read, namespaces: [] }],
    ["has a field in another case", asking({ Verb: "get" })],
    ["has a field of a prototype", JSON.parse('{"spec":{"__proto__":{}}}')],
    ["has a list for a text", asking({ verb: ["get"] })],
    ["has a number for a text", asking({ verb: 1 })],
    ["has a text for an object", { spec: "x" }],
    ["has a text for a list", asking({ labelSelector: { requirements: "x" } })],
    ["has a number in a list", asking({ labelSelector: { requirements: [{ values: [1] }] } })],
    ["has null in a list", asking({ labelSelector: { requirements: [null] } })],
  ])("that %s is refused", (_what, raw) => {
    expect(() => reviewInJson(raw)).toThrow(UnreadReview);
  });
});
