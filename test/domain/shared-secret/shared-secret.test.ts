import { describe, expect, test } from "vitest";
import { cleanupFinalizer, labels } from "../../../src/api/names.ts";
import type { Condition } from "../../../src/api/conditions.ts";
import { resources } from "../../../src/api/resources.ts";
import { parseConditions } from "../../../src/api/parse.ts";
import { parseRole, parseRoleBinding } from "../../../src/api/role.ts";
import type { ObservedAccess } from "../../../src/domain/shared-secret/access.ts";
import { accessOf } from "../../../src/domain/shared-secret/access-rules.ts";
import {
  bindingManifest,
  derivedRoles,
  roleManifest,
} from "../../../src/domain/shared-secret/derived-role.ts";
import type { Plan } from "../../../src/domain/plan/plan.ts";
import type { FinalizationPhase } from "../../../src/domain/plan/finalization.ts";
import {
  granteesOf,
  isProgressDue,
  planSharedSecret,
  planTermination,
  type DeletedSharedSecret,
  type ObservedSharedSecret,
} from "../../../src/domain/shared-secret/shared-secret.ts";
import type { ClusterSummary } from "../../../src/domain/outbox/cluster-sync.ts";
import {
  type LeftoverReport,
  summarize,
  type SyncSummary,
} from "../../../src/domain/sync/sync-summary.ts";
import { notesOf, statusPatch } from "../plan-model.ts";
import { noTargets } from "../sync-situations.ts";
import { born, observedMetadata, asStored } from "../../support/observed-objects.ts";
import { observedCopy, observedSource, type SourceChanges } from "../../support/observed-copies.ts";

const nothing: ObservedAccess = {
  roles: [],
  bindings: [],
  orphanedRoles: [],
  orphanedBindings: [],
  unmanaged: new Set(),
};
const prefixes = { user: "", team: "" };
const waiting = { desired: 1, pending: 1 };

type Changes = Partial<Omit<ObservedSharedSecret, "source" | "summary">> & {
  readonly source?: SourceChanges;
  readonly summary?: Partial<SyncSummary>;
};

function seen({ source, summary, ...rest }: Changes = {}): ObservedSharedSecret {
  const base = { access: nothing, prefixes, namespaceIsTerminating: false };
  return {
    ...base,
    source: observedSource(source),
    summary: { ...noTargets, ...summary },
    ...rest,
  };
}

function derived(hasDataCopy = false): ObservedAccess {
  const { secret } = observedSource({ secret: { owner: { user: "ann" } } });
  const roles = derivedRoles(secret.metadata, accessOf(secret, prefixes).grants, hasDataCopy);
  return {
    ...nothing,
    roles: roles.map((role) => parseRole(asStored(roleManifest(secret.metadata, role)))),
    bindings: roles.map((role) =>
      parseRoleBinding(asStored(bindingManifest(secret.metadata, role, role.subjects))),
    ),
  };
}

function outline({ steps }: Plan): readonly string[] {
  return steps.map((step) =>
    step
      .map(
        (write) =>
          `${write.do} ${write.do === "record-event" ? write.event.reason : write.resource.plural}${write.do === "patch" ? ` ${write.subresource ?? "metadata"}` : ""}`,
      )
      .join(", "),
  );
}

describe("the first reconcile", () => {
  test("only adds the finalizer", () => {
    const plan = planSharedSecret(
      seen({
        source: { metadata: { finalizers: ["theirs"] }, secret: { owner: { user: "ann" } } },
      }),
      born,
    );
    expect(outline(plan)).toEqual(["patch sharedsecrets metadata"]);
    expect(plan.steps[0]?.[0]).toMatchObject({
      body: { metadata: { resourceVersion: "7", finalizers: ["theirs", cleanupFinalizer] } },
    });
    expect(plan.result).toEqual({ kind: "done" });
  });

  test("does nothing in a terminating namespace", () => {
    expect(
      planSharedSecret(
        seen({ namespaceIsTerminating: true, source: { metadata: { finalizers: [] } } }),
        born,
      ).steps,
    ).toEqual([]);
    expect(planSharedSecret(seen({ namespaceIsTerminating: true }), born).steps).toEqual([]);
  });
});

describe("a SharedSecret that is being deleted", () => {
  const at = (kind: FinalizationPhase["kind"]) => ({
    phase: kind === "keep-grants" || kind === "settle" ? { kind, until: 9 } : { kind },
    now: born,
  });
  const going = (
    changes: Changes & { readonly unremoved?: readonly LeftoverReport[] } = {},
    finalizers = [cleanupFinalizer],
  ): DeletedSharedSecret => {
    const { unremoved = [], source = {}, ...rest } = changes;
    const observed = seen({
      ...rest,
      source: { ...source, metadata: { deletionTimestamp: "2026-01-01T00:01:00Z", finalizers } },
    });
    return { ...observed, summary: summarize(observed.source, [], [], unremoved) };
  };
  const copy = observedCopy(observedSource());
  const unremoved = [
    {
      target: { namespace: "pay", name: "db" },
      regarding: { resource: resources.secrets, subject: copy.metadata },
      why: "the data is still there",
    },
  ];
  const owned = { secret: { owner: { user: "ann" } } };
  const left = {
    metadata: observedMetadata({ name: "latchkey-left", namespace: "team" }),
    ownerReferences: [],
    rules: [],
  };

  test("keeps its grants first and reports Terminating", () => {
    const plan = planTermination(
      going({ source: owned, access: { ...derived(), orphanedRoles: [left] } }),
      at("keep-grants"),
    );
    expect(outline(plan)).toEqual(["delete roles", "patch sharedsecrets status"]);
    expect(plan.steps[0]).toMatchObject([{ ref: { name: "latchkey-left" } }]);
    expect(statusPatch(plan)).toMatchObject({
      observedGeneration: 3,
      conditions: [
        { type: "Ready", status: "False", reason: "Terminating" },
        { type: "Reconciling", status: "True" },
      ],
    });
  });

  test("says once which Secrets cannot be removed, and then that they are gone", () => {
    const plan = planTermination(going({ unremoved }), at("await-removal"));
    expect(outline(plan)).toEqual([
      "record-event RemovalBlocked, record-event RemovalBlocked",
      "patch sharedsecrets status",
    ]);
    expect(plan.steps[0]).toMatchObject([
      {
        event: {
          resource: resources.sharedSecrets,
          note: "1 Secret cannot be removed, first: pay/db: the data is still there",
        },
      },
      {
        event: {
          resource: resources.secrets,
          note: "SharedSecret team/db is withdrawn from Secret pay/db: the data is still there",
        },
      },
    ]);
    const failures = [
      { namespace: "pay", name: "db", reason: "RemovalBlocked", message: unremoved[0]?.why },
    ];
    const status = statusPatch(plan);
    expect(status).toMatchObject({
      sync: { unremoved: 1, failures },
      conditions: [
        { type: "Ready", status: "False", reason: "RemovalBlocked" },
        { type: "Reconciling", status: "True", reason: "RemovalBlocked" },
      ],
    });
    const said = { secret: { status, conditions: parseConditions(status) } };
    const again = planTermination(going({ source: said, unremoved }), at("await-removal"));
    expect(again.steps).toEqual([]);
    expect(
      statusPatch(planTermination(going({ source: said }), at("await-removal"))),
    ).toMatchObject({ sync: { unremoved: null, failures: null } });
  });

  test("revokes at once the access of subjects that its spec no longer grants by the same Role", () => {
    const plan = planTermination(
      going({ source: { secret: { owner: { user: "bob" } } }, access: derived() }),
      at("keep-grants"),
    );
    expect(outline(plan)).toEqual(["delete rolebindings", "patch sharedsecrets status"]);
  });

  const follower = (changes: Changes = {}): DeletedSharedSecret => {
    const found = going({ source: owned, ...changes });
    const followed = { name: "source", keys: undefined, state: "data" } as const;
    return { ...found, source: { ...found.source, followed } };
  };

  test("keeps the grants of readers whose copy of a followed Secret is removed already", () => {
    for (const access of [derived(), derived(true)])
      expect(outline(planTermination(follower({ access }), at("keep-grants")))).toEqual([
        "patch sharedsecrets status",
      ]);
    const plan = planTermination(
      going({ source: owned, access: derived(true) }),
      at("keep-grants"),
    );
    expect(outline(plan)[0]).toBe("delete rolebindings");
  });

  test("reviews both Roles that readers of a followed Secret may have had", () => {
    const names = [derived(), derived(true)].map(({ roles }) => roles[0]?.metadata.name ?? "");
    expect(new Set(names).size).toBe(2);
    expect(granteesOf(follower()).map(({ allowedBy }) => allowedBy)).toEqual(
      names.map((name) => `allowed by RoleBinding "${name}/team" `),
    );
    const lists = { access: [{ verbs: ["list"], subresources: [], users: ["ann"], teams: [] }] };
    expect(granteesOf(follower({ source: { secret: lists } }))).toHaveLength(1);
  });

  test("revokes at once all access of an edited Role", () => {
    const { roles, ...rest } = derived();
    const edited = roles.map((role) => ({
      ...role,
      rules: role.rules.map((rule) => ({ ...rule, verbs: ["*"] })),
    }));
    expect(
      outline(
        planTermination(
          going({ source: owned, access: { ...rest, roles: edited } }),
          at("keep-grants"),
        ),
      )[0],
    ).toBe("delete rolebindings");
  });

  test("removes only former subjects from a binding, and restores its label", () => {
    const { bindings, ...rest } = derived();
    const both = bindings.map((binding) => ({
      ...binding,
      metadata: { ...binding.metadata, labels: {} },
      subjects: [
        ...binding.subjects,
        { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "bob" },
      ],
    }));
    const plan = planTermination(
      going({ source: owned, access: { ...rest, bindings: both } }),
      at("keep-grants"),
    );
    expect(plan.steps[0]).toMatchObject([
      {
        do: "replace",
        object: {
          metadata: { labels: { [labels.sourceUid]: "uid-db" } },
          subjects: [{ name: "ann" }],
        },
      },
    ]);
  });

  test("revokes its grants after the settle time, bindings first", () => {
    const plan = planTermination(
      going({ source: owned, access: { ...derived(), orphanedRoles: [left] } }),
      at("revoke"),
    );
    expect(outline(plan)).toEqual([
      "delete rolebindings",
      "delete roles, delete roles",
      "patch sharedsecrets status",
    ]);
  });

  test.for(["settle", "review"] as const)("waits in phase %s", (kind) => {
    expect(outline(planTermination(going({ source: owned }), at(kind)))).toEqual([
      "patch sharedsecrets status",
    ]);
  });

  test("loses its finalizer without another status, and says what is left", () => {
    const plan = planTermination(going({ unremoved }), at("release"));
    expect(outline(plan)).toEqual([
      "record-event RemovalBlocked, record-event RemovalBlocked",
      "patch sharedsecrets metadata",
    ]);
    expect(plan.steps.at(-1)?.[0]).toMatchObject({ body: { metadata: { finalizers: [] } } });
    expect(outline(planTermination(going(), at("release")))).toEqual([
      "patch sharedsecrets metadata",
    ]);
  });

  test("reports that Latchkey has finished while other finalizers remain", () => {
    const others = [cleanupFinalizer, "theirs"];
    const plan = planTermination(going({}, others), at("release"));
    expect(outline(plan)).toEqual(["patch sharedsecrets status", "patch sharedsecrets metadata"]);
    expect(statusPatch(plan)).toMatchObject({
      conditions: [{ type: "Ready", status: "False", reason: "Terminating" }],
    });
    const { source } = going({}, ["theirs"]);
    const status = statusPatch(plan);
    const reported = {
      ...source,
      secret: { ...source.secret, status, conditions: parseConditions(status) },
    };
    expect(planTermination({ ...going(), source: reported }, at("release")).steps).toEqual([]);
  });

  test("reviews one subject of each binding, of its spec or existing, except unmanaged ones", () => {
    const access = derived();
    const names = access.bindings.map(({ metadata }) => metadata.name);
    expect(granteesOf(going({ source: owned, access: nothing }))).toMatchObject([
      {
        subject: { kind: "User", name: "ann" },
        verb: "delete",
        allowedBy: `allowed by RoleBinding "${names[0]}/team" `,
      },
    ]);
    expect(granteesOf(going({ access })).map(({ subject }) => subject.name)).toEqual(["ann"]);
    expect(
      granteesOf(going({ source: owned, access: { ...nothing, unmanaged: new Set(names) } })),
    ).toEqual([]);
    expect(granteesOf(going())).toEqual([]);
  });
});

describe("a reconcile", () => {
  test("applies access before it writes the status", () => {
    const plan = planSharedSecret(seen({ source: { secret: { owner: { user: "ann" } } } }), born);
    expect(outline(plan)).toEqual([
      "create roles",
      "create rolebindings",
      "record-event Ready",
      "patch sharedsecrets status",
    ]);
    expect(statusPatch(plan)).toMatchObject({
      observedGeneration: 3,
      keys: 1,
      access: { roles: 1, bindings: 1 },
    });
  });

  test("writes nothing if nothing has changed", () => {
    const source = { secret: { owner: { user: "ann" } } };
    const status = statusPatch(planSharedSecret(seen({ source }), born));
    const conditions = parseConditions(status);
    const again = seen({
      source: { secret: { ...source.secret, status, conditions } },
      access: derived(),
    });
    expect(planSharedSecret(again, born + 60_000)).toEqual({
      steps: [],
      result: { kind: "done" },
    });
  });

  test("does not change an unmanaged Role with a derived name, and reports it", () => {
    const [role] = derived().roles;
    const plan = planSharedSecret(
      seen({
        source: { secret: { owner: { user: "ann" } } },
        access: { ...nothing, unmanaged: new Set([role?.metadata.name ?? ""]) },
      }),
      born,
    );
    expect(outline(plan)).toEqual(["record-event NameConflict", "patch sharedsecrets status"]);
    expect(statusPatch(plan)).toMatchObject({ access: { roles: 0, bindings: 0 } });
  });

  test("applies valid rules if another one is invalid", () => {
    const rule = { verbs: ["get"], subresources: [], users: ["ann"], teams: [] };
    const plan = planSharedSecret(
      seen({ source: { secret: { access: [{ ...rule, verbs: [] }, rule] } } }),
      born,
    );
    expect(outline(plan)).toEqual([
      "create roles",
      "create rolebindings",
      "record-event InvalidAccessRule",
      "patch sharedsecrets status",
    ]);
  });
});

describe("the status of a fan-out", () => {
  test.for<[string, Changes, number, readonly string[], object]>([
    [
      "is not written at once, because it changes soon",
      { summary: waiting },
      born,
      [],
      { kind: "requeue-at", at: born + 1000 },
    ],
    [
      "waits a second from the first reconcile",
      { summary: waiting, waitingSince: born },
      born + 999,
      [],
      { kind: "requeue-at", at: born + 1000 },
    ],
    [
      "reports progress then, and waits for a change of a target",
      { summary: waiting, waitingSince: born },
      born + 1000,
      ["patch sharedsecrets status"],
      { kind: "done" },
    ],
    [
      "is written once all targets are written",
      { summary: { desired: 1, synced: 1 }, waitingSince: born },
      born + 5,
      ["record-event Ready", "patch sharedsecrets status"],
      { kind: "done" },
    ],
    [
      "does not wait if sync is paused",
      { summary: waiting, source: { options: { paused: true } } },
      born,
      ["record-event Ready", "patch sharedsecrets status"],
      { kind: "done" },
    ],
  ])("%s", ([, changes, now, steps, next]) => {
    const plan = planSharedSecret(seen(changes), now);
    expect(outline(plan)).toEqual(steps);
    expect(plan.result).toEqual(next);
  });

  test("is due after exactly a second", () => {
    expect([isProgressDue(born, born + 999), isProgressDue(born, born + 1000)]).toEqual([
      false,
      true,
    ]);
  });
});

describe("Events about problems", () => {
  const problem = { reason: "TooLarge", message: "split it" } as const;
  const condition = (type: string, status: "True" | "False", reason: string): Condition => ({
    type,
    status,
    reason,
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });

  const since = "2026-01-01T00:00:00Z";
  const troubled = { source: { options: { problem } } };
  const counts = { desired: 1, synced: 1, conflicts: 0, failed: 0 };
  const clustersWith = (reason?: string): ClusterSummary => ({
    clusters: [{ name: "east", ...counts, ...(reason === undefined ? {} : { reason }) }],
    counts: { named: 1, synced: reason === undefined ? 1 : 0 },
  });
  const [failing, inProgress] = ["ClusterUnreachable", "Progressing"].map(clustersWith);
  const synced = clustersWith();
  test.for<[string, readonly Condition[], Changes, readonly string[]]>([
    [
      "warn once for all conditions that become False",
      [],
      troubled,
      ["Warning TooLarge generation 3"],
    ],
    [
      "warn if there was no problem",
      [condition("Ready", "True", "Ready")],
      troubled,
      [`Warning TooLarge generation 3 since ${since}`],
    ],
    [
      "do not repeat a warning",
      [condition("Ready", "False", "TooLarge"), condition("Synced", "False", "TooLarge")],
      troubled,
      [],
    ],
    [
      "warn again for another reason",
      [condition("Ready", "False", "NameConflict")],
      troubled,
      [`Warning TooLarge generation 3 since ${since}`],
    ],
    [
      "do not repeat a warning if there were other problems, too",
      [condition("Ready", "False", "TooLarge"), condition("Synced", "False", "Failed")],
      troubled,
      [],
    ],
    [
      "warn of targets while Ready stays True",
      [],
      { summary: { desired: 1, conflicts: 1 } },
      ["Warning Conflict generation 3"],
    ],
    [
      "are not recorded while targets are pending",
      [],
      { summary: waiting, waitingSince: born - 5000 },
      [],
    ],
    [
      "report a new object while sync is paused",
      [],
      { source: { options: { paused: true } } },
      ["Normal Ready generation 3"],
    ],
    [
      "report a new object without targets",
      [],
      { summary: { emptyProjects: [{ project: "*", namespaces: 0, accepting: 0 }] } },
      ["Normal Ready generation 3"],
    ],
    ["report a new object without problems", [], {}, ["Normal Ready generation 3"]],
    ["are not recorded while an object stays ready", [condition("Ready", "True", "Ready")], {}, []],
    [
      "record the end of a problem as Normal",
      [condition("Ready", "False", "TooLarge")],
      {},
      [`Normal Ready generation 3 since ${since}`],
    ],
    [
      "record the end of problems at targets as Normal",
      [condition("Ready", "True", "Ready"), condition("Synced", "False", "Conflict")],
      {},
      [`Normal Ready generation 3 since ${since}`],
    ],
    [
      "do not record the end of a problem while targets are pending",
      [condition("Ready", "False", "TooLarge")],
      { summary: waiting, waitingSince: born - 5000 },
      [],
    ],
    [
      "report the end of a wait",
      [condition("Ready", "False", "Progressing"), condition("Synced", "False", "Paused")],
      {},
      [`Normal Ready generation 3 since ${since}`],
    ],
    [
      "warn of a connected cluster while Ready stays True",
      [condition("Ready", "True", "Ready")],
      { clusters: failing },
      ["Warning ClusterUnreachable generation 3"],
    ],
    [
      "warn of a connected cluster and of targets at home",
      [condition("Ready", "True", "Ready"), condition("ClustersSynced", "True", "Synced")],
      { clusters: failing, summary: { desired: 1, conflicts: 1 } },
      ["Warning Conflict generation 3", `Warning ClusterUnreachable generation 3 since ${since}`],
    ],
    [
      "do not warn of a connected cluster again",
      [
        condition("Ready", "True", "Ready"),
        condition("ClustersSynced", "False", "ClusterUnreachable"),
      ],
      { clusters: failing },
      [],
    ],
    [
      "warn once of a source that is invalid",
      [],
      { ...troubled, clusters: failing },
      ["Warning TooLarge generation 3"],
    ],
    [
      "report a new object while connected clusters are in progress",
      [],
      { clusters: inProgress },
      ["Normal Ready generation 3"],
    ],
    [
      "report a new object, and nothing of clusters that are well",
      [],
      { clusters: synced },
      ["Normal Ready generation 3"],
    ],
    [
      "record the end of a problem in a connected cluster as Normal",
      [condition("Ready", "True", "Ready"), condition("ClustersSynced", "False", "Failed")],
      { clusters: synced },
      [`Normal Synced generation 3 since ${since}`],
    ],
  ])("%s", ([, conditions, changes, notes]) => {
    const source = { ...changes.source, secret: { conditions } };
    expect(notesOf(planSharedSecret(seen({ ...changes, source }), born))).toEqual(notes);
  });
});

describe("an Event at a target with a problem", () => {
  const regarding = {
    resource: resources.secrets,
    subject: { namespace: "pay", name: "db", uid: "uid-theirs" },
  };
  const failure = {
    kind: "conflict",
    namespace: "pay",
    name: "db",
    reason: "NotManaged",
    message: "rename it",
    regarding,
  } as const;
  const summary = { desired: 1, conflicts: 1, failures: [failure] };
  const eventsFor = (source: SourceChanges = {}) =>
    planSharedSecret(seen({ summary, source }), born)
      .steps.flat()
      .flatMap((write) =>
        write.do === "record-event" && write.event.resource !== resources.sharedSecrets
          ? [write.event]
          : [],
      );

  test("names the SharedSecret and the Secret", () => {
    const note = "SharedSecret team/db is not synced to Secret pay/db: rename it";
    expect(eventsFor()).toEqual([
      { ...regarding, type: "Warning", reason: "Conflict", note, deduplicationKey: "uid-db 7" },
    ]);
  });

  test("is recorded once, and not while the status lists the failure", () => {
    const { kind: _, regarding: __, ...entry } = failure;
    expect(eventsFor({ secret: { status: { sync: { failures: [entry] } } } })).toEqual([]);
    expect(
      eventsFor({
        secret: { status: { sync: { failures: [{ ...entry, reason: "OlderSource" }] } } },
      }),
    ).toHaveLength(1);
  });
});
