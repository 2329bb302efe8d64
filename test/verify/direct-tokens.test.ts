import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import {
  signingKeysPath,
  startTrustingCluster,
  type TrustingCluster,
} from "../support/trusting-cluster.ts";
import { remove } from "../support/cluster-connection.ts";

describe.skipIf(!hasDedicatedClusters)("a connected cluster that trusts direct tokens", () => {
  let cluster: TrustingCluster;
  beforeAll(async () => {
    cluster = await startTrustingCluster(allowRequesters);
  });
  afterAll(() => cluster?.stop());

  it("accepts every token during a rotation of the signing keys", async () => {
    const before = (await cluster.readSigning()).kid;
    const statuses = new Set<number>();
    const tryAll = async (tokens: readonly string[]) => {
      for (const token of tokens)
        for (const status of await cluster.statusesOf(token)) statuses.add(status);
    };
    const first = await cluster.mint("rotated-0");
    await cluster.rotate();
    for (let count = 1; (await cluster.readSigning()).kid === before; count++) {
      await tryAll([first, await cluster.mint(`rotated-${count}`)]);
      await pause(500);
    }
    await tryAll([first, await cluster.mint("rotated")]);
    expect([...statuses]).toEqual([200]);
  });

  it("drops a stolen signing key at the direct endpoint; kube-apiserver does when it sees a token of another key", async () => {
    const stolen = await cluster.forge({});
    expect(await cluster.statusesOf(stolen)).toEqual([200, 200]);
    await cluster.central.arrange(remove(signingKeysPath));
    const isDropped = async () => (await cluster.whoami(stolen, "direct endpoint")).status === 401;
    await eventually(isDropped, { what: "the direct endpoint to drop the key" });
    expect((await cluster.whoami(await cluster.forge({ claims: { jti: "unseen" } }))).status).toBe(
      200,
    );
    const token = await cluster.mint("signed-again");
    await eventually(
      async () => (await cluster.statusesOf(token)).every((status) => status === 200),
      {
        what: "the new key to be accepted",
      },
    );
    const isRefused = async () => (await cluster.whoami(stolen)).status === 401;
    await eventually(isRefused, { what: "kube-apiserver to refuse the stolen key" });
    await cluster.readSigning();
  });

  it("serves while the central cluster is away; after a restart kube-apiserver has to see the issuer first, and the direct endpoint does not", async () => {
    const token = await cluster.mint("traveller");
    expect(await cluster.statusesOf(token)).toEqual([200, 200]);
    cluster.controller.kill("SIGKILL");
    await cluster.controller.exited();
    for (const known of [token, await cluster.forge({})])
      expect(await cluster.statusesOf(known)).toEqual([200, 200]);
    cluster.endpoint.kill("SIGKILL");
    await cluster.endpoint.exited();
    await cluster.connected.restartApiServer(cluster.trusted.flags);
    cluster.endpoint.start();
    await cluster.endpoint.waitReady();
    expect(await cluster.statusesOf(token)).toEqual([401, 200]);
    cluster.controller.start();
    await cluster.controller.waitReady();
    await eventually(async () => (await cluster.whoami(token)).status === 200, {
      what: "the issuer to be found again",
    });
  });
});
