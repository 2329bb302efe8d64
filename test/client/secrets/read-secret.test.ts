import { expect, test } from "vitest";
import { splitsOf, valueOf } from "../../../src/client/secrets/read-secret.ts";

test.each([
  ["database", []],
  ["database.password", [["database", "password"]]],
  [
    "a.tls.crt",
    [
      ["a.tls", "crt"],
      ["a", "tls.crt"],
    ],
  ],
  [".x.", [[".x", ""]].slice(1)],
])("%s is read as NAME.KEY, the longest name first", (word, splits) => {
  expect(splitsOf(word).map(({ name, key }) => [name, key])).toEqual(splits);
});

test("a missing data key is answered with the existing ones", () => {
  const values = new Map([["a", Buffer.from("1")]]);
  expect(valueOf(values, "db", "a").toString()).toBe("1");
  expect(() => valueOf(values, "db", "constructor")).toThrow(
    'SharedSecret "db" has no data key "constructor"; it has a',
  );
});
