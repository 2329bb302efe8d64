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

/** A pass; `live` is what the API server says of the object that it is asked about. */
async function passOver(
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
  [string, Parameters<typeof syncedInformers>[0], Parameters<typeof passOver>[1], readonly string[]]
>([
  [
    "a Secret that a key claims is tied to it",
    { secrets: [secret()], ownedaccesskeys: [claiming] },
    {},
    [`patch secrets ${place}`],
  ],
  [
    "a Secret that is tied is left alone",
    { secrets: [secret("k")], ownedaccesskeys: [claiming] },
    later,
    [],
  ],
  [
    "a Secret whose key is gone goes, once the API server says so",
    { secrets: [secret("k")] },
    {},
    ["getMetadata ownedaccesskeys k", `delete secrets ${place}`],
  ],
  [
    "a Secret whose key is another one of that name goes",
    { secrets: [secret("k")] },
    { live: rawObject({ name: "k", uid: "other" }) },
    ["getMetadata ownedaccesskeys k", `delete secrets ${place}`],
  ],
  [
    "a Secret whose key claims it after all stays",
    { secrets: [secret("k")] },
    { ...later, live: claiming },
    ["getMetadata ownedaccesskeys k"],
  ],
  [
    "a Secret whose key claims another one goes",
    { secrets: [secret("k")] },
    { ...later, live: rawRequested("k") },
    ["getMetadata ownedaccesskeys k", `delete secrets ${place}`],
  ],
  [
    "a Secret stays while keys are not served",
    { secrets: [secret("k")] },
    { ...later, live: refusal("NotFound") },
    ["getMetadata ownedaccesskeys k"],
  ],
  [
    "a claim on a Secret that is gone is taken off",
    { ownedaccesskeys: [claiming] },
    { live: refusal("NotFound", { objectName: name }) },
    [`getMetadata secrets ${place}`, "patch ownedaccesskeys k"],
  ],
  [
    "a claim on a Secret that the watch has not told of yet stays",
    { ownedaccesskeys: [claiming] },
    { live: secret() },
    [`getMetadata secrets ${place}`],
  ],
  [
    "a claim of a key that is going is nobody's business",
    {
      ownedaccesskeys: [
        rawRequested("k", { metadata: { ...claim, deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      ],
    },
    {},
    [],
  ],
])("%s", async (_rule, listed, told, lines) => {
  expect((await passOver(listed, told)).lines).toEqual(lines);
});

test("a Secret that no key claims is looked at again when its time is over", async () => {
  expect(await passOver({ secrets: [secret()] })).toEqual({ result: "requeue-at", lines: [] });
  expect((await passOver({ secrets: [secret()] }, later)).lines).toEqual([
    `delete secrets ${place}`,
  ]);
});
