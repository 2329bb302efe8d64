import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Codec, Store } from "../../../src/kube/informer/store.ts";

interface Thing {
  readonly name: string;
  readonly tags: readonly string[];
}

const sizeOf = ({ tags }: Thing) => tags.length;
const tagged = () => new Store<Thing>({ tag: ({ tags }) => tags }, undefined, sizeOf);
const packed = () => {
  const packing: Codec<Thing> = {
    encode: ({ uid, value }) => `${uid}:${value.tags.join()}`,
    decode(text, key) {
      const [uid = "", tags = ""] = text.split(":");
      return {
        uid,
        resourceVersion: "1",
        value: { name: key, tags: tags.split(",").filter((tag) => tag !== "") },
      };
    },
  };
  return new Store<Thing>({ tag: ({ tags }) => tags }, packing, sizeOf);
};
const entry = (name: string, tags: readonly string[]) => ({
  uid: name,
  resourceVersion: "1",
  value: { name, tags },
});

describe.each([
  ["a store", tagged],
  ["a store with a codec", packed],
])("%s", (_, made) => {
  test("finds objects by key and by every index value", () => {
    const store = made();
    store.set("a", entry("a", ["x", "y"]));
    store.set("b", entry("b", ["y"]));
    expect(store.get("a")?.name).toBe("a");
    expect(store.entry("b")?.uid).toBe("b");
    expect(store.by("tag", "y").map(({ name }) => name)).toEqual(["a", "b"]);
    expect([store.size, store.keys(), [...store.values()].length]).toEqual([2, ["a", "b"], 2]);
    expect([
      store.has("a"),
      store.has("c"),
      store.keysBy("tag", "y"),
      store.keysBy("tag", "z"),
    ]).toEqual([true, false, ["a", "b"], []]);
  });

  test("returns nothing for unknown keys and index values", () => {
    const store = made();
    store.remove("a");
    expect([store.get("a"), store.by("tag", "x"), [...store.namesIn("tag")]]).toEqual([
      undefined,
      [],
      [],
    ]);
  });

  test("throws for an unknown index", () => {
    expect(() => new Store<Thing>().by("tag", "x")).toThrow("the store has no index tag");
  });

  test("has indexes that match a search through all objects, after any changes", () => {
    const change = fc.record({
      key: fc.constantFrom("a", "b", "c"),
      tags: fc.option(fc.subarray(["x", "y", "z"]), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const store = made();
        for (const { key, tags } of changes) {
          if (tags === undefined) store.remove(key);
          else store.set(key, entry(key, tags));
        }
        const values = [...store.values()];
        const names = ["x", "y", "z"].filter((tag) =>
          values.some(({ tags }) => tags.includes(tag)),
        );
        expect([...store.namesIn("tag")].toSorted()).toEqual(names);
        for (const tag of ["x", "y", "z"]) {
          expect(new Set(store.by("tag", tag))).toEqual(
            new Set(values.filter(({ tags }) => tags.includes(tag))),
          );
          expect(store.countBy("tag", tag)).toBe(
            values.filter(({ tags }) => tags.includes(tag)).length,
          );
          expect(store.sizeBy("tag", tag)).toBe(
            values
              .filter(({ tags }) => tags.includes(tag))
              .reduce((sum, { tags }) => sum + tags.length, 0),
          );
        }
      }),
    );
  });
});
