import { expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { readObject } from "../../../src/cli/kubectl/missing-right.ts";

test.each([
  [{ namespace: "team", name: "db" }, { name: "db" }],
  [{ namespace: "team", name: ".." }, undefined],
  [{ namespace: "%2F", name: "db" }, undefined],
])("of an annotation, %j is read if it can exist", async (ref, found) => {
  const read = async () => ({ name: ref.name });
  expect(await readObject(resources.sharedSecrets, ref, read)).toEqual({ found, missing: [] });
});
