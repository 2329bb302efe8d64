import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cleanupFinalizer } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import { granteeOfRoleBinding } from "../../../src/domain/grants/former-grantee.ts";
import {
  addFinalizer,
  deletionAfter,
  hasFinalizer,
  newDeletion,
  planFinalization,
  planStuckFinalization,
  finalizationPhase,
  type FinalizationPhase,
  type ObservedFinalization,
  removeFinalizer,
} from "../../../src/domain/plan/finalization.ts";
import { statusPatch } from "../plan-model.ts";
import { born, deletedMetadata, observedMetadata } from "../../support/observed-objects.ts";

const base: ObservedFinalization = {
  hasGrantees: true,
  now: 0,
  seenAt: 0,
  grantsGoneAt: undefined,
  settleMs: 2_000,
  isStillHonoured: undefined,
};

describe("an object that is being deleted", () => {
  test.each<[string, Partial<ObservedFinalization>, FinalizationPhase]>([
    ["is released at once without grantees", { hasGrantees: false }, { kind: "release" }],
    ["keeps its grants first", { now: 1_999 }, { kind: "keep-grants", until: 2_000 }],
    ["loses its grants after the settle time", { now: 2_000 }, { kind: "revoke" }],
    ["loses its grants at once without a settle time", { settleMs: 0 }, { kind: "revoke" }],
    [
      "waits for the settle time after its grants are deleted",
      { now: 5_000, grantsGoneAt: 3_001 },
      { kind: "settle", until: 5_001 },
    ],
    ["is reviewed then", { now: 5_001, grantsGoneAt: 3_001 }, { kind: "review" }],
    [
      "is reviewed without a settle time, too",
      { settleMs: 0, grantsGoneAt: 0 },
      { kind: "review" },
    ],
    [
      "is released once no grant is honoured",
      { now: 5_001, grantsGoneAt: 3_001, isStillHonoured: false },
      { kind: "release" },
    ],
    [
      "waits while a grant is honoured",
      { now: 5_001, grantsGoneAt: 3_001, isStillHonoured: true },
      { kind: "settle", until: 5_251 },
    ],
    [
      "waits at most a minute for that",
      { now: 65_001, grantsGoneAt: 3_001, isStillHonoured: true },
      { kind: "release" },
    ],
  ])("%s", (_rule, changes, phase) => {
    expect(finalizationPhase({ ...base, ...changes })).toEqual(phase);
  });

  test.each<[string, Partial<ObservedFinalization>, FinalizationPhase]>([
    ["is held without grantees", { hasGrantees: false }, { kind: "settle", until: 30_000 }],
    ["is released once nothing holds it", { hasGrantees: false, now: 30_000 }, { kind: "release" }],
    ["keeps its grants no longer than otherwise", { now: 2_000 }, { kind: "revoke" }],
    [
      "is held after its grants",
      { now: 5_001, grantsGoneAt: 3_001, isStillHonoured: false },
      { kind: "settle", until: 30_000 },
    ],
  ])("of which others hold data %s", (_rule, changes, phase) => {
    expect(finalizationPhase({ ...base, heldUntil: 30_000, ...changes })).toEqual(phase);
  });

  const seen = fc.record({
    hasGrantees: fc.constant(true),
    seenAt: fc.integer({ min: 0, max: 10_000 }),
    settleMs: fc.integer({ min: 0, max: 5_000 }),
    now: fc.integer({ min: 0, max: 100_000 }),
    grantsGoneAt: fc.option(fc.integer({ min: 0, max: 100_000 }), { nil: undefined }),
    isStillHonoured: fc.constantFrom(undefined, false, true),
  });

  test("is not released while a grant exists, before the settle time after it, or without a review", () => {
    fc.assert(
      fc.property(seen, (facts) => {
        if (finalizationPhase(facts).kind !== "release") return;
        expect(facts.grantsGoneAt).toBeDefined();
        expect(facts.now).toBeGreaterThanOrEqual((facts.grantsGoneAt ?? Infinity) + facts.settleMs);
        expect(facts.isStillHonoured).toBeDefined();
      }),
    );
  });

  test("is released in the end: every wait is until an instant that comes", () => {
    fc.assert(
      fc.property(seen, (facts) => {
        const phase = finalizationPhase(facts);
        expect("until" in phase ? phase.until : Infinity).toBeGreaterThan(facts.now);
        const gone = {
          ...facts,
          grantsGoneAt: facts.grantsGoneAt ?? facts.now,
          isStillHonoured: true,
        };
        expect(
          finalizationPhase({ ...gone, now: gone.grantsGoneAt + gone.settleMs + 60_000 }),
        ).toEqual({
          kind: "release",
        });
      }),
    );
  });
});

describe("the status of an object that is being deleted", () => {
  const resource = resources.ownedAccessKeys;
  const condition = (type: string, status: "True" | "False", reason: string) => ({
    type,
    status,
    reason,
    message: "as before",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });
  const conditions = [
    condition("Active", "True", "Active"),
    condition("Expired", "False", "NotExpired"),
    condition("Ready", "True", "Active"),
    condition("Stalled", "True", "Expired"),
  ];
  const object = { metadata: deletedMetadata, status: { keyID: "kid", conditions }, conditions };
  const waiting = { phase: { kind: "keep-grants", until: 9 }, now: born } as const;

  test("sets what it promised for copies to False", () => {
    const promised = ["ClustersSynced", "Synced"].map((type) => condition(type, "True", "Synced"));
    const shared = { ...object, conditions: promised };
    const plan = planFinalization(resources.sharedSecrets, shared, waiting);
    expect(statusPatch(plan)).toMatchObject({
      conditions: [
        { type: "ClustersSynced", status: "False", reason: "Terminating" },
        { type: "Ready", status: "False", reason: "Terminating" },
        { type: "Reconciling", status: "True", reason: "Terminating" },
        { type: "Synced", status: "False", reason: "Terminating" },
      ],
    });
  });

  test("sets Ready and Active to False and keeps other conditions", () => {
    const { steps } = planFinalization(resource, object, waiting);
    expect(steps).toHaveLength(1);
    const patch = statusPatch(planFinalization(resource, object, waiting));
    expect(patch).toMatchObject({
      observedGeneration: 3,
      conditions: [
        { type: "Active", status: "False", reason: "Terminating" },
        { type: "Expired", status: "False", reason: "NotExpired" },
        { type: "Ready", status: "False", reason: "Terminating" },
        { type: "Reconciling", status: "True", reason: "Terminating" },
      ],
    });
    expect(patch).not.toHaveProperty("keyID");
  });

  test("is written once", () => {
    const patch = statusPatch(planFinalization(resource, object, waiting));
    const { conditions: recorded } = JSON.parse(JSON.stringify(patch));
    const again = { ...object, status: { ...object.status, ...patch }, conditions: recorded };
    for (const kind of ["revoke", "review"] as const)
      expect(planFinalization(resource, again, { phase: { kind }, now: born + 1 }).steps).toEqual(
        [],
      );
  });

  test("contains the failure of the finalization until it succeeds", () => {
    const failure = {
      kind: "failed",
      reason: "InternalError",
      message: "DELETE /x: 500",
      since: born,
    } as const;
    const patch = statusPatch(planStuckFinalization(resource, object, { now: born, failure }));
    const failed = {
      reason: "ApplyFailed",
      message: expect.stringMatching(/^The object is being deleted\..*DELETE \/x: 500/),
    };
    expect(patch).toMatchObject({
      conditions: [
        { type: "Active", reason: "Terminating" },
        { type: "Expired" },
        { type: "Ready", status: "False", ...failed },
        { type: "Reconciling", status: "True", ...failed },
      ],
    });
    const { conditions } = JSON.parse(JSON.stringify(patch));
    const said = {
      ...object,
      metadata: { ...deletedMetadata, finalizers: [cleanupFinalizer, "theirs"] },
      status: { ...object.status, ...patch },
      conditions,
    };
    // The status of the last failed attempt is not changed by the next one, although its phase is
    // release.
    expect(
      planFinalization(resource, said, { phase: { kind: "release" }, now: born + 1, failure })
        .steps,
    ).toMatchObject([[{ body: { metadata: { finalizers: ["theirs"] } } }]]);
    expect(planStuckFinalization(resource, said, { now: born + 1, failure }).steps).toEqual([]);
  });

  test("is not written if the object is deleted with the finalizer", () => {
    expect(
      planFinalization(resource, object, { phase: { kind: "release" }, now: born }).steps,
    ).toMatchObject([[{ do: "patch", body: { metadata: { finalizers: [] } } }]]);
  });

  test("is not written without finalizers", () => {
    expect(
      planFinalization(
        resource,
        { ...object, metadata: { ...deletedMetadata, finalizers: [] } },
        waiting,
      ).steps,
    ).toEqual([]);
  });

  test.for([
    [[cleanupFinalizer, "theirs"], 2],
    [["theirs"], 1],
  ] as const)(
    "says that Latchkey has finished while other finalizers remain (%s)",
    ([finalizers, steps]) => {
      const plan = planFinalization(
        resource,
        { ...object, metadata: { ...deletedMetadata, finalizers } },
        { phase: { kind: "release" }, now: born },
      );
      expect(plan.steps).toHaveLength(steps);
      expect(JSON.stringify(statusPatch(plan))).toContain("Latchkey has finished");
      expect(JSON.stringify(statusPatch(plan))).not.toContain("Reconciling");
    },
  );
});

const withoutFinalizer = observedMetadata({ finalizers: ["theirs"] });
const withFinalizer = observedMetadata({ finalizers: ["theirs", cleanupFinalizer, "others"] });

test("hasFinalizer ignores the finalizers of other controllers", () => {
  expect([hasFinalizer(withFinalizer), hasFinalizer(withoutFinalizer)]).toEqual([true, false]);
});

test.for([
  [
    "addFinalizer appends Latchkey's finalizer",
    addFinalizer(resources.sharedSecrets, withoutFinalizer),
    ["theirs", cleanupFinalizer],
  ],
  [
    "removeFinalizer keeps the finalizers of other controllers",
    removeFinalizer(resources.sharedSecrets, withFinalizer),
    ["theirs", "others"],
  ],
] as const)("%s, at the observed resourceVersion", ([, write, finalizers]) => {
  expect(write).toMatchObject({
    do: "patch",
    resource: resources.sharedSecrets,
    ref: { name: "one" },
    body: { metadata: { resourceVersion: "7", finalizers } },
  });
});

describe("what is known of a deletion", () => {
  const grantee = (binding: string, name = "ann") =>
    granteeOfRoleBinding(
      { namespace: "team", name: binding },
      { subject: { kind: "User", name }, verb: "get" },
    );

  test("keeps when it was first seen", () => {
    const deletion = newDeletion(0);
    expect(deletionAfter(deletion, { stand: true, grantees: [] }, 500).seenAt).toBe(0);
  });

  test("keeps the instant at which the last grant disappeared, and starts again if one reappears", () => {
    let deletion = newDeletion(0);
    const goneAt = [true, false, false, true, false].map((stand, index) => {
      deletion = deletionAfter(deletion, { stand, grantees: [] }, 100 * (index + 1));
      return deletion.grantsGoneAt;
    });
    expect([goneAt, deletion.hadGrants]).toEqual([[undefined, 200, 200, undefined, 500], true]);
    const ungranted = deletionAfter(newDeletion(0), { stand: false, grantees: [] }, 0);
    expect(ungranted.hadGrants).toBe(false);
  });

  test("keeps former grantees, one for each binding", () => {
    const seen = { stand: true, grantees: [grantee("one"), grantee("two")] };
    const later = { stand: false, grantees: [grantee("two", "ben")] };
    const { grantees } = deletionAfter(deletionAfter(newDeletion(0), seen, 0), later, 1);
    expect(grantees).toEqual([grantee("one"), grantee("two", "ben")]);
  });
});
