import { describe, expect, test } from "vitest";
import type { MetadataKey } from "../../../src/api/known-keys.ts";
import { resources } from "../../../src/api/resources.ts";
import type { DerivedRole } from "../../../src/domain/shared-secret/derived-role.ts";
import {
  type StatusInput,
  sharedSecretConditions,
  sharedSecretCounts,
} from "../../../src/domain/shared-secret/shared-secret-status.ts";
import type { SyncSummary } from "../../../src/domain/sync/sync-summary.ts";
import { observedSource, type SourceChanges } from "../../support/observed-copies.ts";
import { noTargets } from "../sync-situations.ts";

const regarding = {
  resource: resources.namespaces,
  subject: { namespace: "pay", name: "pay", uid: "uid-pay" },
};
const refusedEntry = {
  namespace: "pay",
  name: "db",
  reason: "Forbidden",
  message: "exceeded quota",
};
const failures = [{ ...refusedEntry, kind: "failed", regarding }] as const;
const role: DerivedRole = {
  name: "latchkey-db-1",
  permission: { verbs: ["get"], status: false },
  subjects: [],
  rules: "[]",
};
const wanting = { options: { projects: ["web"] } };
const silent = { options: { projects: [] } };

function found({
  source = silent,
  summary = {},
  ...rest
}: Partial<Omit<StatusInput, "source" | "summary">> & {
  source?: SourceChanges;
  summary?: Partial<SyncSummary>;
}): StatusInput {
  return {
    source: observedSource(source),
    wanted: [],
    ruleProblems: [],
    emptyRules: [],
    nameConflicts: [],
    summary: { ...noTargets, ...summary },
    ...rest,
  };
}

function claimsOf(findings: StatusInput): Readonly<Record<string, string>> {
  return Object.fromEntries(
    sharedSecretConditions(findings).map(({ type, status, reason, message }) => [
      type,
      `${status} ${reason}: ${message}`,
    ]),
  );
}

describe("the condition AccessApplied", () => {
  test.for<[string, Partial<StatusInput>, string]>([
    ["is True without grants", {}, "True Applied: no access rule is set"],
    ["is True with one Role", { wanted: [role] }, "True Applied: access is granted by 1 Role"],
    [
      "is True and names a rule without subjects",
      { wanted: [role], emptyRules: ["spec.access[1]"] },
      "True Applied: access is granted by 1 Role; spec.access[1] names no users or teams and grants nothing",
    ],
    [
      "is True and counts rules without subjects",
      { emptyRules: ["spec.access[0]", "spec.access[1]"] },
      "True Applied: no access rule grants access; spec.access[0] and 1 more name no users or teams and grant nothing",
    ],
    [
      "is True with several Roles",
      { wanted: [role, role] },
      "True Applied: access is granted by 2 Roles",
    ],
    [
      "is False with an invalid rule",
      { ruleProblems: ["spec.access[0]: no verbs"] },
      "False InvalidAccessRule: spec.access[0]: no verbs",
    ],
    [
      "is False with a name conflict",
      { nameConflicts: ["latchkey-db-1"] },
      'False NameConflict: Role or RoleBinding "latchkey-db-1" already exists and is not managed by Latchkey; delete it',
    ],
    [
      "contains invalid rules and name conflicts",
      { ruleProblems: ["a"], nameConflicts: ["b"] },
      'False InvalidAccessRule: a; Role or RoleBinding "b" already exists and is not managed by Latchkey; delete it',
    ],
  ])("%s", ([, findings, claim]) => {
    expect(claimsOf({ ...found({}), ...findings })["AccessApplied"]).toBe(claim);
  });

  test("makes the object not ready and stalled if it is False", () => {
    const claims = claimsOf(found({ ruleProblems: ["a"] }));
    expect(claims["Ready"]).toBe("False InvalidAccessRule: a");
    expect(claims["Stalled"]).toBe("True InvalidAccessRule: a");
  });
});

describe("the condition Synced without a target in the central cluster", () => {
  const nowhere = {
    source: { options: { projects: ["web"], clusters: ["east"] } },
    summary: { emptyProjects: [{ project: "web", namespaces: 0, accepting: 0 }] },
  };
  const why =
    'no namespace to sync to: no namespace has a label management.service/project that matches "web"';
  const east = { name: "east", desired: 2, conflicts: 0, failed: 0 };
  test.for<[string, StatusInput["clusters"], string]>([
    ["is False if no cluster is named", undefined, `False NoTargets: ${why}`],
    [
      "is False if no cluster is connected",
      { clusters: [], counts: { named: 0, synced: 0 } },
      `False NoTargets: ${why}`,
    ],
    [
      "is True if the clusters are synced",
      { clusters: [{ ...east, synced: 2 }], counts: { named: 1, synced: 1 } },
      `True Synced: ${why}; 1 of 1 connected clusters are synced`,
    ],
    [
      "is False for the reason of the clusters if they are not",
      {
        clusters: [{ ...east, synced: 1, reason: "Conflict", message: "pay/db exists" }],
        counts: { named: 1, synced: 0 },
      },
      `False Conflict: ${why}; 0 of 1 connected clusters are synced, first: cluster "east": ` +
        "pay/db exists",
    ],
  ])("%s", ([, clusters, claim]) => {
    expect(claimsOf(found({ ...nowhere, clusters }))["Synced"]).toBe(claim);
  });
});

test.each<[string, MetadataKey, string]>([
  [
    "an annotation that is similar",
    { field: "annotations", key: "management.service/sync-to-project" },
    "False UnknownAnnotation: annotation management.service/sync-to-project has no effect on " +
      "SharedSecrets; did you mean the annotation management.service/sync-to-projects?",
  ],
  [
    "another annotation of the group",
    { field: "annotations", key: "management.service/colour" },
    "False UnknownAnnotation: annotation management.service/colour has no effect on " +
      "SharedSecrets; remove it; kubectl explain sharedsecret lists those that have one",
  ],
  [
    "a label that should be an annotation",
    { field: "labels", key: "management.service/sync-to-projects" },
    "False UnknownAnnotation: label management.service/sync-to-projects has no effect on " +
      "SharedSecrets; set it as the annotation management.service/sync-to-projects",
  ],
  [
    "a label of its own, which may be meant for people",
    { field: "labels", key: "management.service/colour" },
    "True NotRequested: annotation management.service/sync-to-projects names no project",
  ],
])("a source that asks for nothing and has %s", (_what, unknownKey, claim) => {
  const input = found({});
  const source = { ...input.source, secret: { ...input.source.secret, unknownKey } };
  expect(claimsOf({ ...input, source })["Synced"]).toBe(claim);
});

test("a source that names clusters and no project goes nowhere, and says so", () => {
  const claims = claimsOf(found({ source: { options: { projects: [], clusters: ["east"] } } }));
  expect(claims["Synced"]).toBe(
    "False NotRequested: annotation management.service/sync-to-projects names no project, so it " +
      "goes to no cluster",
  );
});

describe("the condition Synced", () => {
  const problem = { reason: "TooLarge", message: "split it" } as const;
  test.for<[string, SourceChanges, Partial<SyncSummary>, string]>([
    [
      "is True if no sync is requested",
      silent,
      {},
      "True NotRequested: annotation management.service/sync-to-projects names no project",
    ],
    [
      "is False while sync is paused",
      { options: { paused: true } },
      { pending: 1 },
      'False Paused: annotation management.service/disable-sync is "true", so sync is paused',
    ],
    [
      "is False if the source cannot be synced",
      { options: { problem } },
      {},
      "False TooLarge: split it",
    ],
    [
      "is False if the source cannot be synced, even without projects",
      { options: { projects: [], problem } },
      {},
      "False TooLarge: split it",
    ],
    [
      "is False while targets are pending",
      wanting,
      { desired: 2, synced: 1, pending: 1, conflicts: 1 },
      "False Progressing: 1 of 2 targets are synced, 1 in conflict",
    ],
    [
      "is False with a conflict",
      wanting,
      { desired: 2, synced: 1, conflicts: 1 },
      "False Conflict: 1 of 2 targets are synced, 1 in conflict",
    ],
    [
      "is False with a failed target",
      wanting,
      { desired: 1, failed: 1, failures },
      "False Failed: 0 of 1 targets are synced, 1 failed, first: pay/db: exceeded quota",
    ],
    [
      "is False without targets",
      wanting,
      { emptyProjects: [{ project: "web", namespaces: 2, accepting: 0 }] },
      'False NoTargets: no namespace to sync to: all 2 namespaces of project "web" do not have the annotation management.service/sync: enabled',
    ],
    [
      "is True if one of two projects has targets",
      { options: { projects: ["web", "pya"] } },
      { desired: 1, synced: 1, emptyProjects: [{ project: "pya", namespaces: 0, accepting: 0 }] },
      'True Synced: 1 of 1 targets are synced; no namespace has a label management.service/project that matches "pya"',
    ],
    [
      "is True if all targets are synced",
      wanting,
      { desired: 2, synced: 2 },
      "True Synced: 2 of 2 targets are synced",
    ],
    [
      "is True if other sources request the same targets",
      wanting,
      {
        desired: 1,
        synced: 1,
        contested: { targets: 1, newer: { namespace: "team", name: "younger" } },
      },
      "True Synced: 1 of 1 targets are synced, 1 also requested by the newer SharedSecret team/younger",
    ],
    [
      "is True if a label of the copies is not allowed, which is named with both fixes",
      wanting,
      { desired: 2, synced: 2, withheld: { targets: 1, key: "synator/sync" } },
      'True Synced: 2 of 2 targets are synced, 1 without key "synator/sync", which is not allowed; add it to --copy-keys of latchkey controller, or to annotation management.service/allow-copy-keys of the namespace',
    ],
  ])("%s", ([, source, summary, claim]) => {
    expect(claimsOf(found({ source, summary }))["Synced"]).toBe(claim);
  });
});

describe("the condition Ready", () => {
  test.for<[string, Parameters<typeof found>[0], Readonly<Record<string, string>>]>([
    ["is True", { wanted: [role] }, { Ready: "True Ready: access is granted by 1 Role" }],
    [
      "is True with problems at targets, and reports them",
      { source: wanting, summary: { desired: 1, conflicts: 1 } },
      {
        Ready: "True Ready: 0 of 1 targets are synced, 1 in conflict",
      },
    ],
    [
      "is True without targets, and the object is not stalled",
      {
        source: wanting,
        summary: { emptyProjects: [{ project: "web", namespaces: 0, accepting: 0 }] },
      },
      {
        Ready:
          'True Ready: no namespace to sync to: no namespace has a label management.service/project that matches "web"',
      },
    ],
    [
      "is False while targets are pending",
      { source: wanting, summary: { desired: 1, pending: 1 } },
      {
        Ready: "False Progressing: 0 of 1 targets are synced",
        Reconciling: "True Progressing: 0 of 1 targets are synced",
      },
    ],
    [
      "is True while sync is paused",
      { source: { options: { paused: true } }, summary: { pending: 1 } },
      { Ready: "True Ready: 0 of 0 targets are synced" },
    ],
    [
      "is False and the object is stalled if neither access nor sync can be applied",
      {
        ruleProblems: ["a"],
        source: { options: { problem: { reason: "InvalidSyncOption", message: "b" } } },
      },
      { Ready: "False InvalidAccessRule: a; b", Stalled: "True InvalidAccessRule: a; b" },
    ],
  ])("%s", ([, given, expected]) => {
    const { Ready, Reconciling, Stalled } = claimsOf(found(given));
    const claims = { Ready, Reconciling, Stalled };
    expect(
      Object.fromEntries(Object.entries(claims).filter(([, claim]) => claim !== undefined)),
    ).toEqual(expected);
  });
});

describe("what the status says of connected clusters", () => {
  const counts = { desired: 2, synced: 1, conflicts: 0, failed: 1 };
  const east = { name: "east", ...counts, reason: "Forbidden", message: "pay/db: quota" };
  const clusters = { clusters: [east], counts: { named: 3, synced: 2 } };

  test("is a condition, a list and counts", () => {
    const findings = found({ source: wanting, clusters });
    expect(claimsOf(findings)["ClustersSynced"]).toBe(
      'False Failed: 2 of 3 connected clusters are synced, first: cluster "east": pay/db: quota',
    );
    expect(sharedSecretCounts(findings)).toMatchObject({
      sync: { clusters: [east], clusterCounts: { named: 3, synced: 2 } },
    });
  });

  test("does not make the object less ready", () => {
    const ready = claimsOf(found({ source: wanting }))["Ready"];
    expect(claimsOf(found({ source: wanting, clusters }))["Ready"]).toBe(ready);
    expect(ready).toMatch(/^True Ready/);
  });

  test("is nothing if it names none, and counts if none is connected", () => {
    expect(claimsOf(found({ source: wanting }))).not.toHaveProperty("ClustersSynced");
    expect(sharedSecretCounts(found({}))["sync"]).not.toHaveProperty("clusterCounts");
    const none = { clusters: [], counts: { named: 0, synced: 0 } };
    const { sync } = sharedSecretCounts(found({ clusters: none }));
    expect(sync).toMatchObject({ clusterCounts: none.counts });
    expect(sync).not.toHaveProperty("clusters");
  });
});

describe("the counts of the status", () => {
  test("are those of keys, applied Roles and targets, with failures only if there are any", () => {
    const findings = found({
      wanted: [role, { ...role, name: "taken" }],
      nameConflicts: ["taken"],
      summary: { desired: 3, synced: 1, conflicts: 1, failed: 1 },
    });
    expect(sharedSecretCounts(findings)).toEqual({
      keys: 1,
      access: { roles: 1, bindings: 1 },
      sync: { desired: 3, synced: 1, conflicts: 1, failed: 1 },
    });
    expect(sharedSecretCounts(found({ summary: { failures } }))).toMatchObject({
      sync: { failures: [refusedEntry] },
    });
  });
});
