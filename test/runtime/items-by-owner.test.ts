import { expect, it } from "vitest";
import { ItemsByOwner } from "../../src/runtime/items-by-owner.ts";

it("finds the items of the owner that has the most, oldest first", () => {
  const items = new ItemsByOwner<number>();
  expect([...items.ofLargestOwner()]).toEqual([]);
  items.add("a", 1);
  items.add("b", 2);
  items.add("b", 3);
  expect([items.size, items.countOf("b"), [...items.ofLargestOwner()]]).toEqual([3, 2, [2, 3]]);
  items.remove("b", 2);
  expect([...items.ofLargestOwner()]).toEqual([1]);
});

it("removes an item once, and only from its owner", () => {
  const items = new ItemsByOwner<number>();
  items.add("a", 1);
  expect([items.remove("b", 1), items.remove("a", 1), items.remove("a", 1)]).toEqual([
    false,
    true,
    false,
  ]);
  expect([items.size, items.countOf("a")]).toEqual([0, 0]);
});
