import { expect, test } from "vitest";
import { coversResource } from "../../../src/domain/scope/patterns.ts";
import { resourceRequest } from "./requests.ts";

test("one matching pattern of several is enough", () => {
  const covers = (...resources: readonly string[]) =>
    coversResource({ group: "", resources }, resourceRequest());
  expect([
    covers("secrets", "pods"),
    covers("pods", "secrets"),
    covers("secrets", "configmaps"),
  ]).toEqual([true, true, false]);
});
