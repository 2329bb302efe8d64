import { describe, expect, inject, it } from "vitest";
import { arrange, ask, admin, patchTypes, unique } from "../support/policy-request.ts";

const api = "/apis/management.service/v1";
const kinds = [
  { plural: "directclusterendpointtokens", kind: "DirectClusterEndpointToken" },
  { plural: "ownedaccesskeys", kind: "OwnedAccessKey" },
] as const;

const lists: { entries: string[]; overlap?: string }[] = [
  { entries: [] },
  { entries: ["*"] },
  { entries: ["pods", "pods/log", "pods"] },
  { entries: ["pods", "pods/*"] },
  { entries: ["pods/*", "deployments/*", "deployments"] },
  { entries: ["*/scale", "pods/log", "pods"] },
  { entries: ["*/scale", "*/status"] },
  { entries: ["pods/*", "podsets/log"] },
  { entries: ["*", "pods"], overlap: "*" },
  { entries: ["pods/log", "*"], overlap: "*" },
  { entries: ["*", "*"], overlap: "*" },
  { entries: ["pods/*", "pods/log"], overlap: "pods/*" },
  { entries: ["pods/log", "pods/*"], overlap: "pods/*" },
  { entries: ["pods/*", "pods/*"], overlap: "pods/*" },
  { entries: ["*/scale", "deployments/scale"], overlap: "*/scale" },
  { entries: ["*/scale", "deployments/*"], overlap: "*/scale" },
  { entries: ["deployments/*", "*/scale"], overlap: "deployments/*" },
  { entries: ["configmaps", "*/scale", "secrets", "*/scale"], overlap: "*/scale" },
];

describe.skipIf(!inject("hasPolicies")).each(kinds)(
  "scope rules of $plural",
  ({ plural, kind }) => {
    const object = (resources: string[][]) => ({
      apiVersion: "management.service/v1",
      kind,
      metadata: { name: unique("scope") },
      spec: {
        scope: {
          rules: [
            { verbs: ["get"] },
            { resources: resources.map((entries) => ({ group: "", resources: entries })) },
          ],
        },
      },
    });
    const create = (body: object) =>
      ask(admin, { method: "POST", path: `${api}/${plural}?dryRun=All`, body });

    it.each(lists.filter(({ overlap }) => overlap === undefined))(
      "can list $entries",
      async ({ entries }) => {
        expect(await create(object([entries]))).toMatchObject({ code: 201 });
      },
    );

    it.each(lists.filter(({ overlap }) => overlap !== undefined))(
      "cannot list $entries",
      async ({ entries, overlap }) => {
        const answer = await create(object([["pods"], entries]));
        expect(answer).toMatchObject({ code: 403, reason: "Forbidden" });
        expect(answer.message).toMatch(/is forbidden: ValidatingAdmissionPolicy /);
        expect(answer.message).toContain(
          `spec.scope.rules[1].resources[1].resources: "${overlap}" overlaps another entry`,
        );
      },
    );

    it("can repeat a wildcard in another group", async () => {
      expect(await create(object([["*"], ["*"]]))).toMatchObject({ code: 201 });
    });

    it("are checked at any length", async () => {
      const entries = Array.from({ length: 63 }, (_, index) => `kind${index}/*`);
      expect(await create(object([[...entries, "pods"]]))).toMatchObject({ code: 201 });
      expect(await create(object([[...entries, "*/scale"]]))).toMatchObject({ code: 403 });
    });

    it("do not block an update that leaves them unchanged", async () => {
      const { metadata } = await arrange({
        method: "POST",
        path: `${api}/${plural}`,
        body: object([["pods/*", "deployments/*"]]),
      });
      const body = { metadata: { finalizers: [] } };
      const answer = await ask(admin, {
        method: "PATCH",
        path: `${api}/${plural}/${metadata.name}`,
        type: patchTypes.merge,
        body,
      });
      expect(answer).toMatchObject({ code: 200 });
    });
  },
);
