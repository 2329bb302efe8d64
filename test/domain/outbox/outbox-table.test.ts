import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import type { ObservedOutboxSecret } from "../../../src/domain/outbox/outbox-secret.ts";
import {
  isWithdrawalConfirmed,
  offeredSource,
  type OutboxState,
  outboxSteps,
  toConfirm,
} from "../../../src/domain/outbox/outbox-table.ts";
import { intentOf } from "../../../src/domain/plan/repairs.ts";
import {
  offeredOf,
  offeredSecret,
  revisedAt,
  sharedWith,
  tombstoneFor,
} from "../../support/observed-outbox.ts";

const source = sharedWith();
const offered = offeredOf(source);
const secret = offeredSecret(offered);
const place = { namespace: "team", name: "db" };
const withdrawn = { cluster: "east", source: place, uid: "uid-db" };
const data = { password: new SecretText("bmV3") };
const sealed: ObservedOutboxSecret = { ...secret, immutable: true };
const tombstone = { [annotations.withdrawn]: "uid-db" };

const states: readonly (readonly [string, OutboxState, readonly string[]])[] = [
  ["not-wanted", { kind: "not-wanted" }, []],
  ["current", { kind: "current", offered }, []],
  ["missing", { kind: "missing", offered }, ["create data"]],
  ["differs", { kind: "differs", offered, secret }, ["replace data"]],
  ["differs, immutable", { kind: "differs", offered, secret: sealed }, ["delete", "create data"]],
  ["full without a Secret", { kind: "full", offered }, []],
  ["full with current marks", { kind: "full", offered, secret }, []],
  [
    "full with fewer projects",
    { kind: "full", offered: offeredOf(source, ["pay"]), secret },
    ["patch"],
  ],
  ["full with a tombstone", { kind: "full", offered, secret: tombstoneFor(source) }, []],
  ["source-invalid", { kind: "source-invalid", secret }, []],
  ["withdrawn", { kind: "withdrawn", withdrawn, secret }, ["replace tombstone"]],
  [
    "withdrawn, immutable",
    { kind: "withdrawn", withdrawn, secret: sealed },
    ["delete", "create tombstone"],
  ],
  ["orphaned", { kind: "orphaned", withdrawn, secret }, ["replace tombstone"]],
  ["unknown", { kind: "unknown", withdrawn }, ["create tombstone"]],
  ["deferred", { kind: "deferred", withdrawn }, []],
  ["waiting", { kind: "waiting", secret }, []],
  ["done", { kind: "done", secret }, ["delete"]],
  ["disconnected", { kind: "disconnected", secret }, ["delete"]],
  ["unreadable", { kind: "unreadable", secret }, ["delete"]],
];

function stepsOf(state: OutboxState) {
  return outboxSteps(state, { revisedAt, data });
}

/** The writes in words. */
function verbs(state: OutboxState): readonly string[] {
  return stepsOf(state).flatMap((step) =>
    step.map((write) => {
      if (write.do !== "create" && write.do !== "replace") return write.do;
      const isTombstone = write.object.metadata.annotations?.[annotations.withdrawn] !== undefined;
      return `${write.do} ${isTombstone ? "tombstone" : "data"}`;
    }),
  );
}

describe("the writes for a Secret of an outbox", () => {
  test.for(states)("that is %s", ([, state, wanted]) => {
    expect(verbs(state)).toEqual(wanted);
  });

  test("are steps that follow each other", () => {
    const state = { kind: "differs", offered, secret: sealed } as const;
    expect(stepsOf(state).map((step) => step.map((write) => write.do))).toEqual([
      ["delete"],
      ["create"],
    ]);
  });

  test("have the data, and replace what was observed", () => {
    expect(stepsOf({ kind: "differs", offered, secret })).toMatchObject([
      [{ object: { data, metadata: { uid: "uid-outbox", resourceVersion: "7" } } }],
    ]);
    expect(stepsOf({ kind: "missing", offered })[0]?.[0]).not.toHaveProperty("object.metadata.uid");
  });

  test("are the same wish at another time, so that a repetition waits", () => {
    const intents = (state: OutboxState, at = revisedAt) =>
      outboxSteps(state, { revisedAt: at, data }).flat().map(intentOf);
    const offers: readonly OutboxState[] = [
      { kind: "missing", offered },
      { kind: "differs", offered, secret },
      { kind: "withdrawn", withdrawn, secret },
    ];
    for (const state of offers) {
      expect(intents(state)).toEqual([expect.any(String)]);
      expect(intents(state, "2026-01-02T00:00:00Z")).toEqual(intents(state));
    }
    const narrowed = offeredOf(source, ["pay"]);
    expect(intents({ kind: "missing", offered: narrowed })).not.toEqual(
      intents({ kind: "missing", offered }),
    );
    expect(intents({ kind: "differs", offered: narrowed, secret })).toEqual([undefined]);
  });

  test("delete what was observed", () => {
    expect(stepsOf({ kind: "done", secret })).toMatchObject([
      [{ do: "delete", uid: "uid-outbox", resourceVersion: "7" }],
    ]);
  });

  test("withdraw the source by the uid of the cluster", () => {
    const former = { ...withdrawn, uid: "uid-former" };
    expect(stepsOf({ kind: "unknown", withdrawn: former })).toMatchObject([
      [
        {
          object: {
            metadata: {
              namespace: "latchkey-cluster-east",
              labels: { [labels.outboxUid]: "uid-former" },
              annotations: { ...tombstone, [annotations.withdrawn]: "uid-former" },
            },
            data: {},
          },
        },
      ],
    ]);
  });

  test("take projects away where the data stays", () => {
    const narrowed = offeredOf(source, ["pay"]);
    expect(stepsOf({ kind: "full", offered: narrowed, secret })).toEqual([
      [
        expect.objectContaining({
          do: "patch",
          body: {
            metadata: {
              resourceVersion: "7",
              annotations: { [annotations.syncToProjects]: "pay" },
            },
          },
        }),
      ],
    ]);
  });

  test("are none without the data of the source", () => {
    const state = { kind: "missing", offered } as const;
    expect(() => outboxSteps(state, { revisedAt })).toThrow(TypeError);
  });
});

test("data is loaded for what is written with it", () => {
  const loaded = states.filter(([, state]) => offeredSource(state) === source);
  expect(loaded.map(([name]) => name)).toEqual(["missing", "differs", "differs, immutable"]);
});

describe("a withdrawal", () => {
  test("is confirmed where the source is not in the cache, or a cluster asks", () => {
    const asked = states.filter(([, state]) => toConfirm(state) === place);
    expect(asked.map(([name]) => name)).toEqual(["orphaned", "unknown"]);
  });

  const there = { kind: "there", metadata: { resourceVersion: "7" } } as const;
  test.for<[string, Parameters<typeof isWithdrawalConfirmed>, boolean]>([
    ["if the source is gone", [{ kind: "gone" }, undefined], true],
    ["if the source is gone, although it is cached", [{ kind: "gone" }, "7"], true],
    ["if the cached source is the current one", [there, "7"], true],
    ["not if the cache lags behind", [there, "6"], false],
    ["not if the source is not cached", [there, undefined], false],
    ["not if the API server did not say", [{ kind: "unknown" }, undefined], false],
  ])("is confirmed %s", ([, answer, wanted]) => {
    expect(isWithdrawalConfirmed(...answer)).toBe(wanted);
  });
});
