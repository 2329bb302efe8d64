import { expect, test } from "vitest";
import { createKeyResolver } from "../../../src/domain/access-key/key-resolver.ts";
import { annotations } from "../../../src/api/names.ts";
import { ancestorsOf } from "../../../src/domain/access-key/key-state.ts";
import { rawRequested, policies } from "../../support/requester-objects.ts";
import { syncedInformers } from "../../support/fake-informers.ts";
import type { RawObject } from "../../support/fake-list-watch.ts";

const config = { maximumKeyTtl: 0, namespace: "latchkey-system", prefixes: { user: "", team: "" } };

/** A key that was created with another key. */
function parentKey(name: string, other: string): RawObject {
  return rawRequested(name, {
    metadata: {
      annotations: { [annotations.requester]: "ann", [annotations.requesterKeyId]: `uid-${other}` },
    },
  });
}

async function lineage(name: string, keys: readonly RawObject[]) {
  const { informers } = await syncedInformers({ ...policies, ownedaccesskeys: keys });
  const view = createKeyResolver({
    keys: informers.stores.keys,
    policies: informers.stores.requesterPolicies,
    issuers: () => new Map(),
    config,
  }).byId(`uid-${name}`);
  const views = view === undefined ? [] : ancestorsOf(view);
  return [
    ...views.map(({ key }) => key.metadata.name),
    ...(views.at(-1)?.parentKey === "gone" ? ["gone"] : []),
  ];
}

test("a key is resolved with its ancestors", async () => {
  const keys = [parentKey("c", "b"), parentKey("b", "a"), rawRequested("a")];
  expect(await lineage("c", keys)).toEqual(["c", "b", "a"]);
  expect(await lineage("a", keys)).toEqual(["a"]);
  expect(await lineage("c", keys.slice(0, 2))).toEqual(["c", "b", "gone"]);
  expect(await lineage("nobody", keys)).toEqual([]);
});

test("the parent of the eighth generation counts as deleted", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `k${index}`);
  const keys = names.map((name, index) =>
    index === 0 ? rawRequested(name) : parentKey(name, `k${index - 1}`),
  );
  expect(await lineage("k7", keys)).toEqual(["k7", "k6", "k5", "k4", "k3", "k2", "k1", "k0"]);
  expect((await lineage("k8", keys)).at(-1)).toBe("gone");
  expect((await lineage("k", [parentKey("k", "k")])).at(-1)).toBe("gone");
});
