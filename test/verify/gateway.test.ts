import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { minorOf } from "../../src/kube/client/server-version.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayCa, managementPath } from "../support/gateway-address.ts";
import { apply, applyGateway, policiesCount } from "../support/install.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import type { GatewayProcess } from "../support/latchkey-process.ts";
import { startTcpBalancer, type TcpBalancer } from "./tcp-balancer.ts";
import { get } from "../support/cluster-connection.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const key = randomBytes(24).toString("base64url");

let cluster: DedicatedCluster;
let balancer: TcpBalancer;
let ca: string;
/** A gateway that the balancer knows. */
type Replica = GatewayProcess & { readonly webhookUrl: string };
let gateways: Replica[] = [];

async function startReplica(): Promise<Replica> {
  const gateway = await cluster.runGateway({ env: { LATCHKEY_DRAIN_TIMEOUT: "20s" } });
  const replica = Object.assign(gateway, { webhookUrl: gateway.gatewayUrl });
  balancer.add(replica);
  await eventually(() => balancer.sends(replica), {
    what: "the balancer to send connections to a new replica",
  });
  return replica;
}

const poolTo = (origin: string, allowH2: boolean): Pool =>
  new Pool(origin, {
    connections: allowH2 ? 2 : 8,
    allowH2,
    pipelining: allowH2 ? 50 : 1,
    connect: { ca },
  });

/** An answer: its status and its Audit-Id; status 0 if there was none. */
interface Answer {
  readonly name: string;
  readonly status: number;
  readonly auditId: string;
  readonly isSentAfter: (instant: number) => boolean;
}

/** Creates a ConfigMap through the gateway. */
async function create(pool: Pool, name: string): Promise<Answer> {
  const sentAt = performance.now();
  const isSentAfter = (instant: number): boolean => sentAt > instant;
  try {
    const { statusCode, headers, body } = await pool.request({
      method: "POST",
      path: managementPath + configMaps,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } }),
    });
    const text = await body.text();
    const isWhole = statusCode !== 201 || text.trimEnd().endsWith("}");
    return {
      name,
      isSentAfter,
      status: isWhole ? statusCode : 0,
      auditId: String(headers["audit-id"]),
    };
  } catch {
    return { name, status: 0, auditId: "", isSentAfter };
  }
}

/** Creates objects over several pools, `atOnce` at a time over each, until it is stopped. */
function load(pools: readonly Pool[], atOnce: number): { stop(): Promise<readonly Answer[][]> } {
  let isStopped = false;
  const all = pools.map((pool, index) =>
    Promise.all(
      Array.from({ length: atOnce }, async (_, worker) => {
        const answers: Answer[] = [];
        for (let turn = 0; !isStopped; turn += 1) {
          answers.push(
            await create(pool, `load-${index}-${worker}-${turn}-${randomBytes(4).toString("hex")}`),
          );
          await pause(10);
        }
        return answers;
      }),
    ).then((answers) => answers.flat()),
  );
  return {
    stop() {
      isStopped = true;
      return Promise.all(all);
    },
  };
}

async function namesThere(): Promise<ReadonlySet<string>> {
  const list = await cluster.arrange(get(configMaps));
  const items: unknown = list["items"];
  const all: { metadata: { name: string } }[] = JSON.parse(JSON.stringify(items));
  return new Set(all.map(({ metadata }) => metadata.name));
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  await applyGateway(cluster.controlPlane);
  await policiesCount(cluster.controlPlane);
  await cluster.arrange(makeRoot);
  await cluster.arrange(postKey("load", { user: "root", key }));
  balancer = await startTcpBalancer();
  gateways = [await startReplica(), await startReplica()];
  ca = await gatewayCa(cluster.controlPlane);
  await eventually(
    async () => {
      const pool = poolTo(gateways[0]?.gatewayUrl ?? "", false);
      const { status } = await create(pool, `first-${randomBytes(4).toString("hex")}`);
      await pool.destroy();
      return status === 201;
    },
    { what: "the key to work" },
  );
});

afterAll(async () => {
  await cluster?.stop();
  await balancer?.stop();
});

describe.skipIf(!hasDedicatedClusters)("a gateway under load", () => {
  it("loses no request when its replicas are restarted one after the other", async () => {
    const origin = `https://127.0.0.1:${balancer.port}`;
    const pools = [poolTo(origin, false), poolTo(origin, true)];
    const loading = load(pools, 4);
    const exits = [];
    for (const slot of gateways.keys()) {
      await pause(1_500);
      const leaving = gateways[slot];
      const next = await startReplica();
      if (leaving !== undefined) exits.push(leaving.stop());
      gateways[slot] = next;
    }
    const codes = (await Promise.all(exits)).map(({ code, signal }) => code ?? signal);
    const answers = (await loading.stop()).flat();
    await Promise.all(pools.map((pool) => pool.destroy()));
    const there = await namesThere();
    process.stdout.write(`rolling restart of two gateways: ${answers.length} requests\n`);
    expect(answers.filter(({ status }) => status !== 201).map(({ status }) => status)).toEqual([]);
    expect(answers.filter(({ name }) => !there.has(name))).toEqual([]);
    expect(codes).toEqual([0, 0]);
  });

  it("loses only what is in flight at a replica that is killed", async () => {
    const atOnce = 8;
    const pools = gateways.map(({ gatewayUrl }) => poolTo(gatewayUrl, false));
    const loading = load(pools, atOnce);
    await pause(2_000);
    const killed = performance.now();
    gateways[0]?.kill("SIGKILL");
    await pause(1_500);
    const answers = await loading.stop();
    const there = await namesThere();
    await Promise.all(pools.map((pool) => pool.destroy()));
    const [atKilled = [], atOther = []] = answers;
    const lost = atKilled.filter(({ status, isSentAfter }) => status === 0 && !isSentAfter(killed));
    process.stdout.write(
      `kill -9: ${lost.length} of ${atKilled.length} requests lost at the killed gateway, 0 of ${atOther.length} at the other\n`,
    );
    expect(lost.length).toBeLessThanOrEqual(atOnce);
    expect(atOther.filter(({ status }) => status !== 201)).toEqual([]);
    const audit = readFileSync(cluster.audit, "utf8");
    for (const { name, status, auditId } of answers.flat()) {
      if (status !== 201) continue;
      expect(there.has(name)).toBe(true);
      expect(audit.includes(`"auditID":"${auditId}"`)).toBe(true);
    }
  });
});

describe.skipIf(!hasDedicatedClusters)("a gateway on Kubernetes before 1.36", () => {
  it("is not ready with constrained impersonation alone, says why, and becomes ready with the plain right", async ({
    skip,
  }) => {
    const { controlPlane } = cluster;
    const { gitVersion } = await cluster.arrange(get("/version"));
    const version = String(gitVersion);
    skip((minorOf(version) ?? 0) >= 36, `Kubernetes ${version} has constrained impersonation`);
    await apply(controlPlane, join("config", "gateway"));
    const gateway = await cluster.runGateway();
    try {
      const readyz = async () => (await fetch(`${gateway.url}/readyz`)).text();
      await eventually(async () => (await readyz()).includes(`${version} has no constrained`), {
        what: "readiness to name the version",
      });
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
      expect(await readyz()).toContain("apply config/gateway-before-1.36");
      await applyGateway(controlPlane);
      await gateway.waitReady();
    } finally {
      await gateway.stop();
    }
  });
});
