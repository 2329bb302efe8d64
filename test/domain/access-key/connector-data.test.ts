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
  test("is tied to the oldest key that claims it", () => {
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

  test("stays with the key that it is tied to, whoever else claims it", () => {
    expect(planConnectorSecret(seen("b"), [key("a"), key("b")], born + 60 * minute)).toMatchObject({
      kind: "plan",
      plan: { steps: [] },
    });
  });

  test.each<[string, number, object]>([
    [
      "waits",
      10 * minute - 1,
      { steps: [], result: { kind: "requeue-at", at: born + 10 * minute } },
    ],
    ["goes", 10 * minute, { steps: deletes }],
  ])("that no key claims %s ten minutes after it was made", (_what, age, plan) => {
    expect(planConnectorSecret(seen(), [], born + age)).toMatchObject({ kind: "plan", plan });
    expect(planConnectorSecret(seen("a"), [key("b")], born + age)).toMatchObject({
      kind: "confirm",
      key: { name: "key-a", uid: "a" },
      ifGone: { steps: deletes },
      otherwise: plan,
    });
  });

  test("that is being deleted is left alone", () => {
    expect(
      planConnectorSecret(
        seen(undefined, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
        [key("a")],
        born,
      ),
    ).toMatchObject({ plan: { steps: [] } });
  });
});

test("a claim is taken off at the version that was seen", () => {
  expect(removeConnectorDataRef(key("a"))).toMatchObject({
    do: "patch",
    ref: { name: "key-a" },
    body: {
      metadata: { resourceVersion: "7", annotations: { [annotations.connectorData]: null } },
    },
  });
});

describe("a claim", () => {
  const claim = { secret: name, mark: "a".repeat(64) };

  test("is read as it was written", () => {
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
  ])("is no other text: %j", (text) => {
    expect(connectorDataRef({ [annotations.connectorData]: text })).toBeUndefined();
  });
});
