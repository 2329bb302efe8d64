import { expect, test } from "vitest";
import { readWhole } from "../../../src/cli/kubectl/system-terminal.ts";

async function* chunks(text: string, count: number) {
  for (let left = count; left > 0; left -= 1) yield text;
}

test("an input is read until its end", async () => {
  expect((await readWhole(chunks("ab", 3))).toString()).toBe("ababab");
});

test("an input without an end is refused", async () => {
  await expect(readWhole(chunks("x".repeat(65_536), Infinity))).rejects.toThrow(
    "the standard input is larger than 16777216 bytes",
  );
});
