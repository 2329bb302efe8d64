import { expect, test } from "vitest";
import { observeRequester } from "../../src/domain/requester/installed-policies.ts";
import { observeGrant } from "../../src/controllers/grants.ts";
import { rawRequested, rawGrant, policies } from "../support/requester-objects.ts";
import { syncedInformers } from "../support/fake-informers.ts";

const object = { kind: "OwnedAccessKey", name: "k" } as const;

async function seen(listed: Parameters<typeof syncedInformers>[0]) {
  const { stores } = (await syncedInformers({ ownedaccesskeys: [rawRequested("k")], ...listed }))
    .informers;
  const key = stores.keys.get("k");
  if (key === undefined) throw new Error("the key is not stored");
  const requester = observeRequester(key.metadata, stores.requesterPolicies);
  return { requester, grant: observeGrant(object, requester, stores) };
}

test("the requester is that of the annotations once all four policies exist", async () => {
  expect((await seen(policies)).requester).toMatchObject({ kind: "known", name: "ann" });
});

test.each(Object.keys(policies))("the requester is unknown without %s", async (plural) => {
  const { requester } = await seen({ ...policies, [plural]: [] });
  expect(requester).toMatchObject({
    kind: "unknown",
    why: expect.stringContaining("not installed"),
  });
});

const granting = (plural: string, name: string) => ({ ...policies, ...rawGrant(plural, name) });
const own = granting("ownedaccesskeys", "k");
const [unnamed, unbound] = [
  { granted: false, named: false },
  { granted: false, named: true },
];

test.for<[string, Parameters<typeof syncedInformers>[0], object]>([
  [
    "is in force if its role and binding exist",
    own,
    { granted: true, named: true, namedByOthers: false },
  ],
  ["is named and not in force without its binding", { ...own, clusterrolebindings: [] }, unbound],
  ["does not exist if the role names other objects", granting("ownedaccesskeys", "other"), unnamed],
  [
    "does not exist if the role names a token with the same name",
    granting("directclusterendpointtokens", "k"),
    unnamed,
  ],
  ["is another requester's if the requester is unknown", rawGrant("ownedaccesskeys", "k"), unbound],
])("a grant %s", async ([, listed, expected]) => {
  expect((await seen(listed)).grant).toMatchObject(expected);
});
