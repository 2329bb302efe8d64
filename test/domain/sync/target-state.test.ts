import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { recordAt } from "../../../src/api/parse.ts";
import type {
  Followed,
  ObservedCopy,
  Source,
  UnmanagedSecret,
} from "../../../src/domain/sync/copy.ts";
import { targetState } from "../../../src/domain/sync/target-state.ts";
import {
  dataVariant,
  rejectedSteps,
  writtenSource,
  targetSteps,
  type TargetState,
} from "../../../src/domain/sync/state-table.ts";
import { type Steps, withoutSourceEvents } from "../../../src/domain/sync/target-steps.ts";
import type { ObservedTarget } from "../../../src/domain/sync/observed-target.ts";
import { SecretPlace, digestOf } from "../sync-model.ts";
import {
  observedCopy,
  observedSource,
  unmanagedSecret,
  target,
} from "../../support/observed-copies.ts";
import {
  deleting,
  elsewhere,
  isOurs,
  live,
  misspelt,
  older,
  paused,
  putStanding,
  retyped,
  situations,
  type StandingSecret,
  standingSecrets,
} from "../sync-situations.ts";
import { runs } from "../../support/property-runs.ts";

const pauses = { [annotations.disableSync]: "true" };
const nothing = { [annotations.copyOf]: undefined };

/** The Secrets that may exist at the target, by name. */
const standings = {
  nothing: {},
  "a current copy": { copy: observedCopy(live) },
  "a copy of old data": { copy: observedCopy(live, { digest: "old" }) },
  "a copy of another type": { copy: observedCopy(live, { type: "kubernetes.io/tls" }) },
  "an immutable copy of old data": { copy: observedCopy(live, { digest: "old", immutable: true }) },
  "an immutable current copy": { copy: observedCopy(live, { immutable: true }) },
  "an immutable copy with a sync error": {
    copy: observedCopy(live, { immutable: true, annotations: { [annotations.syncError]: "why" } }),
  },
  "a copy with a sync error": {
    copy: observedCopy(live, { annotations: { [annotations.syncError]: "why" } }),
  },
  "a copy without its annotation": { copy: observedCopy(live, { annotations: nothing }) },
  "a copy with an invalid annotation": {
    copy: observedCopy(live, { annotations: { [annotations.copyOf]: "nonsense" } }),
  },
  "a copy of another source": {
    copy: observedCopy(older, { labels: { [labels.sourceUid]: "uid-other" } }),
  },
  "a labelled Secret without an annotation": {
    copy: observedCopy(live, { labels: { [labels.sourceUid]: "uid-other" }, annotations: nothing }),
  },
  "a paused copy": { copy: observedCopy(live, { digest: "old", annotations: pauses }) },
  "a copy that a user made": {
    copy: observedCopy(live, { annotations: { [annotations.copyOf]: elsewhere } }),
  },
  "a copy without its label": { unmanaged: unmanagedSecret(live) },
  "a paused copy without its label": {
    unmanaged: unmanagedSecret(live, { annotations: pauses }),
  },
  "a user's copy without its label": {
    unmanaged: unmanagedSecret(live, { annotations: { [annotations.copyOf]: elsewhere } }),
  },
  "an unmanaged Secret": { unmanaged: unmanagedSecret(live, { annotations: nothing }) },
  "a Secret of an agent": {
    copy: observedCopy(live, { annotations: nothing, labels: { [labels.outboxUid]: "uid" } }),
  },
} as const satisfies Record<
  string,
  { readonly copy?: ObservedCopy; readonly unmanaged?: UnmanagedSecret }
>;

type Standing = keyof typeof standings;
type Kind = TargetState["kind"];

function stateAt(standing: Standing, context: Partial<ObservedTarget>): TargetState {
  return targetState({ candidates: [], isTerminating: false, ...standings[standing], ...context });
}

describe("a target of one source", () => {
  test.for<[Standing, Kind]>([
    ["nothing", "missing"],
    ["a current copy", "current"],
    ["a copy of old data", "differs"],
    ["a copy of another type", "to-recreate"],
    ["an immutable copy of old data", "to-recreate"],
    ["an immutable current copy", "current"],
    ["an immutable copy with a sync error", "differs"],
    ["a copy with a sync error", "differs"],
    ["a copy without its annotation", "differs"],
    ["a copy with an invalid annotation", "differs"],
    ["a copy of another source", "differs"],
    ["a labelled Secret without an annotation", "conflict"],
    ["a paused copy", "paused"],
    ["a copy that a user made", "conflict"],
    ["a copy without its label", "unlabelled"],
    ["a paused copy without its label", "paused"],
    ["a user's copy without its label", "conflict"],
    ["an unmanaged Secret", "conflict"],
    ["a Secret of an agent", "conflict"],
  ])("with %s is %s", ([standing, kind]) => {
    expect(stateAt(standing, { candidates: [live], owner: live }).kind).toBe(kind);
    expect(stateAt(standing, { candidates: [live], isTerminating: true }).kind).toBe("not-wanted");
  });

  test.for(names(standings))("with %s is not changed while the source is paused", (standing) => {
    expect(stateAt(standing, { candidates: [paused], owner: paused }).kind).toBe("paused");
  });

  test("with another type is recreated in one reconcile, if the API server accepts it", () => {
    const state = stateAt("a current copy", { candidates: [retyped], owner: retyped });
    expect(verbs(state)).toEqual([["dry-run-create"], ["delete"], ["create"]]);
    expect(targetSteps(target, state, retyped.data)[0]?.[0]).toMatchObject({
      object: { type: "kubernetes.io/tls" },
    });
    expect(targetSteps(target, state, retyped.data)[1]?.[0]).toMatchObject({
      uid: "uid-copy",
      resourceVersion: "7",
      ref: target,
    });
    expect(targetSteps(target, state, retyped.data)[2]?.[0]).toMatchObject({
      object: { type: "kubernetes.io/tls" },
    });
  });
});

describe("a target of two sources", () => {
  test("belongs to the older source, regardless of the existing copy", () => {
    const state = stateAt("a current copy", { candidates: [older, live], owner: live });
    expect(state).toMatchObject({ kind: "differs", source: older });
  });

  test("is not changed while the older source is paused", () => {
    expect(stateAt("nothing", { candidates: [paused, older] }).kind).toBe("paused");
  });

  const olderWithTypo: Source = {
    ...older,
    options: { ...older.options, problem: { reason: "TooLarge", message: "split it" } },
  };
  test.for<[string, Source, Kind]>([
    ["kept by an older owner that is invalid", olderWithTypo, "source-invalid"],
    [
      "given to the newer source if the older one is being deleted",
      {
        ...olderWithTypo,
        secret: {
          ...older.secret,
          metadata: { ...older.secret.metadata, deletionTimestamp: "now" },
        },
      },
      "differs",
    ],
    ["given to the newer source if the older one no longer requests it", older, "differs"],
    [
      "not kept by a newer owner that is invalid",
      {
        ...olderWithTypo,
        secret: {
          ...older.secret,
          metadata: { ...older.secret.metadata, creationTimestamp: "2027-01-01T00:00:00Z" },
        },
      },
      "differs",
    ],
  ])("is %s", ([, owner, kind]) => {
    const copy = observedCopy(owner);
    expect(targetState({ candidates: [live], copy, owner, isTerminating: false }).kind).toBe(kind);
  });

  test("is labelled again for the older source that is invalid", () => {
    const context = {
      unmanaged: unmanagedSecret(olderWithTypo),
      owner: olderWithTypo,
      isTerminating: false,
    };
    expect(targetState({ candidates: [live], ...context })).toMatchObject({
      kind: "unlabelled",
      source: olderWithTypo,
    });
  });

  test("is not kept by an older, invalid source that is not permitted", () => {
    const context = {
      copy: observedCopy(olderWithTypo),
      owner: olderWithTypo,
      ownerIsNotPermitted: true,
      isTerminating: false,
    };
    expect(targetState({ candidates: [live], ...context }).kind).toBe("differs");
    expect(targetState({ candidates: [], ...context }).kind).toBe("withdrawn");
  });

  test("is not kept by an older, invalid source whose label a user put on another Secret", () => {
    const copy = observedCopy(olderWithTypo, { annotations: nothing });
    expect(
      targetState({ candidates: [live], copy, owner: olderWithTypo, isTerminating: false }).kind,
    ).toBe("conflict");
  });
});

describe("a name that a SharedSecret follows", () => {
  const follower = { namespace: "pay", name: "app" };
  const takes: readonly Standing[] = [
    "nothing",
    "an unmanaged Secret",
    "a user's copy without its label",
  ];

  test.for(takes)("is nobody's target with %s", (standing) => {
    const state = stateAt(standing, { candidates: [live], follower });
    expect(state).toMatchObject({ kind: "followed", source: live, follower });
    expect(targetSteps(target, state, live.data)).toEqual([]);
    expect(writtenSource(state)).toBeUndefined();
    expect(stateAt(standing, { candidates: [paused], follower }).kind).toBe("followed");
    expect(stateAt(standing, { follower }).kind).toBe("not-wanted");
  });

  test.for<[Standing, Kind]>([
    ["a current copy", "current"],
    ["a copy of old data", "differs"],
    ["a copy of another source", "differs"],
    ["a copy without its label", "unlabelled"],
    ["a paused copy", "paused"],
    ["a labelled Secret without an annotation", "conflict"],
  ])("stays the target that it is with %s", ([standing, kind]) => {
    expect(stateAt(standing, { candidates: [live], owner: live, follower }).kind).toBe(kind);
  });
});

describe("a copy of a source that follows a Secret", () => {
  const of = (state: Followed["state"], options: Partial<Source["options"]>): Source => ({
    ...observedSource({ options }),
    followed: { name: "source", keys: undefined, state },
  });
  const problem = { reason: "SourceMissing", message: "it does not exist" } as const;
  const refusal = { reason: "SourceNotAllowed", message: "it does not name it" } as const;
  const ours: readonly Standing[] = [
    "a current copy",
    "a copy of old data",
    "a copy without its label",
  ];

  test.for(ours)("is left as it is while there is no data: %s", (standing) => {
    for (const owner of [of("unread", { problem }), of("none", { problem })]) {
      const state = stateAt(standing, { owner });
      expect(state).toEqual({
        kind: "source-unavailable",
        sourceRef: { namespace: "team", name: "db" },
      });
      expect(targetSteps(target, state, {})).toEqual([]);
      const inTerminating = stateAt(standing, { owner, isTerminating: true });
      expect(inTerminating.kind).toBe("not-wanted");
    }
  });

  test.for(ours)(
    "is removed without the consent of the Secret or of the namespace: %s",
    (standing) => {
      const withdrawn = of("none", { refusal, projects: [] });
      expect(stateAt(standing, { owner: withdrawn }).kind).toBe("withdrawn");
      const missing = of("none", { problem });
      expect(stateAt(standing, { owner: missing, ownerIsNotPermitted: true }).kind).toBe(
        "withdrawn",
      );
    },
  );

  test("says what is invalid about its own options, and is kept", () => {
    const owner = of("data", { problem: { reason: "InvalidSyncOption", message: "fix it" } });
    expect(stateAt("a current copy", { owner }).kind).toBe("source-invalid");
  });

  test("is not given to a younger source before the Secret is read", () => {
    const owner = { ...of("unread", { problem }), secret: older.secret };
    const copy = observedCopy(owner);
    const context = { candidates: [live], copy, owner, isTerminating: false };
    expect(targetState(context).kind).toBe("source-unavailable");
  });

  test("has its own data where that is what copies have, also if it is read for the write", () => {
    const source = of("data", {});
    const missing = { kind: "missing", source } as const;
    expect(dataVariant(missing)).toBe("own");
    expect(dataVariant({ kind: "missing", source: { ...source, digest: "a form" } })).toBe(
      "copied",
    );
    expect(dataVariant({ kind: "missing", source: live })).toBe("copied");
  });
});

describe("a placeholder of a source that follows a Secret", () => {
  const permitted = (state: Followed["state"]): Source => ({
    ...misspelt,
    followed: { name: "source", keys: undefined, state },
  });
  const asking = observedCopy(live, {
    annotations: nothing,
    labels: { [labels.sourceUid]: undefined },
  });
  const stateOf = (source: Source, copy: ObservedCopy) =>
    targetState({
      candidates: [],
      copy,
      isTerminating: false,
      ...(copy === asking ? {} : { owner: source }),
      request: {
        source: { namespace: "team", name: "db" },
        keys: undefined,
        permitted: source,
        obstacle: undefined,
        project: "web",
      },
    });

  test("says why it is not filled once the Secret is read, and nothing before", () => {
    expect(stateOf(permitted("unread"), asking).kind).toBe("source-unavailable");
    expect(stateOf(permitted("none"), asking)).toMatchObject({ kind: "unfilled", why: "fix it" });
  });

  test("keeps what it has while the Secret has no data", () => {
    const filled = observedCopy(live, { annotations: { [annotations.filled]: "true" } });
    for (const state of ["unread", "none"] as const)
      expect(stateOf(permitted(state), filled).kind).toBe("source-unavailable");
    expect(stateOf(misspelt, filled).kind).toBe("source-invalid");
  });
});

describe("a target without a source", () => {
  const ours: readonly Standing[] = [
    "a current copy",
    "a copy of old data",
    "an immutable copy of old data",
    "a paused copy",
    "a copy without its label",
  ];
  const foreign: readonly Standing[] = [
    "nothing",
    "a copy without its annotation",
    "a copy that a user made",
    "a user's copy without its label",
    "an unmanaged Secret",
    "a labelled Secret without an annotation",
  ];
  const owners = [
    { title: "exists", owner: live, kind: "withdrawn" },
    { title: "is paused", owner: paused, kind: "withdrawn" },
    { title: "is invalid", owner: misspelt, kind: "source-invalid" },
    { title: "is being deleted", owner: deleting, kind: "withdrawn" },
    { title: "is gone", owner: undefined, kind: "orphaned" },
  ] as const;

  describe.each(owners)("whose former source $title", ({ owner, kind }) => {
    const context = owner === undefined ? {} : { owner };
    test.for(ours)("with %s", (standing) => {
      const expected =
        kind === "source-invalid" && standing === "a copy without its label" ? "unlabelled" : kind;
      expect(stateAt(standing, context).kind).toBe(expected);
      const inTerminating = owner === deleting ? "withdrawn" : "not-wanted";
      expect(stateAt(standing, { ...context, isTerminating: true }).kind).toBe(inTerminating);
    });

    test.for(foreign)("with %s is not changed", (standing) => {
      expect(stateAt(standing, context).kind).toBe("not-wanted");
    });
  });

  test("reports the source in the annotation of an orphaned copy", () => {
    expect(stateAt("a current copy", {})).toMatchObject({
      kind: "orphaned",
      sourceRef: { namespace: "team", name: "db" },
    });
  });

  test("deletes the observed copy, and nothing else", () => {
    expect(targetSteps(target, stateAt("a current copy", {}))).toMatchObject([
      [{ do: "delete", ref: target, uid: "uid-copy", resourceVersion: "7" }],
    ]);
  });

  test("records the sync error once", () => {
    const state = stateAt("a current copy", { owner: misspelt });
    expect(targetSteps(target, state)).toMatchObject([
      [
        {
          do: "patch",
          body: {
            metadata: { resourceVersion: "7", annotations: { [annotations.syncError]: "fix it" } },
          },
        },
      ],
    ]);
    const reported = targetState({
      candidates: [],
      copy: observedCopy(live, { annotations: { [annotations.syncError]: "fix it" } }),
      owner: misspelt,
      isTerminating: false,
    });
    expect(targetSteps(target, reported)).toEqual([]);
  });
});

describe("a target of a source that is not known", () => {
  const unknownSource = { namespace: "team", name: "former" };
  const copies = names(standings).filter((standing) => standing !== "nothing");

  test.for(copies)("with %s is left alone, whatever source asks for it", (standing) => {
    for (const candidates of [[], [live], [paused], [older, live]]) {
      const state = stateAt(standing, { candidates, unknownSource });
      expect(state).toEqual({ kind: "unknown-source", sourceRef: unknownSource });
      expect(targetSteps(target, state, live.data)).toEqual([]);
      expect(writtenSource(state)).toBeUndefined();
    }
    const isTerminating = true;
    expect(stateAt(standing, { unknownSource, isTerminating }).kind).toBe("not-wanted");
  });

  test("is left alone if it is a placeholder that asks for another one", () => {
    const request = { keys: undefined, source: { namespace: "team", name: "db" }, permitted: live };
    const state = stateAt("a current copy", { candidates: [live], request, unknownSource });
    expect(state.kind).toBe("unknown-source");
  });
});

describe("a paused target", () => {
  const pausedOlder = observedSource({
    metadata: older.secret.metadata,
    options: { paused: true },
  });
  const pausedCopy = observedCopy(live, { annotations: pauses });
  const goneCopy = { kind: "orphaned", isPaused: true };
  const revokedCopy = { kind: "withdrawn", isPaused: true };
  const byOthers = { ...deleting.secret.metadata, finalizers: ["example.com/theirs"] };

  test.for<[string, Partial<ObservedTarget>, object]>([
    ["whose source is gone", {}, goneCopy],
    ["whose source may not sync here", { owner: misspelt, ownerIsNotPermitted: true }, revokedCopy],
    ["whose source syncs elsewhere", { owner: live }, revokedCopy],
    [
      "whose source is deleted by others",
      { owner: observedSource({ metadata: byOthers }) },
      revokedCopy,
    ],
    ["whose source is being deleted", { owner: deleting }, revokedCopy],
  ])("loses a copy %s", ([, observed, expected]) => {
    const isTerminating = false;
    const byNext = {
      isTerminating,
      candidates: [pausedOlder],
      copy: observedCopy(live),
      ...observed,
    };
    expect(targetState(byNext)).toMatchObject(expected);
    const byItself = { isTerminating, candidates: [older], copy: pausedCopy, ...observed };
    expect(targetState(byItself)).toMatchObject(expected);
    expect(targetState({ ...byItself, candidates: [] })).toMatchObject(expected);
  });

  test("keeps a copy whose source is merely invalid", () => {
    const observed = { owner: misspelt, copy: pausedCopy, isTerminating: false };
    expect(targetState({ ...observed, candidates: [older] }).kind).toBe("paused");
  });

  test("records why the copy is deleted, after it is", () => {
    const state = stateAt("a paused copy", { owner: live });
    const [[removal] = [], [event] = []] = targetSteps(target, state);
    expect(removal).toMatchObject({ do: "delete", uid: "uid-copy", resourceVersion: "7" });
    expect(event).toMatchObject({
      do: "record-event",
      event: {
        subject: { uid: "uid-copy" },
        reason: "DataRevoked",
        note: expect.stringContaining("The data of SharedSecret team/db is removed"),
      },
    });
    expect(targetSteps(target, stateAt("a current copy", { owner: live }))).toHaveLength(1);
  });
});

describe("a copy without permission that is still there after its deletion", () => {
  const metadata = {
    ...observedCopy(live).metadata,
    deletionTimestamp: "2026-01-01T00:01:00Z",
    finalizers: ["example.com/hold"],
  };
  const held = { ...observedCopy(live), metadata };
  const writes = (observed: Partial<ObservedTarget>) => {
    const seen = { candidates: [], owner: live, isTerminating: false, ...observed };
    return targetSteps(target, targetState(seen)).flat();
  };

  test.for([false, true])(
    "is emptied and keeps its marks, namespace terminating: %s",
    (isTerminating) => {
      const [write, ...others] = writes({ copy: held, isTerminating });
      expect(others).toEqual([]);
      expect(write).toMatchObject({
        do: "replace",
        object: {
          metadata: {
            uid: "uid-copy",
            resourceVersion: "7",
            finalizers: metadata.finalizers,
            labels: metadata.labels,
            annotations: metadata.annotations,
          },
          type: "Opaque",
          data: {},
        },
      });
    },
  );

  test.for<[string, Partial<ObservedTarget>]>([
    ["has no data", { copy: { ...held, hasLeastData: true } }],
    ["is immutable", { copy: { ...held, immutable: true } }],
  ])("is left alone if it %s", ([, observed]) => {
    expect(writes(observed)).toEqual([]);
    expect(writes({ ...observed, isTerminating: true })).toEqual([]);
  });

  test("is labelled first if only its metadata is observed", () => {
    expect(writes({ unmanaged: { metadata } })).toMatchObject([
      { do: "patch", body: { metadata: { labels: { [labels.sourceUid]: "" } } } },
    ]);
  });

  test("has the least data that its type allows", () => {
    const tls = { ...held, type: "kubernetes.io/tls" };
    const [write] = writes({ copy: tls });
    const data = write?.do === "replace" ? Object.keys(recordAt(write.object, "data")) : [];
    expect(data).toEqual(["tls.crt", "tls.key"]);
  });

  test("is not emptied while it is permitted", () => {
    expect(writes({ copy: held, candidates: [live] })).toEqual([]);
  });
});

describe("a copy whose source is being deleted", () => {
  const owner = deleting;
  const copy = observedCopy(deleting);
  const next = observedSource({ metadata: { name: "next", uid: "uid-next" }, data: "next" });
  const eventsIn = (steps: Steps) =>
    steps.flat().flatMap((write) => (write.do === "record-event" ? [write.event] : []));

  test("passes in one write to the next source, which is said at the Secret and at both", () => {
    const state = targetState({ candidates: [next], copy, owner, isTerminating: false });
    const steps = targetSteps(target, state, next.data);
    expect(steps[0]).toMatchObject([
      { do: "replace", isRemoval: true, object: { metadata: { uid: "uid-copy" } } },
    ]);
    const note = 'Secret pay/db passes from SharedSecret "team/db" to "team/next" in one write';
    expect(eventsIn(steps)).toMatchObject([
      { reason: "HandedOver", note, subject: { namespace: "pay", name: "db", uid: "uid-copy" } },
      { reason: "HandedOver", note, subject: { name: "next", uid: "uid-next" } },
      { reason: "HandedOver", note, subject: { name: "db", uid: "uid-db" } },
    ]);
    expect(eventsIn(withoutSourceEvents(steps))).toHaveLength(1);
  });

  test("is deleted and created for the next source if it is immutable", () => {
    const immutable = { ...copy, immutable: true };
    const state = targetState({ candidates: [next], copy: immutable, owner, isTerminating: false });
    const steps = targetSteps(target, state, next.data);
    expect(steps.slice(0, 3).map(([write]) => write?.do)).toEqual([
      ...["dry-run-create", "delete", "create"],
    ]);
    expect(eventsIn(steps)[0]?.note).toContain("by a delete and a create");
  });

  test("is deleted while the next source is paused", () => {
    const pausedNext = { ...next, options: { ...next.options, paused: true } };
    const state = targetState({ candidates: [pausedNext], copy, owner, isTerminating: false });
    expect(state).toMatchObject({ kind: "withdrawn", isPaused: true });
  });

  test("is deleted if the write of the next source is rejected", () => {
    const state = targetState({ candidates: [next], copy, owner, isTerminating: false });
    expect(rejectedSteps(state, "no")).toMatchObject([[{ do: "delete", uid: "uid-copy" }]]);
  });

  test("says nothing about a source that is created again under its name", () => {
    const again = observedSource({ metadata: { uid: "uid-again" }, data: "next" });
    const state = targetState({ candidates: [again], copy, isTerminating: false });
    expect(eventsIn(targetSteps(target, state, again.data))).toEqual([]);
  });
});

test("a Secret is not deleted because of its label alone", () => {
  const labelled = { annotations: nothing, digest: "old" };
  for (const copy of [
    observedCopy(live, { ...labelled, immutable: true }),
    observedCopy(live, { ...labelled, type: "kubernetes.io/tls" }),
  ])
    expect(targetState({ candidates: [live], copy, owner: live, isTerminating: false }).kind).toBe(
      "conflict",
    );
});

test("writes no copy without the data of its source", () => {
  for (const standing of [
    "nothing",
    "a copy of old data",
    "an immutable copy of old data",
  ] as const) {
    const state = stateAt(standing, { candidates: [live], owner: live });
    expect(writtenSource(state)).toBe(live);
    expect(() => targetSteps(target, state)).toThrow("the data of its source is not loaded");
  }
  for (const standing of [
    "a current copy",
    "a copy without its label",
    "an unmanaged Secret",
  ] as const) {
    expect(writtenSource(stateAt(standing, { candidates: [live], owner: live }))).toBeUndefined();
  }
});

test("restores a missing label and changes nothing else", () => {
  const unlabelled = stateAt("a copy without its label", { candidates: [live], owner: live });
  const steps = targetSteps(target, unlabelled);
  expect(steps).toMatchObject([
    [
      {
        do: "patch",
        ref: target,
        body: { metadata: { resourceVersion: "7", labels: { [labels.sourceUid]: "uid-db" } } },
      },
    ],
  ]);
  expect(
    steps.flat().map((write) => (write.do === "patch" ? Object.keys(write.body) : [])),
  ).toEqual([["metadata"]]);
});

test("never writes or deletes a Secret that is not a copy by its annotation or by the label of its source", () => {
  const foreign = situations.filter(
    ({ standing, context }) => standing !== undefined && !isOurs(standing, context.candidates),
  );
  fc.assert(
    fc.property(foreign, ({ standing, context }) => {
      expect(
        targetSteps(target, targetState({ ...context, ...placeWith(standing).seen() })),
      ).toEqual([]);
    }),
    runs(1_000),
  );
});

test("repeated reconciles end without writes", () => {
  fc.assert(
    fc.property(situations, ({ standing, context }) => {
      const state = settle(placeWith(standing), context);
      expect(targetSteps(target, state, writtenSource(state)?.data)).toEqual([]);
    }),
    runs(1_000),
  );
});

test("a wanted copy becomes current, unless it is paused or not managed by Latchkey", () => {
  fc.assert(
    fc.property(situations, ({ standing, context }) => {
      const [source] = context.candidates;
      const place = placeWith(standing);
      const { kind } = settle(place, context);
      if (source === undefined || context.isTerminating || kind === "source-invalid") return;
      const isForeign = standing !== undefined && !isOurs(standing, context.candidates);
      const isRemoved = !isForeign && isWithdrawn(standing, context);
      if (isRemoved && kind === "not-wanted" && context.owner === deleting) return;
      const isPaused = source.options.paused || (standing?.pauses === true && !isRemoved);
      expect(kind).toBe(isPaused ? "paused" : isForeign ? "conflict" : "current");
      const former = isRemoved ? "" : (standing?.data ?? "");
      expect(digestOf(place.secret?.data ?? {})).toBe(kind === "current" ? source.digest : former);
    }),
    runs(2_000),
  );
});

test("an overwritten copy keeps other labels, annotations, finalizers, owners and immutability", () => {
  fc.assert(
    fc.property(standingSecrets, (standing) => {
      const place = placeWith(standing);
      const before = place.secret;
      const owner = standing.copyOf === "team/older -> pay/db" ? older : live;
      settle(place, { candidates: [live], owner, isTerminating: false });
      fc.pre(place.secret?.metadata.uid === before?.metadata.uid);
      expect(place.secret?.metadata).toMatchObject({
        labels: { team: "blue" },
        annotations: { note: "kept" },
        finalizers: ["example.com/theirs"],
      });
      expect(place.secret).toMatchObject({
        ownerReferences: before?.ownerReferences,
        immutable: before?.immutable,
      });
    }),
  );
});

/** Whether a Secret has data of a source that is gone, is being deleted, or is valid and not synced here. */
function isWithdrawn(
  standing: StandingSecret | undefined,
  { owner, candidates }: Pick<ObservedTarget, "owner" | "candidates">,
): boolean {
  if (standing?.copyOf?.endsWith(" -> pay/db") !== true) return false;
  return owner === undefined || (owner !== misspelt && !candidates.includes(owner));
}

function placeWith(standing: StandingSecret | undefined): SecretPlace {
  const place = new SecretPlace();
  if (standing !== undefined) putStanding(place, standing);
  return place;
}

/** Runs at most three reconciles and returns the last state. */
function settle(
  place: SecretPlace,
  context: Omit<ObservedTarget, "copy" | "unmanaged">,
): TargetState {
  for (let reconcile = 1; ; reconcile++) {
    const state = targetState({ ...context, ...place.seen() });
    const steps = targetSteps(target, state, writtenSource(state)?.data);
    if (steps.length === 0 || reconcile === 4) return state;
    for (const write of steps.flat()) place.apply(write);
  }
}

function verbs(state: TargetState): readonly (readonly string[])[] {
  return targetSteps(target, state, writtenSource(state)?.data).map((step) =>
    step.map((write) => write.do),
  );
}

function names<T extends object>(table: T): readonly (keyof T)[] {
  // Object.keys widens to string: the table has no other keys.
  return Object.keys(table).filter((name): name is Extract<keyof T, string> => name in table);
}
