import { beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { makeKey, worksAs } from "../support/key-request.ts";
import { tryToMake } from "../support/keys-and-tokens.ts";
import { as, bind, makeNamespace, unique, type Caller } from "../support/policy-request.ts";

/** The account that `argocd cluster add` creates: cluster-admin, in kube-system. */
const argocd: Caller = {
  user: "system:serviceaccount:kube-system:argocd-manager",
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};
const minting = {
  verbs: ["create"],
  resources: [{ group: "management.service", resources: ["ownedaccesskeys"] }],
};

describe.skipIf(inject("webhook") === undefined)(
  "an account of kube-system that is not part of Kubernetes",
  () => {
    beforeAll(() => bind({ kind: "User", name: argocd.user ?? "" }, "cluster-admin"));

    it("gets a generated key if it leaves spec.key empty", async () => {
      expect(
        await tryToMake("OwnedAccessKey", { by: argocd, spec: { user: "alice" } }),
      ).toMatchObject({ code: 201, spec: { key: expect.stringMatching(/^lk_/) } });
    });

    it("cannot use the key of another object", async () => {
      const older = await makeKey({ spec: { user: "alice" } });
      await worksAs(older);
      expect(
        await tryToMake("OwnedAccessKey", { by: argocd, spec: { user: "alice", key: older.key } }),
      ).toMatchObject({ code: 422 });
    });

    it("cannot create a key with more permissions than its own", async () => {
      const { uid, key } = await makeKey({ spec: { user: "alice", scope: { rules: [minting] } } });
      // The webhook denies the requests of a key that it does not know yet.
      await worksAs({ key });
      const answer = await tryToMake("OwnedAccessKey", {
        by: { ...argocd, extra: { "management.service/key-id": [uid] } },
        name: unique("own"),
        spec: { ttl: 60 },
      });
      expect(answer).toMatchObject({
        code: 403,
        message: expect.stringContaining("spec.scope: must not exceed the scope"),
      });
    });

    it("needs permission to set finalizers of owners whose deletion it blocks", async () => {
      const ownerReferences = [
        {
          apiVersion: "v1",
          kind: "Nothing",
          name: "x",
          uid: "00000000-0000-0000-0000-000000000000",
          blockOwnerDeletion: true,
        },
      ];
      const body = {
        apiVersion,
        kind: "SharedSecret",
        metadata: { name: unique("held"), ownerReferences },
        spec: {},
      };
      const path = `/apis/${apiVersion}/namespaces/${await makeNamespace()}/sharedsecrets`;
      expect(await as(argocd).create(path, body)).toMatchObject({
        code: 422,
        message: expect.stringContaining("does not serve Nothing of v1"),
      });
    });

    it("has its connector data moved to a Secret", async () => {
      const answer = await tryToMake("OwnedAccessKey", {
        by: argocd,
        spec: { user: "alice", identity: { connectorData: "canary" } },
      });
      expect(answer).toMatchObject({ code: 201 });
      expect(JSON.stringify(answer)).not.toContain("canary");
    });
  },
);
