import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requesters } from "../support/actions.ts";
import {
  type AskedWay,
  type CanI,
  canIAt,
  canIRights,
  randomQuestion,
  randomScope,
} from "../support/can-i.ts";
import { connectCluster, prepareConnectedCluster } from "../support/connected-cluster.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import {
  connectedName,
  type DirectFixture,
  directPath,
  startDirectFixture,
} from "../support/direct-fixture.ts";
import { gatewayCa, managementPath } from "../support/gateway-address.ts";
import { applyGateway } from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { seededRandom } from "../support/seeded-random.ts";

const seed = Number(process.env.SEED) || 57;
const asker = { user: "asker", groups: [requesters] };
const [scopes, questionsOfScope] = [40, 5];

describe.skipIf(!hasDedicatedClusters)("kubectl auth can-i with a scope", () => {
  let fixture: DirectFixture;
  let gateway: AskedWay["server"];

  beforeAll(async () => {
    fixture = await startDirectFixture(allowRequesters);
    const { central, connected } = fixture;
    await central.arrange(makeRoot);
    for (const args of canIRights(asker.user))
      for (const cluster of [central.controlPlane, connected]) await kubectl(cluster, args);
    await applyGateway(central.controlPlane);
    const access = await prepareConnectedCluster(connected, 2);
    await connectCluster(central.controlPlane, connectedName, access);
    const started = await central.runGateway();
    await started.waitReady();
    const certificateAuthority = await gatewayCa(central.controlPlane);
    gateway = { url: started.gatewayUrl, certificateAuthority };
  });
  afterAll(() => fixture?.stop());

  const keyWith = async (name: string, scope: object): Promise<string> => {
    const key = randomBytes(24).toString("base64url");
    await fixture.central.arrange(postKey(name, { user: asker.user, key, scope }));
    return key;
  };
  const clientAt = async (way: string, name: string, scope: object): Promise<CanI> => {
    const { central, connected, server } = fixture;
    if (way === "direct endpoint")
      return canIAt(await fixture.mint(name, { scope }, asker), {
        ...{ prefix: directPath, server, kubectl: connected },
      });
    const prefix = way === "gateway" ? managementPath : `/kubernetes/cluster/${connectedName}`;
    const key = await keyWith(name, scope);
    return canIAt(key, { prefix, server: gateway, kubectl: central.controlPlane });
  };

  it.each(["gateway", "connected cluster", "direct endpoint"])(
    "agrees with 200 random requests at the %s",
    async (way) => {
      const random = seededRandom(seed);
      const all: { readonly says: string; readonly is: string }[] = [];
      for (let at = 0; at < scopes; at += 1) {
        const scope = randomScope(random, connectedName);
        const canI = await clientAt(way, `${way.replaceAll(" ", "-")}-${at}`, scope);
        const questions = Array.from({ length: questionsOfScope }, () => randomQuestion(random));
        const answers = await Promise.all(questions.map((question) => canI.ask(question)));
        for (const [index, answer] of answers.entries())
          all.push(Object.assign({ seed, scope }, questions[index], answer));
        const list = await canI.run(["--list", "--namespace=web"]);
        expect(list.stderr).toContain("the list may be incomplete");
      }
      expect(all.filter(({ says, is }) => says !== is)).toEqual([]);
      const yes = all.filter(({ is }) => is === "yes").length;
      expect([yes > 20, yes < 180, all.length]).toEqual([true, true, 200]);
    },
  );
});
