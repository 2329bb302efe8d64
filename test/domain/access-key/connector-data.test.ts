import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import {
  connectorDataRefText,
  connectorDataRef,
} from "../../../src/domain/access-key/connector-data-ref.ts";
import {
  type ObservedConnectorSecret,
  removeConnectorDataRef,
  planConnectorSecret,
} from "../../../src/domain/access-key/connector-data.ts";
import { born, observedMetadata } from "../../support/observed-objects.ts";

const minute = 60_000;
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
    expect(planConnectorSecret(seen(), claimants, born)).toMatchObject({
      kind: "plan",
      plan: {
        steps: [[{ do: "patch", body: { metadata: { resourceVersion: "7", ownerReferences } } }]],
      },
    });
  });

  test("keeps its owner if another key references it", () => {
    expect(planConnectorSecret(seen("b"), [key("a"), key("b")], born + 60 * minute)).toMatchObject({
      kind: "plan",
      plan: { steps: [] },
    });
  });

  test.each<[string, number, object]>([
    [
      "is kept",
      10 * minute - 1,
      { steps: [], result: { kind: "requeue-at", at: born + 10 * minute } },
    ],
    ["is deleted", 10 * minute, { steps: deletes }],
  ])("%s ten minutes after its creation if no key references it", (_what, age, plan) => {
    expect(planConnectorSecret(seen(), [], born + age)).toMatchObject({ kind: "plan", plan });
    expect(planConnectorSecret(seen("a"), [key("b")], born + age)).toMatchObject({
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
        born,
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
