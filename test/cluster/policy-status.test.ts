import { expect, it } from "vitest";
import { admin, answered, latchkeyAccount } from "../support/policy-request.ts";
import {
  collectionOf,
  dryCreate,
  made,
  manifest,
  merge,
  requestedKinds,
  root,
  withPolicies,
} from "./policy-fixture.ts";

const status = { expiresAt: "2030-01-01T00:00:00Z" };
const accounts = "system:serviceaccounts:latchkey-system";
const account = (path: string, ...groups: readonly string[]) => ({
  user: `system:serviceaccount:${path}`,
  groups: [...groups, ...root.groups],
});
const callers = [
  { who: "an administrator cannot", caller: admin, code: 403 },
  {
    who: "another service account in system:masters cannot",
    caller: account("default:latchkey-controller"),
    code: 403,
  },
  {
    who: "a service account of that name in a tenant's namespace cannot",
    caller: account("tenant:latchkey-controller", "system:serviceaccounts", accounts),
    code: 403,
  },
  {
    who: "a user in the group of Latchkey's accounts cannot",
    caller: { user: "latchkey-controller", groups: [accounts, ...root.groups] },
    code: 403,
  },
  {
    who: "an account of latchkey-system whose name only begins alike cannot",
    caller: account("latchkey-system:latchkey-controller2"),
    code: 403,
  },
  { who: "the controller can", caller: latchkeyAccount("latchkey-controller"), code: 200 },
];

withPolicies.each(requestedKinds)("status of $plural", ({ plural, kind }) => {
  const collection = collectionOf(plural);

  it.each(callers)("$who write it", async ({ caller, code }) => {
    const path = await made(collection, manifest(kind));
    const answer = await merge(caller, `${path}/status?dryRun=All`, { status });
    expect(answer).toMatchObject(
      answered(code, `may not write status of ${plural} ${path.split("/").at(-1)}`),
    );
  });

  it("is removed on create", async () => {
    const answer = await dryCreate(admin, collection, { ...manifest(kind), status });
    expect(answer).toMatchObject({ code: 201 });
    expect(answer.status).not.toHaveProperty("expiresAt");
  });
});
