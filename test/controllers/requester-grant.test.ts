import { expect, test } from "vitest";
import { reconcileRequesterGrant } from "../../src/controllers/requester-grant.ts";
import { requesterHash } from "../../src/domain/granted-names.ts";
import { asked, granted, policies } from "./requester-sightings.ts";
import { ScriptedClient } from "./scripted-client.ts";
import { told } from "./told-controller.ts";
import { raw } from "./told-list-watch.ts";

const hash = requesterHash("ann");
const name = `latchkey-requester-${hash}-0`;

async function passOver(listed: Parameters<typeof told>[0]) {
  const { informers, log } = await told({ ...policies, ...listed });
  const client = new ScriptedClient();
  const next = await reconcileRequesterGrant(hash, { client, log, stores: informers.stores, observe: () => {}, tell: async () => {} });
  return { next, client, log, granted: client.requests.flatMap(({ body }) => JSON.stringify(body).match(/"resourceNames":\[[^\]]*\]/g) ?? []) };
}

test("a requester is granted the keys and tokens that it asked for", async () => {
  const { client, granted: names } = await passOver({ ownedaccesskeys: [asked("k")], directclusterendpointtokens: [asked("t")] });
  expect(client.lines).toEqual([`create clusterroles ${name}`, `create clusterrolebindings ${name}`]);
  expect(names.toSorted()).toEqual(['"resourceNames":["k"]', '"resourceNames":["t"]']);
});

test.for<[string, Parameters<typeof told>[0]]>([
  ["that Latchkey does not hold yet", { ownedaccesskeys: [asked("k", { metadata: { finalizers: [] } })] }],
  ["that is being deleted", { ownedaccesskeys: [asked("k", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })] }],
  ["whose requester is not certain", { ownedaccesskeys: [asked("k")], mutatingadmissionpolicies: [] }],
])("nobody is granted what asks for it but %s", async ([, listed]) => {
  expect((await passOver(listed)).client.lines).toEqual([]);
});

test("a grant of what is gone is taken back", async () => {
  const { client } = await passOver(granted("ownedaccesskeys", "gone"));
  expect(client.lines).toEqual([`delete clusterrolebindings ${name}`, `delete clusterroles ${name}`]);
});

test("a name that somebody else holds is logged", async () => {
  const { log } = await passOver({ ownedaccesskeys: [asked("k")], clusterroles: [raw({ name }, { rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] })] });
  expect(log.lines).toMatchObject([{ level: "warn", fields: { names: [name] } }]);
});
