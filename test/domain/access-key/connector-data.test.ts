import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import {
  connectorDataRefText,
  connectorDataRef,
  type ObservedConnectorSecret,
  removeConnectorDataRef,
  planConnectorSecret,
  unreferencedProblem,
  unreferencedLimits,
  unreferencedSecrets,
  type WrittenSecret,
} from "../../../src/domain/access-key/connector-data.ts";
import { born, observedMetadata } from "../../support/observed-objects.ts";

const minute = 60_000;
/** An instant after the creation of the Secret, with a cache of keys of that instant. */
const after = (age: number, keysAge = age) => ({ now: born + age, keysAsOf: born + keysAge });
const name = `latchkey-connector-${"0".repeat(32)}`;
const key = (uid: string, creationTimestamp = "2026-01-01T00:00:00Z") =>
  observedMetadata({ name: `key-${uid}`, uid, creationTimestamp });
const seen = (
  tiedTo?: string,
  changes: Parameters<typeof observedMetadata>[0] = {},
): ObservedConnectorSecret => ({
  metadata: observedMetadata({
    namespace: "latchkey-system",
    name,
    uid: "uid-secret",
    finalizers: [],
    ...changes,
  }),
  owner: tiedTo === undefined ? undefined : { name: `key-${tiedTo}`, uid: tiedTo },
});
const deletes = [
  [expect.objectContaining({ do: "delete", uid: "uid-secret", resourceVersion: "7" })],
];

describe("a Secret of connector data", () => {
  test("is owned by the oldest key that references it", () => {
    const claimants = [
      key("b"),
      key("c", "2025-01-01T00:00:00Z"),
      key("a", "2025-01-01T00:00:00Z"),
    ];
    const ownerReferences = [
      { apiVersion: "management.service/v1", kind: "OwnedAccessKey", name: "key-a", uid: "a" },
    ];
    expect(planConnectorSecret(seen(), claimants, after(0))).toMatchObject({
      kind: "plan",
      plan: {
        steps: [[{ do: "patch", body: { metadata: { resourceVersion: "7", ownerReferences } } }]],
      },
    });
  });

  test("keeps its owner if another key references it", () => {
    expect(planConnectorSecret(seen("b"), [key("a"), key("b")], after(60 * minute))).toMatchObject({
      kind: "plan",
      plan: { steps: [] },
    });
  });

  const keptUntil = (at: number) => ({ steps: [], result: { kind: "requeue-at", at: born + at } });
  test.each<[string, ReturnType<typeof after>, object]>([
    ["is kept for two minutes", after(minute), keptUntil(2 * minute)],
    [
      "is kept while a key of these two minutes may not be in the cache",
      after(20 * minute, 2 * minute - 1),
      keptUntil(20 * minute + 5_000),
    ],
    [
      "is kept while the clock of the API server is ahead",
      after(2 * minute - 1, 3 * minute),
      keptUntil(2 * minute + 4_999),
    ],
    ["is deleted then", after(2 * minute), { steps: deletes }],
  ])("that no key references %s", (_what, at, plan) => {
    expect(planConnectorSecret(seen(), [], at)).toMatchObject({ kind: "plan", plan });
    expect(planConnectorSecret(seen("a"), [key("b")], at)).toMatchObject({
      kind: "confirm",
      key: { name: "key-a", uid: "a" },
      ifGone: { steps: deletes },
      otherwise: plan,
    });
  });

  test("is not changed while it is being deleted", () => {
    expect(
      planConnectorSecret(
        seen(undefined, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
        [key("a")],
        after(0),
      ),
    ).toMatchObject({ plan: { steps: [] } });
  });
});

test("removes a reference at the observed resourceVersion", () => {
  expect(removeConnectorDataRef(key("a"))).toMatchObject({
    do: "patch",
    ref: { name: "key-a" },
    body: {
      metadata: { resourceVersion: "7", annotations: { [annotations.connectorData]: null } },
    },
  });
});

describe("a reference", () => {
  const claim = { secret: name, mark: "a".repeat(64) };

  test("is parsed from its annotation value", () => {
    expect(connectorDataRef({ [annotations.connectorData]: connectorDataRefText(claim) })).toEqual(
      claim,
    );
  });

  test.each([
    "",
    name,
    `${name}/`,
    `other/${claim.mark}`,
    `${name}/${claim.mark}x`,
    `latchkey-signing-keys/${claim.mark}`,
  ])("is undefined for an invalid value: %j", (text) => {
    expect(connectorDataRef({ [annotations.connectorData]: text })).toBeUndefined();
  });
});

const now = 10 ** 12;
const written = (count: number, user: string, age = 0): readonly WrittenSecret[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `${user}-${index}-${age}`,
    user,
    writtenAt: now - age,
  }));

describe("a Secret counts", () => {
  test.each<[string, number, boolean, number]>([
    ["from its write", 0, false, 1],
    ["for three minutes", 179_999, false, 1],
    ["not after three minutes", 180_000, false, 0],
    ["not once a key references it", 0, true, 0],
  ])("%s", (_rule, age, isClaimed, expected) => {
    expect(unreferencedSecrets(written(1, "alice", age), () => isClaimed, now)).toHaveLength(
      expected,
    );
  });
});

describe("another Secret is", () => {
  test.each<[string, readonly WrittenSecret[], string | undefined]>([
    ["allowed without others", [], undefined],
    ["allowed below the limit of the user", written(15, "alice"), undefined],
    ["rejected at the limit of the user", written(16, "alice"), "16 requests of this user"],
    ["allowed at the limit of another user", written(16, "bob"), undefined],
    [
      "rejected at the total limit",
      [...written(16, "bob"), ...written(16, "carol")],
      "32 requests with connector data",
    ],
  ])("%s", (_rule, unclaimed, because) => {
    expect(
      (unreferencedProblem(unclaimed, "alice") ?? "in order").includes(because ?? "in order"),
    ).toBe(true);
  });

  test("never allowed beyond the limits in any order of requests", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("alice", "bob", "carol", "dave"), { maxLength: 100 }),
        (users) => {
          const standing: WrittenSecret[] = [];
          for (const [index, user] of users.entries())
            if (unreferencedProblem(standing, user) === undefined)
              standing.push({ name: String(index), user, writtenAt: now });
          expect(standing.length).toBeLessThanOrEqual(unreferencedLimits.all);
          for (const user of users)
            expect(standing.filter((secret) => secret.user === user).length).toBeLessThanOrEqual(
              unreferencedLimits.perUser,
            );
        },
      ),
    );
  });
});

test("three replicas together stay below 100", () => {
  expect(3 * unreferencedLimits.all).toBeLessThan(100);
});
