import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { listBounds, syncList } from "../../../src/domain/sync/sync-list.ts";

describe("a list", () => {
  test.for<[string | undefined, readonly string[]]>([
    [undefined, []],
    ["", []],
    [" , ", []],
    [" a ,,b*, ", ["a", "b*"]],
    ["A.b_c-d,*", ["A.b_c-d", "*"]],
  ])("%j has the entries %j", ([text, entries]) => {
    expect(syncList(text)).toEqual({ kind: "entries", entries });
  });

  test.for<[string, string, string]>([
    ["a line break between names", "a\nb", '"a\\nb" is invalid'],
    ["a line break after the last name", "a,b\n", '"b\\n" is invalid'],
    ["a non-breaking space", "a,\u00a0b", '"\u00a0b" is invalid'],
    ["a space inside a name", "a, b c", '"b c" is invalid'],
    ["another separator", "a;b", '"a;b" is invalid'],
    [
      "a long name, which is truncated in the message",
      `${"x".repeat(70)}!`,
      `"${"x".repeat(64)}..." is invalid`,
    ],
    ["65 entries", "a,".repeat(65), "has 65 entries; must have at most 64"],
    ["more than 4096 characters", ",".repeat(4097), "has 4097 characters; must have at most 4096"],
  ])("with %s is rejected", ([, text, sentence]) => {
    expect(syncList(text)).toEqual({ kind: "refused", why: expect.stringContaining(sentence) });
  });
});

test("every list has bounded entries without white space", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", ",", " ", "*", "\n", "\u2003"), maxLength: 300 }),
      (text) => {
        const list = syncList(text);
        if (list.kind === "refused") return;
        expect(list.entries.length).toBeLessThanOrEqual(listBounds.entries);
        expect(list.entries.filter((entry) => entry === "" || /\s/.test(entry))).toEqual([]);
        expect(list.entries.join("")).toBe(text.replaceAll(/[, ]/g, ""));
      },
    ),
  );
});
