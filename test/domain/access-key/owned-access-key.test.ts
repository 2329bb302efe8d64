import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { parseConditions } from "../../../src/api/parse.ts";
import type { Metadata } from "../../../src/api/object.ts";
import {
  type ObservedOwnedAccessKey,
  planKeyReport,
  planOwnedAccessKey,
} from "../../../src/domain/access-key/owned-access-key.ts";
import type { Plan } from "../../../src/domain/plan/plan.ts";
import { type KeyChanges, resolvedKey } from "./resolved-key.ts";
import { applyAnnotations, applyStatus, notesOf, statusPatch } from "../plan-model.ts";
import { born, observedMetadata } from "../../support/observed-objects.ts";

const alice = { kind: "known", name: "alice", uid: "", groups: [] } as const;
const day = 86_400;
const recorded = observedMetadata({
  annotations: { [annotations.createdAt]: "2026-01-01T00:00:00Z" },
});

interface Changes
  extends Omit<KeyChanges, "config">, Partial<Omit<ObservedOwnedAccessKey, keyof KeyChanges>> {
  readonly config?: Partial<ObservedOwnedAccessKey["config"]>;
}

function viewOf({ config, ...changes }: Changes = {}): ObservedOwnedAccessKey {
  const key = { metadata: recorded, status: { observedGeneration: -1 }, ...changes.key };
  const resolved = resolvedKey({ ...changes, key });
  return {
    grant: { granted: true, named: true, namedByOthers: false },
    unknownRoles: [],
    ...changes,
    ...resolved,
    config: { ...resolved.config, deleteExpiredKeysAfter: undefined, ...config },
  };
}

/** The key after the annotation and status writes of the plan. */
function after(view: ObservedOwnedAccessKey, plan: Plan): ObservedOwnedAccessKey {
  const status = applyStatus(view.key.status, plan);
  return {
    ...view,
    key: {
      ...view.key,
      metadata: applyAnnotations(view.key.metadata, plan),
      status,
      conditions: parseConditions(status),
    },
  };
}

/** The key after its reconcile, and after the next one if it expired. */
function settledAt(view: ObservedOwnedAccessKey, now: number): ObservedOwnedAccessKey {
  const first = after(view, planOwnedAccessKey(view, now));
  return after(first, planOwnedAccessKey(first, now));
}

function conditionsOf(view: ObservedOwnedAccessKey, now: number): Record<string, string> {
  const { conditions } = after(view, planOwnedAccessKey(view, now)).key;
  return Object.fromEntries(
    conditions.map(({ type, status, reason }) => [type, `${status}/${reason}`]),
  );
}

const failed = (reason: string) => ({
  Ready: `False/${reason}`,
  Active: `False/${reason}`,
  Stalled: `True/${reason}`,
});
const lasting = { Expired: "False/NotExpired", Expiring: "False/NotExpiring" };
const active = { Ready: "True/Active", Active: "True/Active", ...lasting };
const ended = { ...failed("Expired"), Expired: "True/Expired", Expiring: "False/Expired" };
const disabled = { ...lasting, Ready: "True/Disabled", Active: "False/Disabled" };
const refused = (reason: string) => ({ ...lasting, ...failed(reason) });
const keyWith = (metadata: Partial<Metadata>) => ({ metadata: observedMetadata(metadata) });
const duplicate = { kind: "duplicate", by: "two" } as const;
const failure = {
  kind: "failed",
  reason: "InternalError",
  message: "POST /x: 500",
  since: born,
} as const;
const unknown = { kind: "unknown", why: "nobody knows" } as const;

describe("the conditions of a key", () => {
  const unapplied = { Ready: "False/ApplyFailed", Reconciling: "True/ApplyFailed" };
  const badScope = { Ready: "False/InvalidScope", Stalled: "True/InvalidScope" };
  const late = { spec: { ttl: 5, disabled: true }, requester: unknown, duplicate };
  const unknownRoles = ["viewer"];
  const keyless = { key: { keyDigest: undefined } };
  const off = { spec: { disabled: true } };

  test.each<[string, Changes, Record<string, string>, number?]>([
    ["report Active for a valid key", {}, active],
    ["report Active for the key of a team", { owner: { team: "t" } }, active],
    ["report Active for a generic subject", { owner: { subject: "s" } }, active],
    ["report Active until the expiry", { spec: { ttl: 5 } }, active, 4_999],
    ["report Expired at the expiry", { spec: { ttl: 5 } }, ended, 5_000],
    [
      "report Expiring in the last tenth of the lifetime",
      { spec: { ttl: 10 * day } },
      { ...active, Expiring: "True/Expiring" },
      9 * day * 1000,
    ],
    ["report Disabled and Ready", off, disabled],
    ["report UnknownRequester", { requester: unknown }, refused("UnknownRequester")],
    ["report MissingKey", keyless, refused("MissingKey")],
    [
      "report InvalidKey for a digest that is not bound",
      { key: { ...keyless.key, isUnbound: true } },
      refused("InvalidKey"),
    ],
    ["report MissingSubject", { owner: {} }, refused("MissingSubject")],
    ["report ParentKeyInvalid", { parentKey: "gone" }, refused("ParentKeyInvalid")],
    [
      "report InvalidScope for an unknown role and stay Active",
      { unknownRoles },
      { ...active, ...badScope },
    ],
    ["prefer Disabled to an unknown role", { unknownRoles, ...off }, disabled],
    [
      "prefer a failure to an unknown role",
      { unknownRoles, parentKey: "gone" },
      refused("ParentKeyInvalid"),
    ],
    ["report DuplicateKey", { duplicate }, refused("DuplicateKey")],
    ["prefer Expired to everything else", late, ended, 5_000],
    [
      "prefer UnknownRequester to a missing key",
      { requester: unknown, ...keyless },
      refused("UnknownRequester"),
    ],
    [
      "report ApplyFailed while the key cannot be applied, and stay Active",
      { failure },
      { ...active, ...unapplied },
    ],
    [
      "prefer a problem of the spec to a failure to apply",
      { failure, duplicate },
      refused("DuplicateKey"),
    ],
    ["prefer a failure to Disabled", { ...off, duplicate }, refused("DuplicateKey")],
  ])("%s", (_rule, changes, conditions, age = 0) => {
    expect(conditionsOf(viewOf(changes), born + age)).toEqual(conditions);
  });

  test.each<[string, Changes, string]>([
    [
      "names the older object and not the key",
      { duplicate },
      `The older OwnedAccessKey "two" has the same key. Set another spec.key.`,
    ],
    [
      "does not name the object of another requester",
      { duplicate: { kind: "duplicate" } },
      "An older OwnedAccessKey of another requester has the same key. Set another spec.key.",
    ],
    [
      "names the limit of one index",
      { duplicate: { kind: "over-limit" } },
      `Requester "alice" has 4 older OwnedAccessKeys whose digests begin with the same 16 digits, which is the limit. Delete one of them, or set another spec.key.`,
    ],
    [
      "names the unknown roles and the label",
      { unknownRoles: ["viewer", "x"] },
      'spec.scope.roles: roles that do not exist allow nothing: "viewer", "x". Set the label management.service/scope-role of a ClusterRole to the name of the role, or name another role.',
    ],
    [
      "contains the state of the parent key",
      { parentKey: viewOf({ spec: { disabled: true } }) },
      'The parent access key "one" is Disabled, so this key is rejected too. Create the key again with a valid credential.',
    ],
    [
      "contains the expiry",
      { spec: { ttl: 60 } },
      "The key is accepted. It expires at 2026-01-01T00:01:00Z.",
    ],
    ["says that the key does not expire", {}, "The key is accepted. It does not expire."],
    [
      "says that the maximum applies",
      { spec: { ttl: 60 }, config: { maximumKeyTtl: 30 } },
      "The key is accepted. It expires at 2026-01-01T00:00:30Z. The configured maximum of 30s applies.",
    ],
  ])("the message %s", (_rule, changes, message) => {
    const view = viewOf(changes);
    const { conditions } = after(view, planOwnedAccessKey(view, born)).key;
    expect(conditions.find(({ type }) => type === "Ready")?.message).toBe(message);
  });
});

describe("the report of a key that cannot be applied", () => {
  const failing = viewOf({ failure });

  test("contains its status and one Event, and is written once", () => {
    const plan = planKeyReport(failing, born);
    expect(plan.steps.map((step) => step.map((write) => write.do))).toEqual([
      ["record-event"],
      ["patch"],
    ]);
    expect(notesOf(plan)).toEqual(["Warning ApplyFailed generation 3"]);
    expect(planKeyReport(after(failing, plan), born + 60_000).steps).toEqual([]);
  });

  test("includes a key without a finalizer and adds none", () => {
    const unheld = viewOf({ failure, key: keyWith({ finalizers: [] }) });
    expect(statusPatch(planKeyReport(unheld, born))).toMatchObject({ keyID: "uid-one" });
    expect(
      planKeyReport(unheld, born)
        .steps.flat()
        .filter((write) => write.do === "patch"),
    ).toHaveLength(1);
  });

  test("contains Expired for an expired key", () => {
    const expired = viewOf({ failure, spec: { ttl: 5 } });
    const { conditions } = after(expired, planKeyReport(expired, born + 5_000)).key;
    expect(conditions.find(({ type }) => type === "Ready")).toMatchObject({
      reason: "Expired",
      message: expect.stringContaining("POST /x: 500"),
    });
  });
});

describe("the status of a key", () => {
  test("contains the generation, the expiry and the uid, and keeps lastActivity", () => {
    const lastActivity = "2026-01-01T00:00:02Z";
    const view = viewOf({
      spec: { ttl: 5, ttlAfterLastActivity: true },
      key: { lastActivity, status: { observedGeneration: -1, lastActivity } },
    });
    const { status } = after(view, planOwnedAccessKey(view, born)).key;
    expect(status).toMatchObject({
      observedGeneration: 3,
      expiresAt: "2026-01-01T00:00:07Z",
      keyID: "uid-one",
      lastActivity,
    });
    expect(statusPatch(planOwnedAccessKey(view, born))).not.toHaveProperty("lastActivity");
  });

  test("ignores the last use unless ttlAfterLastActivity is set", () => {
    const view = viewOf({ spec: { ttl: 5 }, key: { lastActivity: "2026-01-01T00:00:02Z" } });
    expect(statusPatch(planOwnedAccessKey(view, born))).toMatchObject({
      expiresAt: "2026-01-01T00:00:05Z",
    });
  });

  test("removes expiresAt when the ttl is removed", () => {
    const view = viewOf({ key: { status: { expiresAt: "2026-01-01T00:00:05Z" } } });
    expect(statusPatch(planOwnedAccessKey(view, born))).toMatchObject({ expiresAt: null });
  });

  test("is written once and never contains the digest", () => {
    fc.assert(
      fc.property(views(), fc.integer({ min: 0, max: 20 * day * 1000 }), (view, age) => {
        const first = planOwnedAccessKey(view, born + age);
        const settled = settledAt(view, born + age);
        expect(
          planOwnedAccessKey(settled, born + age)
            .steps.flat()
            .filter(({ do: what }) => what !== "delete"),
        ).toEqual([]);
        expect(settled.key.status).toEqual(after(view, first).key.status);
        expect(JSON.stringify(first)).not.toContain("digest-of-the-key");
      }),
    );
  });

  test("contains Expired from the expiry on, and the reconcile before requeues at that instant", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.integer({ min: 0, max: 2 ** 41 }),
        (ttl, age) => {
          const view = viewOf({ spec: { ttl } });
          const over = age >= ttl * 1000;
          expect(conditionsOf(view, born + age)["Expired"]).toBe(
            over ? "True/Expired" : "False/NotExpired",
          );
          const { result: next } = planOwnedAccessKey(settledAt(view, born + age), born + age);
          const wakesInTime =
            next.kind === "requeue-at" && next.at > born + age && next.at <= born + ttl * 1000;
          expect(wakesInTime).toBe(!over);
        },
      ),
    );
  });
});

function views(): fc.Arbitrary<ObservedOwnedAccessKey> {
  return fc
    .record({
      ttl: fc.constantFrom(0, 5, 10 * day),
      disabled: fc.boolean(),
      keyDigest: fc.constantFrom(undefined, "digest-of-the-key"),
      duplicate: fc.constantFrom(undefined, duplicate),
      requester: fc.constantFrom(alice, unknown),
      maximumKeyTtl: fc.constantFrom(0, 3),
      deleteExpiredKeysAfter: fc.constantFrom(undefined, 0, 60),
    })
    .map(({ ttl, disabled, keyDigest, maximumKeyTtl, deleteExpiredKeysAfter, ...rest }) =>
      viewOf({
        ...rest,
        spec: { ttl, disabled },
        key: { keyDigest },
        config: { maximumKeyTtl, deleteExpiredKeysAfter },
      }),
    );
}

describe("the annotations of a key", () => {
  const withAnnotations = (given: Readonly<Record<string, string>>, changes: Changes = {}) =>
    viewOf({ ...changes, key: { ...changes.key, ...keyWith({ annotations: given }) } });
  const recordsOf = (view: ObservedOwnedAccessKey, now: number) =>
    settledAt(view, now).key.metadata.annotations;
  const startAt = (instant: string) => ({ [annotations.createdAt]: instant });
  const endAt = (instant: string) => ({ [annotations.expiredAt]: instant });
  const started = startAt("2026-01-01T00:00:00Z");
  const restored = startAt("2025-12-31T23:00:00Z");
  const ended = { ...started, ...endAt("2026-01-01T00:00:05Z") };
  const endedBefore = endAt("2025-12-31T23:30:00Z");
  const ofBob = { ...started, [annotations.formerRequester]: "bob" };
  const taken = { granted: true, named: true, namedByOthers: true };
  const [brief, long] = [{ spec: { ttl: 5 } }, { spec: { ttl: 1e6 } }];

  test.each<[string, ObservedOwnedAccessKey, Readonly<Record<string, string>>, number?]>([
    ["record the start of its lifetime", withAnnotations({}), started],
    ["keep an earlier start", withAnnotations(restored), restored],
    [
      "correct a start after the creation, which a later restore would use",
      withAnnotations(startAt("2099-01-01T00:00:00Z")),
      started,
    ],
    ["correct an invalid start", withAnnotations(startAt("soon")), started],
    ["record the expiry", viewOf(brief), ended, 5_000],
    ["record no expiry in the future", viewOf(brief), started, 4_999],
    [
      "remove an expiry when the ttl is extended",
      withAnnotations(ended, { spec: { ttl: 600 } }),
      started,
      6_000,
    ],
    [
      "remove an expiry in the future",
      withAnnotations({ ...started, ...endAt("2099-01-01T00:00:00Z") }),
      started,
    ],
    [
      "keep an expiry before the creation when the ttl is extended",
      withAnnotations({ ...restored, ...endedBefore }, long),
      { ...restored, ...endedBefore },
    ],
    [
      "record the expiry in whole seconds",
      withAnnotations(started, {
        spec: { ttl: 5, ttlAfterLastActivity: true },
        key: { lastActivity: "2026-01-01T00:00:01.700Z" },
      }),
      { ...started, ...endAt("2026-01-01T00:00:06Z") },
      6_700,
    ],
    [
      "keep a former requester that is still granted the key",
      withAnnotations(ofBob, { grant: taken }),
      ofBob,
    ],
    ["remove a former requester whose grant is deleted", withAnnotations(ofBob), started],
  ])("%s", (_rule, view, expected, age = 0) => {
    expect(recordsOf(view, born + age)).toEqual(expected);
  });

  test("are written with the finalizer", () => {
    const plan = planOwnedAccessKey(viewOf({ key: keyWith({ finalizers: [] }) }), born);
    const metadata = { finalizers: ["management.service/cleanup"], annotations: started };
    expect(plan.steps).toMatchObject([[{ do: "patch", body: { metadata } }]]);
  });

  test.each<[string, ObservedOwnedAccessKey, string]>([
    [
      "counts from the earlier start",
      withAnnotations(restored, { spec: { ttl: 5400 } }),
      "2026-01-01T00:30:00Z",
    ],
    [
      "counts from the creation if the recorded start is later",
      withAnnotations(startAt("2026-01-01T00:00:01Z"), { spec: { ttl: 60 } }),
      "2026-01-01T00:01:00Z",
    ],
    [
      "counts from the earlier start if the last use was lost in the restore",
      withAnnotations(restored, { spec: { ttl: 5400, ttlAfterLastActivity: true } }),
      "2026-01-01T00:30:00Z",
    ],
    [
      "keeps the recorded expiry without a ttl",
      withAnnotations({ ...restored, ...endedBefore }),
      "2025-12-31T23:30:00Z",
    ],
    [
      "keeps the recorded expiry with a longer ttl",
      withAnnotations(endedBefore, long),
      "2025-12-31T23:30:00Z",
    ],
    [
      "keeps a recorded expiry in the second of the creation",
      withAnnotations(endAt("2026-01-01T00:00:00Z")),
      "2026-01-01T00:00:00Z",
    ],
    [
      "expires after its ttl if the recorded expiry is later",
      withAnnotations(endAt("2099-01-01T00:00:00Z"), { spec: { ttl: 60 } }),
      "2026-01-01T00:01:00Z",
    ],
  ])("a restored lifetime %s", (_rule, view, end) => {
    expect(statusPatch(planOwnedAccessKey(view, born))).toMatchObject({ expiresAt: end });
    expect(conditionsOf(view, born)["Expired"]).toBe(
      Date.parse(end) <= born ? "True/Expired" : "False/NotExpired",
    );
  });
});

describe("Events about a key", () => {
  /** Events of a reconcile, and of the next one if the key expired. */
  const allNotesOf = (view: ObservedOwnedAccessKey, now: number) => {
    const first = planOwnedAccessKey(view, now);
    return [...notesOf(first), ...notesOf(planOwnedAccessKey(after(view, first), now))];
  };

  test.each<[string, Changes, readonly string[], number?]>([
    ["report once that a key is valid", {}, ["Normal Active generation 3"]],
    [
      "report once that a key is disabled",
      { spec: { disabled: true } },
      ["Normal Disabled generation 3"],
    ],
    [
      "warn of the expiry, with the expiry as deduplicationKey",
      { spec: { ttl: 5 } },
      ["Warning Expired 2026-01-01T00:00:05Z"],
      5_000,
    ],
    [
      "announce the expiry",
      { spec: { ttl: 10 * day } },
      ["Normal Expiring 2026-01-11T00:00:00Z", "Normal Active generation 3"],
      9 * day * 1000,
    ],
    [
      "warn of another failure, with the generation in the deduplicationKey",
      { duplicate },
      ["Warning DuplicateKey generation 3"],
    ],
  ])("%s", (_rule, changes, notes, age = 0) => {
    expect(allNotesOf(viewOf(changes), born + age)).toEqual(notes);
  });

  test("are recorded before the status", () => {
    const { steps } = planOwnedAccessKey(viewOf({ duplicate }), born);
    expect(steps.map((step) => step.map((write) => write.do))).toEqual([
      ["record-event"],
      ["patch"],
    ]);
  });

  test("of the expiry are recorded after the status, which is written first and alone, and before the annotation", () => {
    const view = viewOf({ spec: { ttl: 5 } });
    const first = planOwnedAccessKey(view, born + 5_000);
    expect(first).toMatchObject({
      steps: [[{ do: "patch", subresource: "status" }]],
      result: { kind: "done" },
    });
    const { steps } = planOwnedAccessKey(after(view, first), born + 5_000);
    const metadata = { annotations: { [annotations.expiredAt]: "2026-01-01T00:00:05Z" } };
    expect(steps).toMatchObject([[{ do: "record-event" }], [{ do: "patch", body: { metadata } }]]);
  });

  test("of the expiry are not repeated when a recorded expiry moves", () => {
    const start = { [annotations.createdAt]: "2026-01-01T00:00:00Z" };
    const end = { [annotations.expiredAt]: "2026-01-01T00:00:05Z" };
    const key = keyWith({ annotations: { ...start, ...end } });
    const ended = settledAt(viewOf({ spec: { ttl: 5 }, key }), born + 6_000);
    const moved = { ...ended, key: { ...ended.key, spec: { ...ended.key.spec, ttl: 4 } } };
    expect(allNotesOf(moved, born + 6_000)).toEqual([]);
  });

  test("are repeated when the reason changes", () => {
    const first = viewOf({ duplicate });
    const second = { ...after(first, planOwnedAccessKey(first, born)), requester: unknown };
    expect(notesOf(planOwnedAccessKey(second, born))).toEqual([
      "Warning UnknownRequester generation 3 since 2026-01-01T00:00:00Z",
    ]);
  });

  test.each<[string, Changes, readonly string[]]>([
    ["a failure", { duplicate }, ["Normal Active generation 3 since 2026-01-01T00:00:00Z"]],
    ["an expiry", { spec: { ttl: 5 } }, ["Normal Active generation 3 since 2026-01-01T00:00:10Z"]],
    [
      "Disabled",
      { spec: { disabled: true } },
      ["Normal Active generation 3 since 2026-01-01T00:00:00Z"],
    ],
  ])("report once that a key is valid again after %s", (_rule, changes, notes) => {
    const first = viewOf(changes);
    const now = changes.spec?.ttl === undefined ? born : born + 10_000;
    const troubled = settledAt(first, now);
    const mended = {
      ...viewOf(),
      key: { ...viewOf().key, status: troubled.key.status, conditions: troubled.key.conditions },
    };
    const plan = planOwnedAccessKey(mended, now);
    expect(notesOf(plan)).toEqual(notes);
    expect(notesOf(planOwnedAccessKey(after(mended, plan), now))).toEqual([]);
  });
});

describe("the lifecycle of a key", () => {
  test("starts with only the finalizer", () => {
    const plan = planOwnedAccessKey(viewOf({ key: keyWith({ finalizers: ["x"] }) }), born);
    const metadata = { resourceVersion: "7", finalizers: ["x", "management.service/cleanup"] };
    expect(plan.steps).toMatchObject([[{ do: "patch", body: { metadata } }]]);
  });

  const opted = { spec: { ttl: 5 }, config: { deleteExpiredKeysAfter: 60 } };

  const idle = { steps: [], result: { kind: "done" } };
  const waiting = { steps: [], result: { kind: "requeue-at", at: born + 65_000 } };
  const deleting = { steps: [[{ do: "delete", uid: "uid-one", resourceVersion: "7" }]] };

  test.each<[string, Changes, number, object]>([
    ["keeps an expired key forever by default", { spec: { ttl: 5 } }, 1e9, idle],
    ["keeps a key that does not expire", { config: { deleteExpiredKeysAfter: 60 } }, 1e9, idle],
    ["keeps an expired key for the configured time", opted, 64_999, waiting],
    ["deletes it then, by uid and resourceVersion", opted, 65_000, deleting],
  ])("%s", (_rule, changes, age, plan) => {
    const settled = settledAt(viewOf(changes), born + age);
    expect(planOwnedAccessKey(settled, born + age)).toMatchObject(plan);
  });

  test("does not delete a key before its expiry is recorded", () => {
    const view = viewOf(opted);
    const said = after(view, planOwnedAccessKey(view, born + 65_000));
    expect(notesOf(planOwnedAccessKey(said, born + 65_000))).toEqual([
      "Warning Expired 2026-01-01T00:00:05Z",
    ]);
  });
});
