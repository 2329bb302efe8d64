import { describe, expect, inject, it } from "vitest";
import {
  admin,
  answered,
  arrange,
  ask,
  latchkeyAccount,
  patchTypes,
  unique,
  type Caller,
} from "../support/policy-request.ts";

const api = "/apis/management.service/v1";
const kinds = [
  { plural: "directclusterendpointtokens", kind: "DirectClusterEndpointToken" },
  { plural: "ownedaccesskeys", kind: "OwnedAccessKey" },
] as const;
const callers: { who: string; caller: Caller; code: number }[] = [
  { who: "an administrator cannot", caller: admin, code: 403 },
  {
    who: "another service account in system:masters cannot",
    caller: {
      user: "system:serviceaccount:default:latchkey-controller",
      groups: ["system:masters"],
    },
    code: 403,
  },
  {
    who: "a service account of that name in a tenant's namespace cannot",
    caller: {
      user: "system:serviceaccount:tenant:latchkey-controller",
      groups: [
        "system:serviceaccounts",
        "system:serviceaccounts:latchkey-system",
        "system:masters",
      ],
    },
    code: 403,
  },
  {
    who: "a user in the group of Latchkey's accounts cannot",
    caller: {
      user: "latchkey-controller",
      groups: ["system:serviceaccounts:latchkey-system", "system:masters"],
    },
    code: 403,
  },
  {
    who: "an account of latchkey-system whose name only begins alike cannot",
    caller: {
      user: "system:serviceaccount:latchkey-system:latchkey-controller2",
      groups: ["system:masters"],
    },
    code: 403,
  },
  { who: "the controller can", caller: latchkeyAccount("latchkey-controller"), code: 200 },
];

describe.skipIf(!inject("hasPolicies")).each(kinds)("status of $plural", ({ plural, kind }) => {
  const object = () => ({
    apiVersion: "management.service/v1",
    kind,
    metadata: { name: unique("status") },
    spec: {},
  });

  it.each(callers)("$who write it", async ({ caller, code }) => {
    const { metadata } = await arrange({
      method: "POST",
      path: `${api}/${plural}`,
      body: object(),
    });
    const path = `${api}/${plural}/${metadata.name}/status?dryRun=All`;
    const answer = await ask(caller, {
      method: "PATCH",
      path,
      type: patchTypes.merge,
      body: { status: { expiresAt: "2030-01-01T00:00:00Z" } },
    });
    expect(answer).toMatchObject(
      answered(code, `may not write status of ${plural} ${metadata.name}`),
    );
  });

  it("is removed on create", async () => {
    const body = { ...object(), status: { expiresAt: "2030-01-01T00:00:00Z" } };
    const answer = await arrange({ method: "POST", path: `${api}/${plural}?dryRun=All`, body });
    expect(answer.status).not.toHaveProperty("expiresAt");
  });
});
