import { describe, expect, test } from "vitest";
import {
  boundPartOf,
  boundSubjectOf,
  isBoundDigest,
  keyIndexOf,
} from "../../../src/domain/access-key/key-digest.ts";

const [index, rest, bound] = ["0123456789abcdef", "0".repeat(48), "f".repeat(64)];

test("the digest of a plain key and a bound digest begin with the index", () => {
  expect([keyIndexOf(`${index}${rest}`), keyIndexOf(`${index}.${bound}`)]).toEqual([index, index]);
  expect([isBoundDigest(`${index}${rest}`), isBoundDigest(`${index}.${bound}`)]).toEqual([
    false,
    true,
  ]);
  expect(boundPartOf(`${index}.${bound}`)).toBe(bound);
});

describe("boundSubjectOf", () => {
  test.each([
    [{ user: "alice" }, "user:alice"],
    [{ team: "web" }, "team:web"],
    [{ subject: "robot" }, "subject:robot"],
    [{}, undefined],
  ])("%o", (spec, subject) => {
    expect(boundSubjectOf(spec)).toBe(subject);
  });
});
