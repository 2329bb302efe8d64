import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { describe, expect, test } from "vitest";
import { knownKeys, type MarkedKind, unknownKeys } from "../../src/api/known-keys.ts";
import { annotations, group, labels } from "../../src/api/names.ts";
import { unknownKeySentence } from "../../src/domain/unknown-key.ts";
import { repository } from "../support/install.ts";

const keysOf = (kind: MarkedKind, metadata: object) => unknownKeys(kind, { metadata });

describe("the labels and annotations without effect", () => {
  test.each<[MarkedKind, object, readonly string[]]>([
    ["SharedSecret", { annotations: { [annotations.syncToProjects]: "web" } }, []],
    ["SharedSecret", { annotations: { "example.com/sync": "web" } }, []],
    [
      "SharedSecret",
      { annotations: { [`${group}/sync-to-project`]: "web" } },
      [`annotations ${group}/sync-to-project`],
    ],
    ["Namespace", { labels: { [labels.project]: "web" } }, []],
    ["Namespace", { labels: { [annotations.sync]: "enabled" } }, [`labels ${annotations.sync}`]],
    ["Secret", { labels: { [labels.sharedSecretName]: "db" } }, []],
    ["Secret", { labels: { [`${group}/sharedsecret`]: "db" } }, [`labels ${group}/sharedsecret`]],
    ["Secret", {}, []],
    ["Secret", { annotations: { [annotations.clusterSyncError]: "no" } }, []],
    ["Secret", { annotations: { [annotations.rotateSigningKey]: "now" } }, []],
    ["Secret", { annotations: { [annotations.projects]: "*" } }, []],
    [
      "Namespace",
      { annotations: { [annotations.projects]: "*" } },
      [`annotations ${annotations.projects}`],
    ],
    ["Secret", { labels: { [labels.project]: "web" } }, [`labels ${labels.project}`]],
  ])("of a %s with %j", (kind, metadata, expected) => {
    expect(keysOf(kind, metadata).map(({ field, key }) => `${field} ${key}`)).toEqual(expected);
  });

  test("are at most eight", () => {
    const many = Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`${group}/x${at}`, ""]));
    expect(keysOf("Secret", { labels: many })).toHaveLength(8);
  });
});

test.each<[MarkedKind, "labels" | "annotations", string, string]>([
  [
    "SharedSecret",
    "annotations",
    `${group}/sync-to-project`,
    `annotation ${group}/sync-to-project has no effect on SharedSecrets; did you mean the ` +
      `annotation ${annotations.syncToProjects}?`,
  ],
  [
    "SharedSecret",
    "labels",
    annotations.syncToProjects,
    `label ${annotations.syncToProjects} has no effect on SharedSecrets; set it as the ` +
      `annotation ${annotations.syncToProjects}`,
  ],
  [
    "Namespace",
    "annotations",
    labels.project,
    `annotation ${labels.project} has no effect on Namespaces; set it as the label ` +
      labels.project,
  ],
  [
    "Namespace",
    "labels",
    `${group}/projct`,
    `label ${group}/projct has no effect on Namespaces; did you mean the label ${labels.project}?`,
  ],
  [
    "Secret",
    "labels",
    labels.project,
    `label ${labels.project} has no effect on Secrets; remove it; kubectl explain sharedsecret ` +
      "lists those that have one",
  ],
  [
    "Secret",
    "labels",
    `${group}/colour`,
    `label ${group}/colour has no effect on Secrets; remove it; kubectl explain sharedsecret ` +
      "lists those that have one",
  ],
])("a %s with one of its %s: %s", (kind, field, key, sentence) => {
  expect(unknownKeySentence(kind, { field, key })).toBe(sentence);
});

test("the policies that warn know the same labels and annotations", () => {
  const known = (policy: string, variable: string): readonly string[] => {
    const path = join(repository, "config", "policies", `${policy}.yaml`);
    const [found] = loadAll(readFileSync(path, "utf8")) as readonly {
      readonly spec: { readonly variables: readonly { name: string; expression: string }[] };
    }[];
    const text = found?.spec.variables.find(({ name }) => name === variable)?.expression ?? "";
    return [...text.matchAll(/'(management\.service\/[a-z-]+)'/g)].map(([, key = ""]) => key);
  };
  const { SharedSecret, Namespace } = knownKeys;
  expect(known("warn-shared-secret", "known").toSorted()).toEqual(
    SharedSecret.annotations.toSorted(),
  );
  expect(known("warn-namespace", "unknown").toSorted()).toEqual(Namespace.annotations.toSorted());
  expect(known("warn-namespace", "unknownLabels").toSorted()).toEqual(Namespace.labels.toSorted());
});
