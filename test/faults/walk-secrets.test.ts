import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apiRequest } from "../support/api-request.ts";
import { secretNames, secretSteps, sourceNames } from "./walk-secret-steps.ts";
import { needlessOf, walksOf } from "./walk.ts";

describe("the judge of writes", () => {
  it.each<[string, readonly (readonly [string, string, number?])[], readonly number[]]>([
    ["a refused write is repeated", [["1", "secrets/db", 422]], []],
    ["a write is accepted", [["1", "secrets/db", 200]], [0]],
    ["a write is forbidden", [["1", "secrets/db", 403]], [0]],
    ["a write is not answered", [["1", "secrets/db"]], [0]],
    ["another kind is refused", [["1", "events", 422]], [0]],
    [
      "a refused write is repeated, and reported",
      [
        ["1", "secrets/db", 422],
        ["1", "sharedsecrets/db/status", 200],
        ["1", "events", 201],
        ["1", "sharedsecrets/db", 200],
        ["2", "sharedsecrets/db/status", 200],
      ],
      [3, 4],
    ],
  ])("finds needless writes when %s", (_, given, expected) => {
    const writes = given.map(([process, path, status]) => ({
      process,
      request: apiRequest({ method: "PUT", url: `/api/v1/namespaces/web/${path}` }),
      answer: status === undefined ? undefined : { at: 0, status, sent: "" },
    }));
    expect(needlessOf(writes)).toEqual(expected.map((index) => writes[index]));
  });
});

describe("walks with placeholders", () => {
  const drawn = fc.sample(walksOf(secretSteps), { seed: 1, numRuns: 600 });
  const actions = drawn.flatMap(({ steps }) => steps.map(({ action }) => action));

  it("take every action at every object", () => {
    const seen = new Set(
      actions.map((action) => `${action.do} ${"at" in action ? action.at : ""}`),
    );
    const expected = ["put", "merge", "delete"].flatMap((what) => [
      ...secretNames.map((at) => `secret ${what} ${at}`),
      ...sourceNames.map((at) => `shared ${what} ${at}`),
    ]);
    expected.push("namespace ");
    expect(expected.filter((one) => !seen.has(one))).toEqual([]);
  });

  it.each([
    ["asks for another SharedSecret", /"secret merge".*sharedsecret-name":"api"/],
    ["asks no more", /"secret merge".*sharedsecret-name":null/],
    ["picks a data key", /"secret merge".*sync-keys":"PASS=password"/],
    ["becomes immutable", /"secret merge".*"immutable":true/],
    ["is emptied by hand", /"secret merge".*"data":null/],
    ["is edited by hand", /"secret merge".*"added"/],
    ["loses a mark", /"secret merge".*"management.service\/filled":null/],
    ["is a Secret of Helm", /"secret put".*helm\.sh/],
  ])("have a Secret that %s", (_, form) => {
    expect(actions.map((action) => JSON.stringify(action)).some((text) => form.test(text))).toBe(
      true,
    );
  });

  it("are the same for the same seed", () => {
    const draw = () =>
      fc.sample(walksOf({ ...secretSteps, maxSteps: 5 }), { seed: 7, numRuns: 20 });
    expect(draw()).toEqual(draw());
  });
});
