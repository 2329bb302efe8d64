import { describe, expect, test } from "vitest";
import { annotations, cleanupFinalizer } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import { nothingToDo, type Plan, type Write } from "../../../src/domain/plan/plan.ts";
import {
  dueAt,
  forgetRepairsIn,
  intentOf,
  overwrittenBy,
  recordRepair,
  type Repair,
  slotOf,
  type StoredWrite,
  withoutHeld,
} from "../../../src/domain/plan/repairs.ts";

/** The instants of the repairs of an object that somebody changes at once, in seconds. */
function fight(seconds: number): readonly number[] {
  const instants: number[] = [];
  let repair: Repair = recordRepair(undefined, "same", 0);
  for (;;) {
    const at = Math.max(repair.at + 10, dueAt(repair, "same"));
    if (at > seconds * 1000) return instants;
    instants.push(at / 1000);
    repair = recordRepair(repair, "same", at);
  }
}

test("three repairs come at once, then one after 1 s, doubling to five minutes", () => {
  const all = fight(3600);
  expect(all.filter((at) => at <= 60).length).toBeLessThanOrEqual(9);
  const gaps = all.map((at, index) => Math.round(at - (all[index - 1] ?? 0)));
  expect(gaps.slice(0, 13)).toEqual([0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
  expect(new Set(gaps.slice(12))).toEqual(new Set([300]));
});

describe("repairs are forgotten", () => {
  const contested: Repair = { intent: "same", repairs: 9, at: 0, why: "it is deleted" };
  test("after ten quiet minutes", () => {
    expect(recordRepair(contested, "same", 599_999)).toEqual({
      ...contested,
      repairs: 10,
      at: 599_999,
    });
    expect(recordRepair(contested, "same", 600_000)).toEqual({
      intent: "same",
      repairs: 0,
      at: 600_000,
    });
  });

  test("when something else is wanted", () => {
    expect(recordRepair(contested, "other", 1)).toEqual({ intent: "other", repairs: 0, at: 1 });
  });
});

const secret = (fields: object, metadata: object = {}) =>
  ({
    do: "replace",
    resource: resources.secrets,
    object: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: "web", name: "db", uid: "u", resourceVersion: "1", ...metadata },
      ...fields,
    },
  }) as const satisfies Write;
const intents = (...writes: readonly Write[]) => new Set(writes.map(intentOf)).size;

describe("two writes want", () => {
  test("the same whatever others add, and when", () => {
    expect(
      intents(
        secret({ data: { a: "b25l" } }),
        secret({ data: { a: "b25l" } }, { resourceVersion: "2", uid: "v" }),
        secret({ data: { a: "b25l" } }, { labels: { "example.com/a": "x" } }),
      ),
    ).toBe(1);
    const status = (time: string): Write => ({
      do: "patch",
      resource: resources.sharedSecrets,
      ref: { namespace: "web", name: "db" },
      subresource: "status",
      body: { metadata: { resourceVersion: "1" }, status: { conditions: [] } },
      wanted: { status: { conditions: [{ type: "Ready", lastTransitionTime: time }] } },
    });
    expect(intents(status("a"), status("b"))).toBe(1);
    const held = (...others: readonly string[]): Write => ({
      do: "patch",
      resource: resources.ownedAccessKeys,
      ref: { name: "ci" },
      body: { metadata: { resourceVersion: "1", finalizers: [...others, cleanupFinalizer] } },
    });
    expect(intents(held(), held("example.com/x"))).toBe(1);
  });

  test("something else of an object that a user creates again", () => {
    const patch = (uid: string): Write => ({
      do: "patch",
      resource: resources.ownedAccessKeys,
      ref: { name: "ci", uid },
      body: { metadata: { resourceVersion: "1", finalizers: [] } },
    });
    expect(intents(patch("one"), patch("one"), patch("two"))).toBe(2);
    const filled = { annotations: { [annotations.filled]: "true" } };
    expect(
      intents(secret({}, { ...filled, uid: "one" }), secret({}, { ...filled, uid: "two" })),
    ).toBe(2);
  });

  test("something else with other data, type, marks or copied labels", () => {
    const copied = { [annotations.copiedLabels]: "example.com/a" };
    expect(
      intents(
        secret({ data: { a: "b25l" } }),
        secret({ data: { a: "dHdv" } }),
        secret({ data: { a: "b25l" }, type: "example.com/x" }),
        secret({ data: { a: "b25l" } }, { annotations: { [annotations.copyOf]: "a/b -> web/db" } }),
        secret({}, { annotations: copied, labels: { "example.com/a": "x" } }),
        secret({}, { annotations: copied, labels: { "example.com/a": "y" } }),
      ),
    ).toBe(6);
  });
});

test("an error at a Secret and the write of the whole Secret overwrite each other", () => {
  const error: Write = {
    do: "patch",
    resource: resources.secrets,
    ref: { namespace: "web", name: "db" },
    body: { metadata: { resourceVersion: "1", annotations: { [annotations.syncError]: "no" } } },
  };
  const label: Write = { ...error, body: { metadata: { resourceVersion: "1", labels: {} } } };
  expect(overwrittenBy(error)).toBe(slotOf(secret({})));
  expect(overwrittenBy(secret({}))).toBe(slotOf(error));
  expect(overwrittenBy(label)).toBeUndefined();
});

test("the writes in a namespace that is gone are forgotten, and no others", () => {
  const writes = [secret({}), secret({}, { namespace: "pay" }), secret({}, { name: "web" })];
  const last = { intent: "same", repairs: 9, at: 0 };
  const repairs = new Map(writes.map((write) => [slotOf(write), last]));
  forgetRepairsIn("web", repairs);
  expect([...repairs.keys()]).toEqual([" secrets/pay/db"]);
});

test("secret data is distinguished by its digest, and never waits without one", () => {
  const data = { password: new SecretText("b25l") };
  const digested = (dataDigest: string) => ({ ...secret({ data }), dataDigest });
  expect(intents(digested("one"), digested("one"), digested("two"))).toBe(2);
  expect(intentOf(secret({ data }))).toBeUndefined();
});

describe("a repair that is not due", () => {
  const repair = secret({ data: { a: "b25l" } });
  const other = secret({ data: { a: "b25l" } }, { namespace: "pay" });
  const create: Write = { ...repair, do: "create" };
  const gone: Write = {
    do: "delete",
    resource: resources.secrets,
    ref: { namespace: "web", name: "db" },
    uid: "u",
    resourceVersion: "1",
  };
  const memory = (write: StoredWrite) =>
    new Map([[slotOf(write), { intent: intentOf(write) ?? "", repairs: 4, at: 1_000 }]]);
  const steps = (...writes: readonly (readonly Write[])[]): Plan => ({
    ...nothingToDo,
    steps: writes,
  });

  test("waits, and no other object does", () => {
    const plan = steps([repair, other]);
    expect(withoutHeld(plan, memory(repair), 2_999)).toEqual({
      plan: steps([other]),
      held: { until: 3_000, write: repair },
    });
    expect(withoutHeld(plan, memory(repair), 3_000)).toEqual({ plan });
  });

  test("does not delete an object that it may not create again", () => {
    const dryRun: Write = { ...repair, do: "dry-run-create" };
    const { plan } = withoutHeld(steps([dryRun], [gone], [create], [other]), memory(create), 2_999);
    expect(plan).toEqual(steps([], [], [], [other]));
  });

  test("lets nothing through that removes no data of an object without the finalizer", () => {
    const guard: Write = {
      do: "patch",
      resource: resources.sharedSecrets,
      ref: { namespace: "team", name: "db" },
      body: { metadata: { resourceVersion: "1", finalizers: [cleanupFinalizer] } },
    };
    const status: Write = {
      do: "patch",
      resource: resources.sharedSecrets,
      ref: { namespace: "team", name: "db" },
      subresource: "status",
      body: { metadata: { resourceVersion: "1" }, status: {} },
    };
    const plan = steps([guard], [create, gone], [status]);
    expect(withoutHeld(plan, memory(guard), 2_999).plan).toEqual(steps([], [gone], [status]));
  });

  test("delays no removal, and no other value", () => {
    for (const write of [{ ...repair, isRemoval: true }, secret({ data: { a: "dHdv" } }), gone])
      expect(withoutHeld(steps([write]), memory(repair), 2_999).plan).toEqual(steps([write]));
  });
});
