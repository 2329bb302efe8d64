import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  clusterList,
  itemBounds,
  optionItems,
  listBounds,
  syncList,
} from "../../../src/domain/sync/option-items.ts";
import { letInProjects } from "../../../src/domain/outbox/connected-clusters.ts";
import { copyKeyFilter } from "../../../src/domain/sync/copy-metadata.ts";
import { listTable } from "../../support/list-table.ts";
import { runs } from "../../support/property-runs.ts";

/** The items as pairs; throws if the text is refused. */
function pairsOf(text: string | undefined) {
  const items = optionItems(text);
  if (items.kind === "refused") throw new Error(items.why);
  return items.items.map(({ key, value }) => [key, value]);
}

describe("items of an annotation", () => {
  test.for<[string, string | undefined, readonly (readonly [string, string | undefined])[]]>([
    ["no annotation", undefined, []],
    ["an empty text", " ,\n, ", []],
    ["one item", "a=b", [["a", "b"]]],
    [
      "separated by commas and line breaks",
      "a=1,b=2\nc=3\r\nd=4,\n",
      [
        ["a", "1"],
        ["b", "2"],
        ["c", "3"],
        ["d", "4"],
      ],
    ],
    [
      "with spaces around keys and values",
      "  a = 1 ,\n  b\t=\t2  3 ",
      [
        ["a", "1"],
        ["b", "2  3"],
      ],
    ],
    ["with an equals sign in the value", "a=b=c", [["a", "b=c"]]],
    [
      "without a value",
      "a, b=",
      [
        ["a", undefined],
        ["b", ""],
      ],
    ],
    [
      "with an escaped comma",
      String.raw`a=1\,2,b=3`,
      [
        ["a", "1,2"],
        ["b", "3"],
      ],
    ],
    [
      "with an escaped backslash before a comma",
      String.raw`a=1\\,b=2`,
      [
        ["a", "1\\"],
        ["b", "2"],
      ],
    ],
    ["with both", String.raw`a=\\\,\\`, [["a", "\\,\\"]]],
  ])("%s", ([, text, pairs]) => {
    expect(pairsOf(text)).toEqual(pairs);
  });

  test.for<[string, string, string]>([
    ["too many bytes", "é".repeat(513), "has 1026 bytes; must have at most 1024"],
    [
      "too many items",
      Array.from({ length: 17 }, (_, index) => `k${index}=`).join(),
      "has 17 items; must have at most 16",
    ],
    ["a key twice", "a=1, b=2, a=3", 'has the key "a" twice; remove one item'],
    [
      "another escape",
      String.raw`a=\n`,
      "a backslash must be followed by a comma or by a backslash",
    ],
    ["a backslash before a line break", "a=\\\nb=1", '"a=\\\\" is invalid'],
    ["a backslash at the end", "a=\\", '"a=\\\\" is invalid'],
  ])("are refused with %s", ([, text, why]) => {
    expect(optionItems(text)).toMatchObject({
      kind: "refused",
      why: expect.stringContaining(why),
    });
  });

  test("are those that were written, whatever their values", () => {
    const value = fc
      .string({ unit: fc.constantFrom("a", ",", "\\", "=", " ", "é", '"'), maxLength: 12 })
      .map((text) => text.trim());
    fc.assert(
      fc.property(fc.array(value, { maxLength: itemBounds.items }), (values) => {
        const escaped = values.map((text, at) => `k${at}=${text.replaceAll(/[\\,]/g, "\\$&")}`);
        expect(pairsOf(escaped.join(","))).toEqual(values.map((text, at) => [`k${at}`, text]));
        expect(pairsOf(escaped.join("\n"))).toEqual(values.map((text, at) => [`k${at}`, text]));
      }),
      runs(500),
    );
  });

  test("of any text are read or refused in a short sentence, without backtracking", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const items = optionItems(text);
        expect(items.kind === "items" || items.why.length < 300).toBe(true);
      }),
    );
    expect(optionItems("\\\\".repeat(512)).kind).toBe("items");
  });
});

describe.each(listTable)("the list $text", ({ text, entries, bad }) => {
  test.each([
    ["projects", syncList],
    ["clusters", clusterList],
    ["let in projects", letInProjects],
  ])("of %s has its entries, or names the one that does not fit", (_what, read) => {
    const list = read(text);
    const found = list.kind === "entries" ? list.entries.join("|") : list.why;
    const wanted = bad === undefined ? entries.join("|") : `${JSON.stringify(bad)} is invalid`;
    expect(found.slice(0, wanted.length)).toBe(wanted);
    expect(list.kind).toBe(bad === undefined ? "entries" : "refused");
  });

  test("of items has its entries", () => {
    const items = optionItems(text);
    expect(items.kind === "items" && items.items.map((item) => item.text)).toEqual(entries);
  });

  test("of keys that copies may have allows its entries", () => {
    expect(["a", "b", "c"].filter(copyKeyFilter(text))).toEqual(
      ["a", "b"].filter((key) => entries.includes(key)),
    );
  });
});

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

describe("a list of clusters", () => {
  test.for<[string | undefined, readonly string[]]>([
    [undefined, []],
    [" east, west ,", ["east", "west"]],
    ["*", ["*"]],
    ["east, *", ["east", "*"]],
    ["c,".repeat(16), Array.from({ length: 16 }, () => "c")],
    ["__proto__,constructor", ["__proto__", "constructor"]],
  ])("%j has the names %j", ([text, entries]) => {
    expect(clusterList(text)).toEqual({ kind: "entries", entries });
  });

  test.for<[string, string, string]>([
    ["a glob", "east, we*", '"we*" is invalid; name clusters, or only "*"'],
    ["two stars", "**", '"**" is invalid; name clusters, or only "*"'],
    ["17 names", "c,".repeat(17), 'has 17 names; must have at most 16, or only "*"'],
    [
      "a text of any length",
      "c".repeat(1_000_000),
      "has 1000000 characters; must have at most 4096",
    ],
  ])("with %s is rejected", ([, text, sentence]) => {
    expect(clusterList(text)).toEqual({ kind: "refused", why: expect.stringContaining(sentence) });
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
        expect(list.entries.join("")).toBe(text.replaceAll(/[, \n]/g, ""));
      },
    ),
  );
});
