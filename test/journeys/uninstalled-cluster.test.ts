import { decodeJwt, decodeProtectedHeader } from "jose";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listAt, stringAt } from "../../src/api/parse.ts";
import { latchkeyRecords, shortcomings } from "../support/audit-log.ts";
import {
  type Answer,
  type Caller,
  get,
  mergePatch,
  remove,
} from "../support/cluster-connection.ts";
import type { LatchkeyProcess } from "../support/latchkey-process.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { requesters } from "../support/actions.ts";
import { keysPath, postKey, postToken, readyReason } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import { apply, applyLatchkey, policiesCount } from "../support/install.ts";
import { startStamping } from "../support/install-latchkey.ts";
import { kubectl } from "../support/kubectl.ts";
import {
  hasDedicatedClusters,
  settled,
  startDedicatedCluster,
  type DedicatedCluster,
} from "../support/dedicated-cluster.ts";

const alice: Caller = { user: "alice", groups: [requesters] };
const signingKeys = "/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys";
const posts = { OwnedAccessKey: postKey, DirectClusterEndpointToken: postToken };
type Kind = keyof typeof posts;

let cluster: DedicatedCluster;
let controller: LatchkeyProcess;
let stopStamping = async () => {};

afterAll(async () => {
  await stopStamping();
  await cluster?.stop();
});

const pathOf = (kind: Kind, name: string) => `${posts[kind]("", {}).path}/${name}`;
const tokenPath = (name: string) => pathOf("DirectClusterEndpointToken", name);
const read = (path: string) => cluster.arrange(get(path));
const tokenIn = ({ status }: Answer) => stringAt(status, "token");

function tryToMake(kind: Kind, name: string, spec: object): Promise<Answer> {
  return cluster.ask(alice, posts[kind](name, spec));
}

async function make(kind: Kind, name: string, spec: object): Promise<Answer> {
  const answer = await tryToMake(kind, name, spec);
  expect(answer).toMatchObject({ code: 201 });
  return answer;
}

async function becomesReady(path: string, reason: string): Promise<Answer> {
  return eventually(
    async () => {
      const object = await read(path);
      return readyReason(object.status) === reason && object;
    },
    { what: `${path} to say ${reason}` },
  );
}

async function publishedKids(): Promise<readonly string[]> {
  const document: unknown = JSON.parse(
    await (await fetch(`${controller.url}/openid/v1/jwks`)).text(),
  );
  return listAt(document, "keys").map((key) => stringAt(key, "kid") ?? "");
}

describe.skipIf(!hasDedicatedClusters)(
  "a controller that starts before the requester policies exist",
  () => {
    const key = { user: "alice", key: "lk.alone.0123456789" };

    beforeAll(async () => {
      cluster = await startDedicatedCluster({ install: "nothing" });
      for (const directory of ["crds", "config/rbac"]) await apply(cluster.controlPlane, directory);
      await allowRequesters(cluster);
      await eventually(() => read(keysPath), { what: "the kinds to be served" });
      controller = await cluster.run({
        args: ["--delete-expired-tokens-after=3s", "--delete-expired-keys-after=3s"],
      });
      await controller.waitReady();
    });

    it("does not trust the requester annotations of an object that was created before them", async () => {
      await make("DirectClusterEndpointToken", "early", {});
      await make("OwnedAccessKey", "early", key);
      for (const path of [tokenPath("early"), pathOf("OwnedAccessKey", "early")])
        await becomesReady(path, "UnknownRequester");
      expect(tokenIn(await read(tokenPath("early")))).toBeUndefined();
    });

    it("does not trust an object that was created together with them", async () => {
      const installation = await applyLatchkey(cluster.controlPlane, () => {});
      stopStamping = await startStamping(cluster.controlPlane, installation);
      // The policy that compares the annotations may take effect before they are written.
      const isMade = async () =>
        (await tryToMake("DirectClusterEndpointToken", "hasty", {})).code === 201;
      await eventually(isMade, { what: "the annotations to be written" });
      await becomesReady(tokenPath("hasty"), "UnknownRequester");
    });

    it("trusts objects that are created later, and still not the earlier ones", async () => {
      await policiesCount(cluster.controlPlane);
      await make("DirectClusterEndpointToken", "late", {});
      await becomesReady(tokenPath("late"), "Minted");
      await settled(controller);
      for (const path of [
        tokenPath("early"),
        tokenPath("hasty"),
        pathOf("OwnedAccessKey", "early"),
      ])
        await becomesReady(path, "UnknownRequester");
      expect(await cluster.ask(alice, get(tokenPath("early")))).toMatchObject({
        code: 403,
      });
    });
  },
);

describe.skipIf(!hasDedicatedClusters)("the signing keys", () => {
  it("are created again if their Secret is deleted, and sign every token again with the same expiry", async () => {
    await make("DirectClusterEndpointToken", "resigned", { ttl: 900 });
    const before = tokenIn(await becomesReady(tokenPath("resigned"), "Minted")) ?? "";
    await cluster.arrange(remove(signingKeys));
    const after = await eventually(
      async () => {
        const token = tokenIn(await read(tokenPath("resigned")));
        return token !== undefined && token !== before && token;
      },
      { what: "the token to be signed again" },
    );
    expect(decodeJwt(after)).toMatchObject({
      exp: decodeJwt(before).exp,
      jti: decodeJwt(before).jti,
    });
    expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(before).kid);
    expect(await publishedKids()).toEqual([decodeProtectedHeader(after).kid]);
  });

  const spoiled = [
    { how: "is not JSON", data: { "keys.json": Buffer.from("{ canary").toString("base64") } },
    { how: "has no keys", data: { "keys.json": null } },
  ];
  it.each(spoiled)(
    "are not replaced if their Secret $how, and existing tokens are kept",
    async ({ data }) => {
      const before = await becomesReady(tokenPath("resigned"), "Minted");
      const spoilt = await cluster.arrange(mergePatch(signingKeys, { data }));
      await make("DirectClusterEndpointToken", "unsigned", { ttl: 900 });
      await eventually(
        async () => (await cluster.ask(alice, get(tokenPath("unsigned")))).code === 200,
        { what: "the grant" },
      );
      await eventually(
        () => readFileSync(controller.log, "utf8").includes("latchkey-signing-keys"),
        { what: "a word in the log" },
      );
      await settled(controller);
      expect((await read(signingKeys)).metadata.resourceVersion).toBe(
        spoilt.metadata.resourceVersion,
      );
      expect(tokenIn(await read(tokenPath("resigned")))).toBe(tokenIn(before));
      await cluster.arrange(remove(signingKeys));
      await becomesReady(tokenPath("unsigned"), "Minted");
      await cluster.arrange(remove(tokenPath("unsigned")));
      await eventually(
        async () => (await cluster.ask({}, get(tokenPath("unsigned")))).code === 404,
        { what: "the token to go" },
      );
    },
  );
});

describe.skipIf(!hasDedicatedClusters)("an expired object", () => {
  const kinds = [
    { kind: "DirectClusterEndpointToken", spec: { ttl: 1 } },
    { kind: "OwnedAccessKey", spec: { user: "alice", key: "lk.over.0123456789", ttl: 1 } },
  ] as const;
  it.each(kinds)(
    "of kind $kind is deleted after its retention, together with its grant",
    async ({ kind, spec }) => {
      const path = pathOf(kind, "over");
      const { metadata } = await make(kind, "over", spec);
      const due = Date.parse(String(metadata.creationTimestamp)) + 4_000;
      await becomesReady(path, "Expired");
      await eventually(async () => (await cluster.ask({}, get(path))).code === 404, {
        what: `${path} to go`,
        every: 20,
      });
      expect(Date.now()).toBeGreaterThanOrEqual(due);
      const roles = await kubectl(cluster.controlPlane, [
        "get",
        "clusterroles",
        "--selector=management.service/requester-hash",
        "--output=json",
      ]);
      const rules = listAt(JSON.parse(roles), "items").flatMap((role) => listAt(role, "rules"));
      expect(rules.flatMap((rule) => listAt(rule, "resourceNames"))).not.toContain("over");
    },
  );

  it("is deleted with the shipped RBAC", () => {
    expect(shortcomings(latchkeyRecords(cluster.audit))).toEqual([]);
  });
});
