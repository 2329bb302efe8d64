import { annotations, components, labels } from "../../src/api/names.ts";
import { connectorDataReconciler } from "../../src/controllers/kinds/connector-data.ts";
import { copyReconciler } from "../../src/controllers/kinds/copy.ts";
import { endpointTokenReconciler } from "../../src/controllers/kinds/endpoint-token.ts";
import { ownedAccessKeyReconciler } from "../../src/controllers/kinds/owned-access-key.ts";
import { revokedTokensReconciler } from "../../src/controllers/kinds/revoked-tokens.ts";
import { sharedSecretReconciler } from "../../src/controllers/kinds/shared-secret.ts";
import { signingKeysKey, signingKeysReconciler } from "../../src/controllers/kinds/signing-keys.ts";
import { revokedTokensKey } from "../../src/controllers/queues.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import type { World } from "../../src/controllers/world.ts";
import { requesterGrantReconciler } from "../../src/controllers/kinds/requester-grant.ts";
import { requesterHash } from "../../src/domain/grants/granted-names.ts";
import { derivedName } from "../../src/domain/shared-secret/derived-role.ts";
import {
  ownNamespace,
  projectNamespace,
  rawCopy,
  rawSharedSecret,
  rawSigningKeys,
} from "../support/fake-informers.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";
import { policies, rawGrant, rawRequested } from "../support/requester-objects.ts";
import { fakeWorld, type FakeWorld, type FakeWorldOptions } from "../support/world.ts";

const connector = `latchkey-connector-${"0".repeat(32)}`;
const deletionTimestamp = "2026-01-01T00:00:00Z";
const minted = { token: "x", keyID: "kid", expiresAt: "2026-01-01T01:00:00Z" };
const permission = { verbs: ["get"], status: false } as const;
const access = [{ users: ["ann"], verbs: ["get"] }];

const grants = rawGrant("ownedaccesskeys", "k", "going", "gone");
const tokenGrants = rawGrant("directclusterendpointtokens", "t", "lost");

/** Objects of every kind: new, current, changed, being deleted, and orphaned. */
const busy: Readonly<Record<string, readonly RawObject[]>> = {
  ...policies,
  ...grants,
  clusterroles: grants.clusterroles.map((role) => ({
    ...role,
    rules: [role, ...tokenGrants.clusterroles].flatMap(({ rules }) => rules),
  })),
  namespaces: ["pay", "play", "late"].map((name) => projectNamespace(name)),
  sharedsecrets: [
    rawSharedSecret("db", {
      access,
      metadata: {
        annotations: { [annotations.syncToProjects]: "web", [annotations.refreshNow]: "1" },
      },
    }),
    rawSharedSecret("big", { data: { password: "Y2FuYXJ5".repeat(2_000) } }),
    rawSharedSecret("going", { access, metadata: { deletionTimestamp } }),
  ],
  secrets: [
    ...[rawCopy("db", "pay", { data: {} }), rawCopy("gone", "pay"), rawSigningKeys()],
    rawObject({
      namespace: ownNamespace,
      name: connector,
      labels: { [labels.component]: components.connectorData },
      ownerReferences: [
        {
          apiVersion: "management.service/v1",
          kind: "OwnedAccessKey",
          name: "lost",
          uid: "uid-lost",
        },
      ],
    }),
  ],
  roles: [
    rawObject(
      {
        namespace: "team",
        name: derivedName({ name: "gone", uid: "uid-gone" }, permission),
        labels: { [labels.sourceUid]: "uid-gone" },
      },
      { rules: [{ verbs: ["get"], resourceNames: ["gone"] }] },
    ),
  ],
  ownedaccesskeys: [
    ...[rawRequested("k"), rawRequested("new")],
    rawRequested("going", { metadata: { deletionTimestamp } }),
  ],
  directclusterendpointtokens: [
    rawRequested("t"),
    rawRequested("going", { metadata: { deletionTimestamp } }),
    { ...rawRequested("ending", { metadata: { deletionTimestamp } }), status: minted },
  ],
};

/** A reconcile of every kind of object in that world. */
export const busyKeys: readonly (readonly [Reconciler<World>, string])[] = [
  ...["team/db", "team/big", "team/going", "team/gone"].map(
    (key) => [sharedSecretReconciler, key] as const,
  ),
  ...["pay/db", "play/db", "pay/big", "pay/gone"].map((key) => [copyReconciler, key] as const),
  ...["k", "new", "going", "absent"].map((key) => [ownedAccessKeyReconciler, key] as const),
  ...["t", "going", "ending"].map((key) => [endpointTokenReconciler, key] as const),
  [requesterGrantReconciler, requesterHash("ann")],
  [revokedTokensReconciler, revokedTokensKey],
  [signingKeysReconciler, signingKeysKey],
  [connectorDataReconciler, connector],
];

/** A world in which every kind of reconcile has something to do. */
export function busyWorld(options: Pick<FakeWorldOptions, "answer"> = {}): Promise<FakeWorld> {
  return fakeWorld(busy, { ...options, options: { grantSettleTime: 1_000 } });
}
