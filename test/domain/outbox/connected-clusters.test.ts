import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import {
  connectedCluster,
  isOutboxOf,
  secretsByCluster,
} from "../../../src/domain/outbox/connected-clusters.ts";

const clusterSecret = (change: Partial<Metadata> = {}): Metadata => ({
  namespace: "latchkey-clusters",
  name: "east",
  uid: "uid-east",
  resourceVersion: "1",
  generation: 0,
  creationTimestamp: "2026-01-02T00:00:00Z",
  finalizers: [],
  labels: { [labels.cluster]: "east" },
  annotations: {},
  ...change,
});

const projectsOf = (text: string) =>
  connectedCluster(clusterSecret({ annotations: { [annotations.projects]: text } }))?.projects;

describe("a connected cluster", () => {
  test.for<[string, string, readonly string[]]>([
    ["one project", "web", ["web"]],
    ["names with blanks between them", " web , pay,, ", ["web", "pay"]],
    ["all projects", "*", ["*"]],
    ["nothing", "", []],
    ["nothing for a glob", "web-*", []],
    ["nothing for a list with an invalid name", "web, p/y", []],
  ])("lets in %s", ([, text, wanted]) => {
    expect(projectsOf(text)).toEqual(wanted);
  });

  test("lets in no project without the annotation", () => {
    expect(connectedCluster(clusterSecret())).toEqual({
      name: "east",
      uid: "uid-east",
      projects: [],
    });
  });

  test("is none of a Secret without the label of a cluster", () => {
    expect(connectedCluster(clusterSecret({ labels: {} }))).toBeUndefined();
  });

  test("is that of the oldest Secret of its name", () => {
    const older = { uid: "uid-older", name: "former", creationTimestamp: "2026-01-01T00:00:00Z" };
    const found = secretsByCluster([
      clusterSecret(),
      clusterSecret(older),
      clusterSecret({ labels: {} }),
    ]);
    expect([...found].map(([name, { uid }]) => [name, uid])).toEqual([["east", "uid-older"]]);
  });

  test.for<[string, string | undefined, string, boolean]>([
    ["has the uid of its Secret", "uid-east", "uid-east", true],
    ["has another uid", "uid-former", "uid-east", false],
    ["has no uid", undefined, "uid-east", false],
    ["has an empty uid", "", "", false],
  ])("a namespace is its outbox only with its uid: %s", ([, given, uid, wanted]) => {
    const marks = given === undefined ? {} : { [annotations.clusterUid]: given };
    expect(isOutboxOf(clusterSecret({ annotations: marks }), { uid })).toBe(wanted);
  });
});
