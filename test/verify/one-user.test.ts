import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTls } from "node:tls";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayCa, managementPath } from "../support/gateway-address.ts";
import { applyGateway, policiesCount } from "../support/install.ts";
import { keysPath, makeRoot, postKey } from "../support/latchkey-objects.ts";
import type { GatewayProcess } from "../support/latchkey-process.ts";
import { percentile } from "../support/percentile.ts";

const mebibyte = 1024 * 1024;
/** The memory limit of config/gateway. */
const limitBytes = 512 * mebibyte;
const attackers = ["one", "two", "three", "four"];
const configMaps = "/api/v1/namespaces/default/configmaps";
const keyOf = (user: string, name = "a"): string => `${user}-${name}-${secret}`;
/** Each has two keys, for a key alone may have less than half of what a user may. */
const keyNames = ["a", "b"];
const secret = randomBytes(24).toString("base64url");

let cluster: DedicatedCluster;
let gateway: GatewayProcess;
let ca: string;
const closing: (() => void)[] = [];

const residentBytes = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) * 1024;

/** Connections of the attackers come from an address of their own. */
const attackersAddress = "127.0.0.2";

function session(localAddress = "127.0.0.1"): ClientHttp2Session {
  const { port } = new URL(gateway.gatewayUrl);
  const opened = connect(gateway.gatewayUrl, {
    createConnection: () =>
      connectTls({
        ...{ host: "127.0.0.1", port: Number(port), ca, localAddress },
        ...{ servername: "localhost", ALPNProtocols: ["h2"] },
      }),
  });
  opened.on("error", () => {});
  closing.push(() => opened.destroy());
  return opened;
}

interface Body {
  readonly contentType?: string;
  /** What the head says. */
  readonly bytes: number;
  readonly sent: string;
}

/** Sends a request and returns its status, or 0 if the stream ended without one. */
function send(over: ClientHttp2Session, path: string, key: string, body?: Body): Promise<number> {
  const { contentType = "application/json", bytes = 0, sent = "" } = body ?? {};
  const stream = over.request(
    {
      ":method": body === undefined ? "GET" : "POST",
      ":path": managementPath + path,
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": contentType, "content-length": bytes }),
    },
    { endStream: body === undefined },
  );
  if (sent !== "") stream.write(sent);
  return new Promise((resolve) => {
    stream.once("response", (head) => resolve(Number(head[":status"])));
    stream.on("error", () => {});
    stream.once("close", () => resolve(0));
    stream.resume();
  });
}

/** Sends a request that is not read and whose answer is not waited for, again and again. */
function flood(path: string, count: number, body?: Body): void {
  const keys = attackers.flatMap((user) => keyNames.map((name) => keyOf(user, name)));
  for (const key of keys)
    for (let opened = 0; opened < count; opened += 100) {
      const over = session(attackersAddress);
      for (let index = opened; index < Math.min(count, opened + 100); index += 1)
        void send(over, path, key, body);
    }
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  await applyGateway(cluster.controlPlane);
  await policiesCount(cluster.controlPlane);
  await cluster.arrange(makeRoot);
  for (const user of attackers)
    for (const name of keyNames)
      await cluster.arrange(postKey(`${user}-${name}`, { user, key: keyOf(user, name) }));
  await cluster.arrange(postKey("honest", { user: "root", key: keyOf("honest") }));
});

/** Memory that an attack took is not given back: each has a gateway of its own. */
beforeEach(async () => {
  if (!hasDedicatedClusters) return;
  gateway = await cluster.runGateway();
  await gateway.waitReady();
  ca = await gatewayCa(cluster.controlPlane);
  await eventually(async () => (await send(session(), configMaps, keyOf("honest"))) === 200, {
    what: "the key to work",
  });
});

afterEach(async () => {
  for (const close of closing.splice(0)) close();
  gateway?.kill("SIGKILL");
  await gateway?.stop();
});

afterAll(() => cluster?.stop());

/** What the attackers do, by name. */
const attacks: Readonly<Record<string, () => void>> = {
  "bodies that trickle, for the API server": () =>
    flood(configMaps, 250, { bytes: 100_000, sent: "{" }),
  "bodies of Latchkey's kinds that trickle, without any right": () =>
    flood(keysPath, 250, { bytes: 3 * mebibyte, sent: " ".repeat(100_000) }),
  watches: () => flood("/apis/management.service/v1?watch=1", 256),
  "requests for resources that do not exist": () =>
    flood(`/apis/unknown-${randomBytes(4).toString("hex")}.example/v1/things`, 500),
  "connections without a credential": () => {
    for (let count = 0; count < 5_000; count += 1) session(attackersAddress);
  },
};

describe.skipIf(!hasDedicatedClusters)("a user beside four who flood the gateway", () => {
  it.each([
    ...Object.entries(attacks),
    ["all of these at once", () => Object.values(attacks).forEach((attack) => attack())] as const,
  ])("is not refused: %s", async (what, attack) => {
    attack();
    await pause(1_000);
    const taken: number[] = [];
    let most = residentBytes();
    for (let round = 0; round < 20; round += 1) {
      const began = performance.now();
      const over = session();
      expect(await send(over, configMaps, keyOf("honest"))).toBe(200);
      taken.push(performance.now() - began);
      over.destroy();
      most = Math.max(most, residentBytes());
    }
    process.stdout.write(
      `${what}: p50 ${percentile(taken, 0.5).toFixed(0)} ms, longest ${Math.max(...taken).toFixed(0)} ms, ${(most / mebibyte).toFixed(0)} MiB resident\n`,
    );
    expect(most).toBeLessThan(limitBytes);
  });
});
