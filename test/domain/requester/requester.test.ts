import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import {
  lastInstalledAt,
  isSystemName,
  requesterLabel,
  requesterOf,
} from "../../../src/domain/requester/requester.ts";
import { born, observedMetadata } from "../../support/observed-objects.ts";

const stamp = {
  [annotations.requester]: "alice",
  [annotations.requesterUid]: "u1",
  [annotations.requesterGroups]: "devs\nops",
};
const old = born - 10_000;
const alice = { kind: "known", name: "alice", uid: "u1", groups: ["devs", "ops"] };

describe("the requester of an object", () => {
  test.each([
    ["has the name, uid and groups of the annotations", stamp, alice],
    [
      "has the id of the access key that was used",
      { ...stamp, [annotations.requesterKeyId]: "k" },
      { ...alice, keyId: "k" },
    ],
    [
      "can have no groups and no uid",
      { [annotations.requester]: "alice" },
      { ...alice, uid: "", groups: [] },
    ],
    [
      "has no empty group",
      { ...stamp, [annotations.requesterGroups]: "" },
      { ...alice, groups: [] },
    ],
  ])("%s", (_rule, annotated, requester) => {
    expect(requesterOf(observedMetadata({ annotations: annotated }), old)).toEqual(requester);
  });

  test.each([
    ["the policies are not installed", stamp, undefined, "not installed"],
    ["the object is older than the policies", stamp, born + 1, "before the policies"],
    ["the policies are less than 10 s old", stamp, born - 9_000, "before the policies"],
    ["there is no annotation", {}, old, "has no requester annotation"],
    [
      "the annotation is empty",
      { [annotations.requester]: "" },
      old,
      "has no requester annotation",
    ],
  ])("is unknown if %s, with the fix in the message", (_rule, annotated, installedAt, why) => {
    const requester = requesterOf(observedMetadata({ annotations: annotated }), installedAt);
    expect(requester).toMatchObject({
      kind: "unknown",
      why: expect.stringMatching(`${why}.*config/policies.*1\\.36.*create the object again`),
    });
  });

  test("is reserved for Kubernetes if the name begins with system:", () => {
    expect(["system:admin", "systematic"].map(isSystemName)).toEqual([true, false]);
  });
});

describe("the installation of the requester policies", () => {
  const at = (second: number) =>
    observedMetadata({ creationTimestamp: `2026-01-01T00:00:0${second}Z` });
  const all = [at(1), at(4), at(3)];

  test("is that of the newest policy", () => {
    expect(lastInstalledAt(all)).toEqual(born + 4_000);
  });

  test.each([0, 1, 2])("is unknown if one is missing (%i)", (missing) => {
    expect(
      lastInstalledAt(all.map((policy, index) => (index === missing ? undefined : policy))),
    ).toBeUndefined();
  });
});

test.each([
  ["alice", "alice"],
  ["Alice.Smith@Example.com", "alice-smith-example"],
  ["oidc:bob", "oidc-bob"],
  ["https://issuer.example.com/realms/x#bob", "bob"],
  ["system:serviceaccount:web:ci", "web-ci"],
  ["--a--", "a"],
  ["x".repeat(300), "x".repeat(20)],
  ["\u00e9\u00e8 \u001b[2J", "2j"],
  ["\u00fc", "cli"],
  ["", "cli"],
])("the names of what %j requests begin with %s", (username, label) => {
  expect(requesterLabel(username)).toBe(label);
  expect(label).toMatch(/^[a-z0-9](?:[-a-z0-9]{0,18}[a-z0-9])?$/);
});
