import { describe, expect, test } from "vitest";
import { checkBlockOwnerDeletion } from "../../src/webhooks/owner-admission.ts";
import { FakeClient } from "../support/fake-client.ts";
import { fakeAdmissionContext } from "../support/review-fixture.ts";

const user = { username: "alice", uid: "", groups: [], extra: {} };
const owner = (name: string, index: number, apiVersion = "v1") => ({
  apiVersion,
  kind: "ConfigMap",
  name,
  uid: `uid-${index}`,
  blockOwnerDeletion: true,
});

function holding({ allowed = true }: { readonly allowed?: boolean } = {}) {
  const asked: string[] = [];
  const client = new FakeClient(() => ({ status: { allowed } }));
  const kindOf = async (apiVersion: string) => {
    asked.push(apiVersion);
    return apiVersion === "v1" ? { group: "", plural: "configmaps", namespaced: true } : undefined;
  };
  const discovery = { kindOf, known: () => undefined };
  const context = fakeAdmissionContext({ client, discovery });
  const sent = async (owners: readonly object[]) =>
    checkBlockOwnerDeletion(
      {
        uid: "r",
        user,
        isDryRun: false,
        namespace: "web",
        object: { metadata: { name: "x", ownerReferences: owners } },
        oldObject: undefined,
      },
      context,
    );
  return { client, asked, sent };
}

describe("a blocked owner", () => {
  test("is rejected without a review beyond 16 entries", async () => {
    const { client, asked, sent } = holding();
    const owners = Array.from({ length: 17 }, (_, index) => owner(`o${index}`, index));
    expect(await sent(owners)).toMatchObject({
      kind: "refused",
      code: 422,
      message: expect.stringContaining(
        "has 17 entries with blockOwnerDeletion: true; must have at most 16",
      ),
    });
    expect([asked, client.requests]).toEqual([[], []]);
  });

  test("is reviewed once for several entries", async () => {
    const { client, asked, sent } = holding();
    expect(
      await sent(Array.from({ length: 16 }, (_, index) => owner(`o${index % 2}`, index))),
    ).toMatchObject({ kind: "admitted" });
    expect([asked.length, client.requests.length]).toEqual([2, 2]);
  });

  test("is rejected with the first invalid field", async () => {
    const { sent } = holding({ allowed: false });
    expect(await sent([owner("a", 0), owner("b", 1, "unknown/v1")])).toMatchObject({
      kind: "refused",
      message: expect.stringMatching(
        /ownerReferences\[0\].*requires the verb delete on ConfigMap "a" of v1/,
      ),
    });
  });
});
