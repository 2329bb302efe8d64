import { expect, test } from "vitest";
import { annotations, components, labels } from "../../src/api/names.ts";
import { reconcileConnectorData } from "../../src/controllers/connector-data.ts";
import { rawRequested } from "../support/requester-objects.ts";
import { refusal, FakeClient } from "../support/fake-client.ts";
import { ownNamespace, syncedInformers } from "../support/fake-informers.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";

const name = `latchkey-connector-${"0".repeat(32)}`;
const claim = {
  annotations: {
    [annotations.requester]: "ann",
    [annotations.connectorData]: `${name}/${"a".repeat(64)}`,
  },
};
const claiming = rawRequested("k", { metadata: claim });

function secret(owner?: string): RawObject {
  const ownerReferences =
    owner === undefined
      ? []
      : [
          {
            apiVersion: "management.service/v1",
            kind: "OwnedAccessKey",
            name: owner,
            uid: `uid-${owner}`,
          },
        ];
  return rawObject({
    name,
    namespace: ownNamespace,
    labels: { [labels.component]: components.connectorData },
    ownerReferences,
  });
}

/** Runs a reconcile; `live` is the object that the API server returns. */
async function reconciled(
  listed: Parameters<typeof syncedInformers>[0],
  {
    live = refusal("NotFound", { objectName: "k" }),
    afterMs = 0,
  }: { readonly live?: unknown; readonly afterMs?: number } = {},
) {
  const { informers, clock } = await syncedInformers(listed);
  clock.advance(afterMs);
  const client = new FakeClient(({ verb }) => (verb === "getMetadata" ? live : {}));
  const next = await reconcileConnectorData(name, {
    client,
    clock,
    namespace: ownNamespace,
    stores: informers.stores,
    recordWrite: () => {},
    recordEvent: async () => {},
    refresh: async () => {},
  });
  return { result: next.kind, lines: client.lines };
}

const place = `${ownNamespace}/${name}`;
const later = { afterMs: 400 * 24 * 3_600_000 };

test.each<
  [
    string,
    Parameters<typeof syncedInformers>[0],
    Parameters<typeof reconciled>[1],
    readonly string[],
  ]
>([
  [
    "sets the key that references a Secret as its owner",
    { secrets: [secret()], ownedaccesskeys: [claiming] },
    {},
    [`patch secrets ${place}`],
  ],
  [
    "does not change a Secret with an owner",
    { secrets: [secret("k")], ownedaccesskeys: [claiming] },
    later,
    [],
  ],
  [
    "deletes a Secret once the API server confirms that its key is gone",
    { secrets: [secret("k")] },
    {},
    ["getMetadata ownedaccesskeys k", `delete secrets ${place}`],
  ],
  [
    "deletes a Secret whose owner is another key with the same name",
    { secrets: [secret("k")] },
    { live: rawObject({ name: "k", uid: "other" }) },
    ["getMetadata ownedaccesskeys k", `delete secrets ${place}`],
  ],
  [
    "keeps a Secret that its key still references in the API server",
    { secrets: [secret("k")] },
    { ...later, live: claiming },
    ["getMetadata ownedaccesskeys k"],
  ],
  [
    "deletes a Secret whose key references another one",
    { secrets: [secret("k")] },
    { ...later, live: rawRequested("k") },
    ["getMetadata ownedaccesskeys k", `delete secrets ${place}`],
  ],
  [
    "keeps a Secret while the resource of keys is not served",
    { secrets: [secret("k")] },
    { ...later, live: refusal("NotFound") },
    ["getMetadata ownedaccesskeys k"],
  ],
  [
    "removes the reference to a Secret that does not exist",
    { ownedaccesskeys: [claiming] },
    { live: refusal("NotFound", { objectName: name }) },
    [`getMetadata secrets ${place}`, "patch ownedaccesskeys k"],
  ],
  [
    "keeps the reference to a Secret that is not in the cache yet",
    { ownedaccesskeys: [claiming] },
    { live: secret() },
    [`getMetadata secrets ${place}`],
  ],
  [
    "ignores the reference of a key that is being deleted",
    {
      ownedaccesskeys: [
        rawRequested("k", { metadata: { ...claim, deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      ],
    },
    {},
    [],
  ],
])("%s", async (_rule, listed, options, lines) => {
  expect((await reconciled(listed, options)).lines).toEqual(lines);
});

test("requeues a Secret that no key references when it is due for deletion", async () => {
  expect(await reconciled({ secrets: [secret()] })).toEqual({ result: "requeue-at", lines: [] });
  expect((await reconciled({ secrets: [secret()] }, later)).lines).toEqual([
    `delete secrets ${place}`,
  ]);
});
