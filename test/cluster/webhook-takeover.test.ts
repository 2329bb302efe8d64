import { createHash, randomBytes } from "node:crypto";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "./eventually.ts";
import { whoIs, worksAs } from "./key-request.ts";
import { allowRequesters, grantsOf, make } from "./keys-and-tokens.ts";
import { allow, ask, patchTypes, unique, type Answer, type Caller } from "./policy-request.ts";

const collection = "/apis/management.service/v1/ownedaccesskeys";
const newKey = (): string => randomBytes(24).toString("base64url");
const digestOf = (key: string): string => `sha256:${createHash("sha256").update(key).digest("hex")}`;
const requesters = unique("requesters");
/** May create keys, and nothing else. */
const bob: Caller = { user: unique("bob"), groups: [requesters] };
/** Applies keys for the user ci-admin, as the account of a deployment tool does. */
const deployer: Caller = { user: unique("deployer") };
const ciAdmin = unique("ci-admin");

function apply(name: string, spec: object): Promise<Answer> {
  const path = `${collection}/${name}?fieldManager=deployer&force=true`;
  return ask(deployer, { method: "PATCH", type: patchTypes.apply, path, body: { apiVersion: "management.service/v1", kind: "OwnedAccessKey", metadata: { name }, spec } });
}

describe.skipIf(inject("webhook") === undefined)("who has squatted the name of a key", () => {
  beforeAll(async () => {
    await allowRequesters(requesters);
    await allow({ kind: "User", name: deployer.user ?? "" }, [
      { apiGroups: ["management.service"], resources: ["ownedaccesskeys"], verbs: ["create", "patch"] },
      { apiGroups: [""], resources: ["users"], resourceNames: [ciAdmin], verbs: ["impersonate"] },
    ]);
  });

  it("neither becomes the user of it nor reads it, whatever a deployer applies", async () => {
    const [squatted, fresh] = [newKey(), newKey()];
    const { name, path } = await make("OwnedAccessKey", { by: bob, name: unique("deploy-prod"), spec: { key: squatted } });
    const read = () => ask(bob, { method: "GET", path });
    await eventually(async () => (await read()).code === 200, { what: "bob to be granted what he has made" });

    const refusals = [await apply(name, { user: ciAdmin }), await apply(name, { user: ciAdmin, key: fresh })];
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: 403, message: expect.stringContaining("may know its key; take it over") });
    const known = await apply(name, { user: ciAdmin, key: digestOf(squatted) });
    expect(known).toMatchObject({ code: 422, message: expect.stringContaining(`the requester "${bob.user}" may know`) });

    expect(await apply(name, { user: ciAdmin, key: digestOf(fresh) })).toMatchObject({ code: 200 });
    expect(await worksAs({ key: fresh })).toMatchObject({ username: ciAdmin });
    expect(await whoIs(squatted)).toBeUndefined();
    await eventually(async () => (await read()).code === 403, { what: "bob's grant to be taken back" });

    const next = newKey();
    await eventually(async () => (await apply(name, { user: ciAdmin, key: next })).code === 200, { what: "a plain key to be taken" });
    expect(await read()).toMatchObject({ code: 403 });
    const granted = async () => (await ask(deployer, { method: "GET", path })).code === 200;
    await eventually(granted, { what: "the new requester to be granted the object" });
    expect(await grantsOf({ name })).toHaveLength(1);
  });
});
