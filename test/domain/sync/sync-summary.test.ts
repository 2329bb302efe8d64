import { describe, expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import {
  emptyProjectsSentence,
  summarize,
  type TargetReport,
} from "../../../src/domain/sync/sync-summary.ts";
import { observedCopy } from "../../support/observed-copies.ts";
import { live, noTargets, older } from "../sync-situations.ts";

const at = (name: string) => ({ namespace: "pay", name });
const regarding = {
  resource: resources.namespaces,
  subject: { namespace: "pay", name: "pay", uid: "uid-pay" },
};
const report = (
  name: string,
  state: TargetReport["state"],
  more: Partial<TargetReport> = {},
): TargetReport => ({ target: at(name), regarding, state, ...more });
const failure = { reason: "Forbidden", message: "exceeded quota" };

describe("a target counts", () => {
  test.for<[string, TargetReport, object]>([
    ["as synced if it is current", report("db", { kind: "current", source: live }), { synced: 1 }],
    [
      "as pending until it is written",
      report("db", { kind: "missing", source: live }),
      { pending: 1 },
    ],
    [
      "as pending until its label is restored",
      report("db", {
        kind: "unlabelled",
        source: live,
        unmanaged: observedCopy(live),
        uid: live.secret.metadata.uid,
      }),
      { pending: 1 },
    ],
    [
      "as failed if its write was rejected",
      report("db", { kind: "missing", source: live }, { failure }),
      { failed: 1, failures: [{ kind: "failed", regarding, ...at("db"), ...failure }] },
    ],
    [
      "as synced if it is current after a failure",
      report("db", { kind: "current", source: live }, { failure }),
      { synced: 1 },
    ],
    [
      "as a conflict with an unmanaged Secret",
      report("db", { kind: "conflict", source: live }),
      {
        conflicts: 1,
        failures: [
          {
            kind: "conflict",
            regarding,
            ...at("db"),
            reason: "NotManaged",
            message: expect.stringContaining(
              "already exists and is not managed by Latchkey; it was not changed",
            ),
          },
        ],
      },
    ],
    [
      "as a conflict with an older source",
      report("db", { kind: "current", source: older }),
      {
        conflicts: 1,
        failures: [
          {
            kind: "conflict",
            regarding,
            ...at("db"),
            reason: "OlderSource",
            message: expect.stringContaining(
              'SharedSecret "team/older" already syncs to this Secret and is older. ',
            ),
          },
        ],
      },
    ],
    [
      "as a conflict with an older, invalid source that keeps the copy",
      report("db", {
        kind: "source-invalid",
        copy: observedCopy(older),
        sourceRef: older.secret.metadata,
        why: "a typo",
      }),
      {
        conflicts: 1,
        failures: [
          {
            kind: "conflict",
            regarding,
            ...at("db"),
            reason: "OlderSource",
            message: expect.stringContaining(
              'SharedSecret "team/older" already syncs to this Secret and is older. ',
            ),
          },
        ],
      },
    ],
    [
      "as a conflict with a copy of a source that is not known",
      report("db", {
        kind: "unknown-source",
        sourceRef: { namespace: "team", name: "former" },
      }),
      {
        conflicts: 1,
        failures: [
          {
            kind: "conflict",
            regarding,
            ...at("db"),
            reason: "UnknownSource",
            message:
              'Secret "pay/db" is a copy of SharedSecret "team/former", which the central cluster ' +
              "says nothing about; it was not changed. Wait for the central cluster, or set the " +
              "annotation management.service/sync-secret-name",
          },
        ],
      },
    ],
  ])("%s", ([, seen, expected]) => {
    expect(summarize(live, [seen], [])).toEqual({ ...noTargets, desired: 1, ...expected });
  });

  test("not at all if its copy is paused", () => {
    expect(summarize(live, [report("db", { kind: "paused", by: "copy" })], [])).toEqual(noTargets);
  });
});

test("lists the first ten conflicts and failures by namespace and name, with at most 256 characters each", () => {
  const names = Array.from({ length: 12 }, (_, index) => `db-${String.fromCodePoint(97 + index)}`);
  const long = { reason: "Invalid", message: "x".repeat(1000) };
  const reports = names
    .toReversed()
    .map((name) => report(name, { kind: "missing", source: live }, { failure: long }));
  const { failed, failures } = summarize(live, reports, []);
  expect(failed).toBe(12);
  expect(failures.map(({ name }) => name)).toEqual(names.slice(0, 10));
  expect(new Set(failures.map(({ message }) => message.length))).toEqual(new Set([256]));
});

test("counts the targets that other sources request, and names the first source", () => {
  const conflicting = older.secret.metadata;
  const contested = summarize(
    live,
    [
      report("a", { kind: "current", source: live }, { conflicting }),
      report("b", { kind: "current", source: live }),
    ],
    [],
  );
  expect(contested.contested).toEqual({ targets: 1, newer: conflicting });
});

test("counts the targets whose namespace does not allow a key, with one key", () => {
  const key = "argocd.argoproj.io/secret-type";
  const { withheld } = summarize(
    live,
    [
      report("a", { kind: "current", source: live }, { withheld: [key, "synator/sync"] }),
      report("b", { kind: "current", source: live }, { withheld: [] }),
      report("c", { kind: "current", source: live }, { withheld: ["synator/sync"] }),
    ],
    [],
  );
  expect(withheld).toEqual({ targets: 2, key });
});

describe("a project without a target", () => {
  test.for<[string, Parameters<typeof emptyProjectsSentence>[0], string]>([
    [
      "without namespaces",
      [{ project: "web", namespaces: 0, accepting: 0 }],
      'no namespace has a label management.service/project that matches "web"',
    ],
    [
      "whose only namespace does not accept copies",
      [{ project: "web", namespaces: 1, accepting: 0 }],
      'the only namespace of project "web" does not have the annotation management.service/sync: enabled',
    ],
    [
      "whose namespaces do not accept copies",
      [{ project: "pay-*", namespaces: 3, accepting: 0 }],
      'all 3 namespaces of project "pay-*" do not have the annotation management.service/sync: enabled',
    ],
    [
      "whose namespaces accept copies from other namespaces",
      [{ project: "web", namespaces: 3, accepting: 2 }],
      '2 of 3 namespaces of project "web" accept copies, but not from namespace "team" (annotation management.service/sync-from)',
    ],
    [
      "and many others",
      ["a", "b", "c", "d", "e"].map((project) => ({ project, namespaces: 0, accepting: 0 })),
      'matches "c"; and 2 more projects have no target',
    ],
    [
      "with a long name",
      [{ project: "x".repeat(5000), namespaces: 0, accepting: 0 }],
      `matches "${"x".repeat(64)}"`,
    ],
  ])("is reported with the cause: %s", ([, projects, sentence]) => {
    expect(emptyProjectsSentence(projects, "team")).toContain(sentence);
    expect(emptyProjectsSentence(projects, "team").length).toBeLessThan(400);
  });
});

test("what a status names first does not depend on the order in which targets were seen", () => {
  const state = { kind: "current", source: live } as const;
  const [one, other] = [older.secret.metadata, { ...older.secret.metadata, name: "other" }];
  const reports = [
    report("a", state, { conflicting: one, withheld: ["example.com/a"] }),
    report("b", state, { conflicting: other, withheld: ["example.com/b"] }),
  ];
  const first = summarize(live, reports, []);
  expect(summarize(live, reports.toReversed(), [])).toEqual(first);
  expect([first.contested.newer?.name, first.withheld?.key]).toEqual([one.name, "example.com/a"]);
});
