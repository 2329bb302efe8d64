import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock as clock } from "../../src/runtime/clock.ts";
import { startHttpServer } from "../../src/runtime/http-server.ts";
import { plain } from "../../src/runtime/routes.ts";
import { eventually } from "../support/eventually.ts";
import { keysPath, makeRoot, postKey } from "../support/latchkey-objects.ts";
import { askAs } from "../support/key-request.ts";
import type { WebhookProcess } from "../support/latchkey-process.ts";
import {
  hasDedicatedClusters,
  type DedicatedCluster,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { recordingLog } from "../support/recording-log.ts";
import { startTcpBalancer, type TcpBalancer } from "./tcp-balancer.ts";
import type { Exit } from "../support/tied-child.ts";
import { askWebhookAtAdmission, trustWebhook, webhookHost } from "../support/trust.ts";
import { type Answer, get } from "../support/cluster-connection.ts";

/** Replicas are restarted until the keys were used so many times. */
const leastUses = Number(process.env.USES ?? 10_000);
const perSecond = 100;
/** Limits the load on a slow machine: kube-apiserver itself would return 429. */
const mostAtOnce = 8;
/**
 * A TokenReview is cached for 15 s: with this number of keys, every use calls the webhook again.
 */
const keyCount = 1_600;

let cluster: DedicatedCluster;
let balancer: TcpBalancer;
let replicas: WebhookProcess[] = [];
const texts: string[] = [];
const ends: Promise<Exit>[] = [];

async function startReplica(): Promise<WebhookProcess> {
  const replica = await cluster.runWebhook({
    args: [`--certificate-names=${webhookHost}`, "--quota-keys=1000000"],
    env: { LATCHKEY_DRAIN_TIMEOUT: "95s" },
  });
  balancer.add(replica);
  return replica;
}

const receivesConnections = (replica: WebhookProcess) =>
  eventually(() => balancer.sends(replica), {
    what: "the balancer to send connections to a new replica",
  });

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  balancer = await startTcpBalancer();
  await cluster.arrange(makeRoot);
  replicas = [await startReplica(), await startReplica()];
  await Promise.all(replicas.map(receivesConnections));
  const through = { webhookUrl: `https://127.0.0.1:${balancer.port}` };
  await trustWebhook(cluster.controlPlane, through);
  await askWebhookAtAdmission(cluster.controlPlane, through);
  for (let made = 0; made < keyCount; made += 50) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        // One in 200,000 in base64 looks like a digest, which is refused.
        const key = randomBytes(24).toString("hex");
        await cluster.arrange(postKey(`key-${made + index}`, { user: "root", key }));
        texts.push(key);
      }),
    );
  }
});

afterAll(async () => {
  if (!hasDedicatedClusters) return;
  await Promise.all(ends);
  await cluster?.stop();
  await balancer?.stop();
});

/** Uses of keys that go on until they are stopped. */
interface Uses {
  /** Number of uses so far. */
  count(): number;
  /** Returns the number of responses by code. */
  stop(): Promise<Readonly<Record<string, number>>>;
}

/** Uses the keys in turn, one in four to create another key, which calls admission as well. */
function useKeys(): Uses {
  const codes: Record<string, number> = {};
  const under = new Set<Promise<void>>();
  let isStopped = false;
  async function use(turn: number): Promise<void> {
    const key = texts[turn % texts.length] ?? "";
    const create = postKey(`tried-${turn}`, { user: "root" });
    const { code, message } = await askAs(
      cluster.controlPlane,
      key,
      turn % 4 === 0
        ? { ...create, path: `${keysPath}?dryRun=All` }
        : get("/api/v1/namespaces/default"),
    );
    const what =
      code < 300
        ? String(code)
        : `${code} ${String(message)
            .replaceAll(/\d+\.\d+\.\d+\.\d+:\d+/g, "...")
            .slice(-160)}`;
    codes[what] = (codes[what] ?? 0) + 1;
  }
  const began = performance.now();
  let turn = 0;
  const running = (async () => {
    while (!isStopped) {
      const due = ((performance.now() - began) / 1000) * perSecond;
      for (; turn < due && under.size < mostAtOnce; turn++) {
        const one = use(turn).catch(
          (error: unknown) => void (codes[String(error)] = (codes[String(error)] ?? 0) + 1),
        );
        under.add(one);
        void one.finally(() => under.delete(one));
      }
      await pause(5);
    }
    await Promise.all(under);
    return codes;
  })();
  return {
    count: () => turn,
    stop() {
      isStopped = true;
      return running;
    },
  };
}

/** Longer than Node.js by itself waits for a header, 5 s here before, and 15 s for a request. */
const unusedMs = 20_000;

it("keeps a connection that no request has used, as client-go opens in advance", async () => {
  const handler = () => plain(200, "used");
  const log = recordingLog();
  const server = await startHttpServer({ host: "127.0.0.1", port: 0, handler, clock, log });
  const socket = connect(server.port, "127.0.0.1");
  await pause(unusedMs);
  socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 [^]*used\n$/);
  await server.close(1);
});

describe.skipIf(!hasDedicatedClusters)("a burst of requests that kube-apiserver asks about", () => {
  it("loses no connection of 400 creates at once", async () => {
    const create = { ...postKey("burst", { user: "root" }), path: `${keysPath}?dryRun=All` };
    const answers = await Promise.all(Array.from({ length: 400 }, () => cluster.ask({}, create)));
    // A busy machine does not complete all handshakes, or read all bodies, within their timeouts.
    const isUnexpected = ({ code, message }: Answer): boolean =>
      code !== 201 && !/context deadline exceeded|status code 408/.test(message);
    const lost = answers.filter(isUnexpected).map(({ code, message }) => `${code} ${message}`);
    expect(lost).toEqual([]);
    expect(answers.some(({ code }) => code === 201)).toBe(true);
  });
});

describe.skipIf(!hasDedicatedClusters)("a rolling restart of the webhook", () => {
  it("does not fail any request with a key", async () => {
    const using = useKeys();
    const began = performance.now();
    for (let slot = 0; using.count() < leastUses; slot = 1 - slot) {
      const leaving = replicas[slot];
      leaving?.kill("SIGTERM");
      if (leaving !== undefined) ends.push(leaving.exited());
      const next = await startReplica();
      replicas[slot] = next;
      await receivesConnections(next);
    }
    const exits = await Promise.all(ends);
    const codes = await using.stop();
    process.stderr.write(
      `webhook: ${ends.length} restarts of a replica in ${Math.round((performance.now() - began) / 1000)} s: ${JSON.stringify(codes)}\n`,
    );
    expect(Object.keys(codes).toSorted()).toEqual(["200", "201"]);
    expect(new Set(exits.map(({ code, signal }) => code ?? signal))).toEqual(new Set([0]));
  });
});
