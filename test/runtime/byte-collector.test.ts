import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteCollector } from "../../src/runtime/byte-collector.ts";

test("has all parts that fit, and nothing of one that does not", () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });
  fc.assert(
    fc.property(parts, fc.nat({ max: 300 }), (all, mostBytes) => {
      const collector = new ByteCollector(mostBytes);
      let expected = Buffer.alloc(0);
      for (const part of all) {
        const longer = Buffer.concat([expected, part]);
        const fits = longer.length <= mostBytes;
        expect(collector.add(part)).toBe(fits);
        if (fits) expected = longer;
        expect(collector.length).toBe(expected.length);
      }
      expect(collector.take()).toEqual(expected);
    }),
  );
});

test("is empty after its bytes were taken, which stay as they are", () => {
  const collector = new ByteCollector(3);
  collector.add(Buffer.from("abc"));
  const bytes = collector.take();
  expect([collector.length, collector.add(Buffer.from("de"))]).toEqual([0, true]);
  expect([bytes.toString(), collector.take().toString()]).toEqual(["abc", "de"]);
});

test("does not keep the buffer of a part, nor that of a part that it changed later", () => {
  const collector = new ByteCollector(100);
  const read = Buffer.alloc(64 * 1024, "a");
  collector.add(read.subarray(0, 2));
  read.fill("b");
  const bytes = collector.take();
  expect([bytes.toString(), bytes.buffer === read.buffer]).toEqual(["aa", false]);
});
