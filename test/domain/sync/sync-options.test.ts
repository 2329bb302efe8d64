import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import {
  fitsAny,
  isPaused,
  isRefusedType,
  largestSecret,
  syncOptionsOf,
} from "../../../src/domain/sync/sync-options.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { runs } from "../../support/property-runs.ts";

const { disableSync, syncSecretName, syncSecretType, syncToClusters, syncToProjects } = annotations;

function read(
  given: Readonly<Record<string, string>>,
  data: Readonly<Record<string, SecretText>> = {},
) {
  return syncOptionsOf({ metadata: observedMetadata({ name: "db", annotations: given }), data });
}

test("without annotations no sync is requested, and the target has the name of the SharedSecret and the type Opaque", () => {
  expect(read({})).toEqual({
    projects: [],
    clusters: [],
    secretName: "db",
    secretType: "Opaque",
    paused: false,
  });
});

test("an invalid list of projects is empty and distinguished from an empty one", () => {
  expect(read({ [syncToProjects]: "web!" })).toMatchObject({
    projects: [],
    projectsAreUnreadable: true,
  });
  expect(read({ [syncToProjects]: "" })).not.toHaveProperty("projectsAreUnreadable");
});

test("an invalid list of clusters is empty and distinguished from an empty one", () => {
  expect(read({ [syncToProjects]: "web", [syncToClusters]: "we*" })).toMatchObject({
    projects: ["web"],
    clusters: [],
    clustersAreUnreadable: true,
    problem: {
      reason: "InvalidSyncOption",
      message: expect.stringMatching(/^management.service\/sync-to-clusters: "we\*" is invalid/),
    },
  });
  expect(read({ [syncToClusters]: "" })).not.toHaveProperty("clustersAreUnreadable");
});

test("annotations set projects, clusters, name, type and pause", () => {
  const given = {
    [syncToProjects]: "web, pay-*,",
    [syncToClusters]: "east, west",
    [syncSecretName]: "other",
    [syncSecretType]: "kubernetes.io/tls",
    [disableSync]: "true",
  };
  expect(read(given)).toEqual({
    projects: ["web", "pay-*"],
    clusters: ["east", "west"],
    secretName: "other",
    secretType: "kubernetes.io/tls",
    paused: true,
  });
});

describe("invalid annotations are reported with the value and the fix", () => {
  const long = "x".repeat(300);
  test.for<[string, Readonly<Record<string, string>>, string]>([
    [
      "a glob with invalid characters",
      { [syncToProjects]: "web,pay?" },
      '"pay?" is invalid; entries must be separated by commas',
    ],
    [
      "too many projects",
      { [syncToProjects]: "web,".repeat(65) },
      "has 65 entries; must have at most 64",
    ],
    [
      "an invalid Secret name",
      { [syncSecretName]: "My_Secret" },
      '"My_Secret" is not a valid Secret name; must be',
    ],
    ["an empty name", { [syncSecretName]: "" }, '"" is not a valid Secret name'],
    [
      "a name that is too long, which is truncated",
      { [syncSecretName]: long },
      `"${"x".repeat(64)}..." is not a valid Secret name`,
    ],
    [
      "the type of service account tokens",
      { [syncSecretType]: "kubernetes.io/service-account-token" },
      "is not allowed",
    ],
    [
      "the type of bootstrap tokens",
      { [syncSecretType]: "bootstrap.kubernetes.io/token" },
      "is not allowed",
    ],
    ["the type of Helm releases", { [syncSecretType]: "helm.sh/release.v1" }, "is not allowed"],
    ["an empty type", { [syncSecretType]: "" }, "must not be empty; set a Secret type"],
    [
      "neither true nor false",
      { [disableSync]: "yes" },
      '"yes" is invalid; must be "true" or "false"',
    ],
  ])("%s", ([, given, sentence]) => {
    const { problem } = read(given);
    expect(problem?.reason).toBe("InvalidSyncOption");
    expect(problem?.message).toContain(sentence);
    expect(problem?.message).toContain(Object.keys(given)[0]);
  });
});

test("labels and annotations for the copies are read, or reported with the annotation and the item", () => {
  expect(read({ [annotations.copyLabels]: "tier=gold" }).copyMetadata).toEqual({
    labels: { tier: "gold" },
    annotations: {},
  });
  const wrong = read({ [annotations.copyAnnotations]: "kubernetes.io/x=y" });
  expect(wrong).not.toHaveProperty("copyMetadata");
  expect(wrong.problem).toEqual({
    reason: "InvalidSyncOption",
    message: `${annotations.copyAnnotations}: "kubernetes.io/x=y" is invalid; keys of kubernetes.io, k8s.io and management.service are reserved; remove the item`,
  });
});

describe("data that a Secret cannot contain is only reported if it is to be synced", () => {
  const big = new SecretText("AAAA".repeat(largestSecret / 3 + 1));
  const fits = new SecretText(Buffer.alloc(largestSecret).toString("base64"));
  const text = new SecretText("YQ==");
  test.for<[string, Readonly<Record<string, SecretText>>, string | undefined]>([
    ["a key of 254 characters", { ["k".repeat(254)]: text }, "InvalidKey"],
    ["a key of one dot", { ".": text }, "InvalidKey"],
    ["a key that begins with two dots", { "..a": text }, "InvalidKey"],
    ["a key of 253 characters", { ["k".repeat(253)]: text, ".a": text }, undefined],
    ["more than 1 MiB", { a: big }, "TooLarge"],
    ["more than 1 MiB together", { a: fits, b: text }, "TooLarge"],
    [
      "more than 10,000 keys",
      Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`k${index}`, text])),
      "TooLarge",
    ],
    [
      "10,000 keys",
      Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, text])),
      undefined,
    ],
    ["exactly 1 MiB", { a: fits, b: new SecretText("") }, undefined],
  ])("%s", ([, data, reason]) => {
    expect(read({ [syncToProjects]: "web" }, data).problem?.reason).toBe(reason);
    expect(read({}, data).problem).toBeUndefined();
  });
});

test("only the value true pauses sync", () => {
  expect(
    ["true", "True", "1", "false"].map((text) =>
      isPaused(observedMetadata({ annotations: { [disableSync]: text } })),
    ),
  ).toEqual([true, false, false, false]);
  expect(isRefusedType("kubernetes.io/dockerconfigjson")).toBe(false);
});

describe("globs", () => {
  const globs = fc
    .array(fc.constantFrom("a", "b", "-", ".", "*"), { maxLength: 7 })
    .map((letters) => letters.join(""));
  const texts = fc
    .array(fc.constantFrom("a", "b", "-", "."), { maxLength: 7 })
    .map((letters) => letters.join(""));

  test("match like a regular expression with .* for *", () => {
    fc.assert(
      fc.property(texts, fc.array(globs, { maxLength: 3 }), (text, some) => {
        const oracles = some.map(
          (glob) => new RegExp(`^${glob.replaceAll(".", "\\.").replaceAll("*", ".*")}$`),
        );
        expect(fitsAny(text, some)).toBe(oracles.some((oracle) => oracle.test(text)));
      }),
      runs(1_250),
    );
  });

  test("with many stars are matched without backtracking", () => {
    expect(fitsAny("a".repeat(10_000), ["*a".repeat(2000) + "b"])).toBe(false);
  });
});
