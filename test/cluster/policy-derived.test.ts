import { beforeAll, describe, expect, inject, it } from "vitest";
import {
  answered,
  arrange,
  ask,
  makeNamespace,
  patchTypes,
  unique,
  type Caller,
} from "../support/policy-request.ts";

const root: Caller = { user: "root", groups: ["system:masters"] };
const withKey: Caller = { ...root, extra: { "management.service/key-id": ["k-17"] } };
const serviceAccountToken = {
  type: "kubernetes.io/service-account-token",
  metadata: { annotations: { "kubernetes.io/service-account.name": "default" } },
};
const bootstrapToken = {
  type: "bootstrap.kubernetes.io/token",
  metadata: {},
  stringData: { "token-id": "abcdef" },
};

describe.skipIf(!inject("hasPolicies"))(
  "a Secret that the API server turns into another credential",
  () => {
    let secrets: string;
    beforeAll(async () => {
      secrets = `/api/v1/namespaces/${await makeNamespace()}/secrets`;
    });
    const secret = (body: { readonly metadata: object }) => ({
      ...body,
      metadata: { name: unique("derived"), ...body.metadata },
    });

    it.each([serviceAccountToken, bootstrapToken])(
      "of type $type cannot be created with an access key",
      async (body) => {
        const request = {
          method: "POST",
          path: `${secrets}?dryRun=All`,
          body: secret(body),
        } as const;
        expect(await ask(withKey, request)).toMatchObject(
          answered(403, `root authenticated with an access key and may not create Secret`),
        );
        expect(await ask(root, request)).toMatchObject({ code: 201 });
      },
    );

    it("cannot be changed with an access key", async () => {
      const made = await arrange({ method: "POST", path: secrets, body: secret(bootstrapToken) });
      const request = {
        method: "PATCH",
        path: `${secrets}/${made.metadata.name}`,
        type: patchTypes.merge,
        body: { stringData: { "token-secret": "0123456789abcdef" } },
      } as const;
      expect(await ask(withKey, request)).toMatchObject(
        answered(403, "of type bootstrap.kubernetes.io/token"),
      );
      expect(await ask(root, request)).toMatchObject({ code: 200 });
    });

    it("can be created with an access key if it is Opaque", async () => {
      const body = secret({ metadata: {} });
      expect(
        await ask(withKey, { method: "POST", path: `${secrets}?dryRun=All`, body }),
      ).toMatchObject({ code: 201 });
    });
  },
);
