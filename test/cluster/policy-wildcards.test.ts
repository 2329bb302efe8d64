import { expect, it } from "vitest";
import { admin } from "../support/policy-request.ts";
import {
  collectionOf,
  dryCreate,
  made,
  manifest,
  merge,
  requestedKinds,
  withPolicies,
} from "./policy-fixture.ts";

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

withPolicies.each(requestedKinds)("scope rules of $plural", ({ plural, kind }) => {
  const collection = collectionOf(plural);
  const object = (lists: string[][]) => {
    const resources = lists.map((entries) => ({ group: "", resources: entries }));
    return manifest(kind, {}, { scope: { rules: [{ verbs: ["get"] }, { resources }] } });
  };
  const create = (lists: string[][]) => dryCreate(admin, collection, object(lists));

  it.each(lists.filter(({ overlap }) => overlap === undefined))(
    "can list $entries",
    async ({ entries }) => {
      expect(await create([entries])).toMatchObject({ code: 201 });
    },
  );

  it.each(lists.filter(({ overlap }) => overlap !== undefined))(
    "cannot list $entries",
    async ({ entries, overlap }) => {
      const answer = await create([["pods"], entries]);
      expect(answer).toMatchObject({ code: 403, reason: "Forbidden" });
      expect(answer.message).toMatch(/is forbidden: ValidatingAdmissionPolicy /);
      expect(answer.message).toContain(
        `spec.scope.rules[1].resources[1].resources: "${overlap}" overlaps another entry`,
      );
    },
  );

  it("can repeat a wildcard in another group", async () => {
    expect(await create([["*"], ["*"]])).toMatchObject({ code: 201 });
  });

  it("are checked at any length", async () => {
    const entries = Array.from({ length: 63 }, (_, index) => `kind${index}/*`);
    expect(await create([[...entries, "pods"]])).toMatchObject({ code: 201 });
    expect(await create([[...entries, "*/scale"]])).toMatchObject({ code: 403 });
  });

  it("do not block an update that leaves them unchanged", async () => {
    const path = await made(collection, object([["pods/*", "deployments/*"]]));
    expect(await merge(admin, path, { metadata: { finalizers: [] } })).toMatchObject({ code: 200 });
  });
});
