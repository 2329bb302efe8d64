import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { boundDigest } from "../support/bound-digest.ts";
import { kubectl } from "../support/kubectl.ts";
import { whoIs, worksAs } from "../support/key-request.ts";
import { allowRequesters, grantsOf, make } from "../support/keys-and-tokens.ts";
import { becomes } from "../support/becomes.ts";
import {
  api,
  as,
  allow,
  ask,
  patchTypes,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";

const collection = "/apis/management.service/v1/ownedaccesskeys";
const newKey = (): string => randomBytes(24).toString("base64url");
const requesters = unique("requesters");
/** May only create keys. */
const bob: Caller = { user: unique("bob"), groups: [requesters] };
/** Applies keys for the user ci-admin, like the account of a deployment tool. */
const deployer: Caller = { user: unique("deployer") };
const ciAdmin = unique("ci-admin");

function apply(name: string, spec: object): Promise<Answer> {
  const path = `${collection}/${name}?fieldManager=deployer&force=true`;
  return ask(deployer, {
    method: "PATCH",
    type: patchTypes.apply,
    path,
    body: { apiVersion: "management.service/v1", kind: "OwnedAccessKey", metadata: { name }, spec },
  });
}

describe.skipIf(inject("webhook") === undefined)("a user who took the name of a key first", () => {
  beforeAll(async () => {
    await allowRequesters(requesters);
    await allow({ kind: "User", name: deployer.user ?? "" }, [
      {
        apiGroups: ["management.service"],
        resources: ["ownedaccesskeys"],
        verbs: ["create", "update", "patch"],
      },
      { apiGroups: [""], resources: ["users"], resourceNames: [ciAdmin], verbs: ["impersonate"] },
    ]);
  });

  it("neither becomes that user nor can read the new key, regardless of what a deployer applies", async () => {
    const [squatted, fresh] = [newKey(), newKey()];
    const { name, path } = await make("OwnedAccessKey", {
      by: bob,
      name: unique("deploy-prod"),
      spec: { key: squatted },
    });
    const read = () => as(bob).get(path);
    await becomes("bob to be granted what he has made", () => read(), { code: 200 });

    const refusals = [
      await apply(name, { user: ciAdmin }),
      await apply(name, { user: ciAdmin, key: fresh }),
    ];
    for (const refusal of refusals)
      expect(refusal).toMatchObject({
        code: 403,
        message: expect.stringContaining("may know its key; take it over"),
      });
    const known = await apply(name, {
      user: ciAdmin,
      key: boundDigest(squatted, `user:${ciAdmin}`),
    });
    expect(known).toMatchObject({
      code: 422,
      message: expect.stringContaining(`the requester "${bob.user}" may know`),
    });

    const taken = { user: ciAdmin, key: boundDigest(fresh, `user:${ciAdmin}`) };
    expect(await apply(name, taken)).toMatchObject({ code: 200 });
    expect(await worksAs({ key: fresh })).toMatchObject({ username: ciAdmin });
    expect(await whoIs(squatted)).toBeUndefined();
    await becomes("bob's grant to be taken back", () => read(), { code: 403 });

    const next = newKey();
    await becomes("a plain key to be taken", () => apply(name, { user: ciAdmin, key: next }), {
      code: 200,
    });
    expect(await read()).toMatchObject({ code: 403 });
    await becomes("the new requester to be granted the object", () => as(deployer).get(path), {
      code: 200,
    });
    expect(await grantsOf({ name })).toHaveLength(1);
  });
});

// The commands of docs/how-to/somebody-has-left.md.
describe.skipIf(inject("webhook") === undefined)("a user who has left", () => {
  it("can be found as requester and as user, and keys that the user created for others get a new value", async () => {
    const [leaver, ci] = [{ user: unique("leaver"), groups: [requesters] }, unique("ci")];
    await allowRequesters(requesters);
    await allow({ kind: "User", name: leaver.user }, [
      { apiGroups: [""], resources: ["users"], resourceNames: [ci], verbs: ["impersonate"] },
    ]);
    const [own, others] = [
      await make("OwnedAccessKey", { by: leaver, spec: { user: leaver.user } }),
      await make("OwnedAccessKey", { by: leaver, spec: { user: ci } }),
    ];
    const access = inject("controlPlane");
    const table = await kubectl(access, [
      "get",
      "oak,dcet",
      "-o",
      "custom-columns=KIND:.kind,NAME:.metadata.name,REQUESTER:.metadata.annotations.management\\.service/requester",
    ]);
    const found = table.split("\n").filter((line) => line.includes(leaver.user));
    expect([own, others].map(({ name }) => found.some((line) => line.includes(name)))).toEqual([
      true,
      true,
    ]);
    expect(
      await kubectl(access, ["get", "oak", "--field-selector", `spec.user=${leaver.user}`]),
    ).toContain(own.name);

    await kubectl(access, ["delete", "oak", own.name]);
    const key = newKey();
    await kubectl(access, [
      "patch",
      "oak",
      others.name,
      "--type=merge",
      "--patch",
      JSON.stringify({ spec: { key: boundDigest(key, `user:${ci}`) } }),
    ]);
    expect(await worksAs({ key })).toMatchObject({ username: ci });
    await becomes("the right to read it to end", () => as(leaver).get(others.path), { code: 403 });
    expect((await api.get(others.path)).metadata.annotations).not.toMatchObject({
      "management.service/requester": leaver.user,
    });
    expect(await api.find(own.path)).toMatchObject({ code: 404 });
  });
});
