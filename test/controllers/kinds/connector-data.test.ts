import { expect, test } from "vitest";
import { annotations, components, labels } from "../../../src/api/names.ts";
import { connectorDataReconciler } from "../../../src/controllers/kinds/connector-data.ts";
import { refusal, type Request } from "../../support/fake-client.ts";
import { ownNamespace } from "../../support/fake-informers.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { rawRequested } from "../../support/requester-objects.ts";
import { fakeWorld } from "../../support/world.ts";

const name = `latchkey-connector-${"0".repeat(32)}`;
const reference = `${name}/${"a".repeat(64)}`;
const claim = {
  annotations: { [annotations.requester]: "ann", [annotations.connectorData]: reference },
};
const claiming = rawRequested("k", { metadata: claim });

function secret(owner?: string): RawObject {
  const reference = { apiVersion: "management.service/v1", kind: "OwnedAccessKey" };
  return rawObject({
    name,
    namespace: ownNamespace,
    labels: { [labels.component]: components.connectorData },
    ownerReferences:
      owner === undefined ? [] : [{ ...reference, name: owner, uid: `uid-${owner}` }],
  });
}

/**
 * Runs a reconcile; `live` is the object that the API server returns, `watchMs` the age of the watch
 * of keys.
 */
async function reconciled(
  listed: Parameters<typeof fakeWorld>[0],
  {
    live = refusal("NotFound", { objectName: "k" }),
    afterMs = 0,
    watchMs = 0,
  }: { readonly live?: unknown; readonly afterMs?: number; readonly watchMs?: number } = {},
) {
  const answer = ({ verb }: Request) => (verb === "getMetadata" ? live : undefined);
  const { client, clock, reconcile } = await fakeWorld(listed, { answer, keysAgeMs: watchMs });
  clock.advance(afterMs);
  const { kind: result } = await reconcile(connectorDataReconciler, name);
  return { result, lines: client.lines };
}

const place = `${ownNamespace}/${name}`;
const later = { afterMs: 400 * 24 * 3_600_000 };

const owned = { secrets: [secret("k")] };
const claimed = { ownedaccesskeys: [claiming] };
const going = { ...claim, deletionTimestamp: "2026-01-01T00:00:00Z" };
const [read, patched] = ["getMetadata ownedaccesskeys k", `patch secrets ${place}`];
const [looked, removed] = [`getMetadata secrets ${place}`, `delete secrets ${place}`];

type Listed = Parameters<typeof fakeWorld>[0];
test.each<[string, Listed, Parameters<typeof reconciled>[1], ...lines: readonly string[]]>([
  [
    "sets the key that references a Secret as its owner",
    { ...claimed, secrets: [secret()] },
    {},
    patched,
  ],
  ["does not change a Secret with an owner", { ...claimed, ...owned }, later],
  ["deletes a Secret once the API server confirms that its key is gone", owned, {}, read, removed],
  [
    "deletes a Secret whose owner is another key with the same name",
    owned,
    { live: rawObject({ name: "k", uid: "other" }) },
    read,
    removed,
  ],
  [
    "keeps a Secret that its key still references in the API server",
    owned,
    { ...later, live: claiming },
    read,
  ],
  [
    "deletes a Secret whose key references another one",
    owned,
    { ...later, live: rawRequested("k") },
    read,
    removed,
  ],
  [
    "keeps a Secret while the resource of keys is not served",
    owned,
    { ...later, live: refusal("NotFound") },
    read,
  ],
  [
    "removes the reference to a Secret that does not exist",
    claimed,
    { live: refusal("NotFound", { objectName: name }) },
    looked,
    "patch ownedaccesskeys k",
  ],
  [
    "keeps the reference to a Secret that is not in the cache yet",
    claimed,
    { live: secret() },
    looked,
  ],
  [
    "ignores the reference of a key that is being deleted",
    { ownedaccesskeys: [rawRequested("k", { metadata: going })] },
    {},
  ],
])("%s", async (_rule, listed, options, ...lines) => {
  expect((await reconciled(listed, options)).lines).toEqual(lines);
});

test("requeues a Secret that no key references when it is due for deletion", async () => {
  expect(await reconciled({ secrets: [secret()] })).toEqual({ result: "requeue-at", lines: [] });
  expect((await reconciled({ secrets: [secret()] }, later)).lines).toEqual([
    `delete secrets ${place}`,
  ]);
});

test("keeps a Secret that no key references while the cache of keys may be as old as the Secret", async () => {
  const { result, lines } = await reconciled(
    { secrets: [secret()] },
    { ...later, watchMs: later.afterMs },
  );
  expect([result, lines]).toEqual(["requeue-at", []]);
});
