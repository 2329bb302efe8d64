import { fetch } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { components, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { requesters } from "../support/actions.ts";
import { type Caller, get, remove } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { postToken, readyReason, tokensPath } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import type { ControllerProcess } from "../support/latchkey-process.ts";
import { allowRequesters } from "../support/scenario-play.ts";

/** TOKENS=5000 QUOTA=1000 is the full run. */
const [count, quota] = [Number(process.env.TOKENS ?? 1_000), Number(process.env.QUOTA ?? 200)];
const together = 20;
const configMaps = `/api/v1/namespaces/latchkey-system/configmaps?labelSelector=${encodeURIComponent(`${labels.component}=${components.revokedTokens}`)}`;
const mallory: Caller = { user: "mallory", groups: [requesters] };
const alice: Caller = { user: "alice", groups: [requesters] };
const patience = { within: 600_000, every: 20 };

let cluster: DedicatedCluster;
let controller: ControllerProcess;

const pathOf = (name: string) => `${tokensPath}/${name}`;

async function create(name: string, by: Caller): Promise<void> {
  const made = await cluster.ask(by, postToken(name, { ttl: 3_600 }));
  expect(made).toMatchObject({ code: 201 });
}

/** Waits until the controller has decided about a token; returns the reason of Ready. */
const decided = (name: string): Promise<string> =>
  eventually(
    async () => {
      const reason = readyReason((await cluster.arrange(get(pathOf(name)))).status);
      return reason === "Minted" || reason === "TooManyTokens" ? reason : undefined;
    },
    { ...patience, what: `a decision about ${name}` },
  );

/** The stored deny list: its ConfigMaps, its entries, and the characters of its data. */
async function stored() {
  const items = listAt(await cluster.arrange(get(configMaps)), "items");
  const data = items.map((item) => recordAt(item, "data"));
  return {
    configMaps: items.length,
    jtis: new Set(data.flatMap((one) => Object.keys(one))),
    characters: data.reduce((sum, one) => sum + JSON.stringify(one).length, 0),
  };
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  await allowRequesters(cluster);
  controller = await cluster.run({ args: [`--quota-tokens=${quota}`] });
  await controller.waitReady();
});

afterAll(() => cluster?.stop());

describe.skipIf(!hasDedicatedClusters)(
  "a requester that creates and deletes tokens without end",
  () => {
    it(`leaves no more than its quota of ${quota} in the list of revoked tokens, after ${count}`, async () => {
      const reasons: string[] = [];
      const names = Array.from({ length: count }, (_, index) => `churn-${index}`).values();
      const began = Date.now();
      const churn = async () => {
        for (const name of names) {
          await create(name, mallory);
          reasons.push(await decided(name));
          await cluster.arrange(remove(pathOf(name)));
        }
      };
      await Promise.all(Array.from({ length: together }, churn));
      const isEmpty = async () =>
        listAt(await cluster.arrange(get(tokensPath)), "items").length === 0;
      await eventually(isEmpty, { ...patience, what: "all tokens to be gone" });
      const mintedCount = reasons.filter((reason) => reason === "Minted").length;
      expect([reasons.length, mintedCount]).toEqual([count, quota]);
      const list = await stored();
      expect([list.jtis.size, list.configMaps]).toEqual([quota, 1]);
      const served = await (await fetch(`${controller.url}/openid/v1/revoked`)).text();
      process.stderr.write(
        `${count} tokens created and deleted in ${Math.round((Date.now() - began) / 1000)} s: ${mintedCount} minted; ${list.jtis.size} entries in ${list.configMaps} ConfigMap of ${list.characters} characters, a list of ${served.length} characters\n`,
      );
    });

    it("is still counted by the next leader, and does not block others", async () => {
      const exited = controller.exited();
      controller.kill("SIGKILL");
      await exited;
      controller.start();
      await controller.waitReady();
      await create("one-more", mallory);
      expect(await decided("one-more")).toBe("TooManyTokens");
      await create("of-alice", alice);
      expect(await decided("of-alice")).toBe("Minted");
      const { metadata } = await cluster.arrange(get(pathOf("of-alice")));
      await cluster.arrange(remove(pathOf("of-alice")));
      const isListed = async () => (await stored()).jtis.has(stringAt(metadata, "uid") ?? "");
      await eventually(isListed, { ...patience, what: "alice's token to be revoked" });
      expect((await stored()).jtis.size).toBe(quota + 1);
    });
  },
);
