import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { type Ask, get, mergePatch, post } from "../support/cluster-connection.ts";
import { etcdBackup } from "./etcd-backup.ts";
import { eventually } from "../support/eventually.ts";
import { isTrue, keysPath, postKey, postNamespace } from "../support/latchkey-objects.ts";
import type { LatchkeyProcess, WebhookProcess } from "../support/latchkey-process.ts";
import {
  hasDedicatedClusters,
  type DedicatedCluster,
  settled,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { type ReviewClient, reviewClient } from "../support/review-client.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

/** TARGETS=1000 ROUNDS=20 OUTAGE=60 is the full run; `make test` runs a small one. */
const [targets, rounds, outageSeconds] = [
  Number(process.env.TARGETS ?? 60),
  Number(process.env.ROUNDS ?? 3),
  Number(process.env.OUTAGE ?? 8),
];
/**
 * Without detection, dead connections time out after 143 to 153 s, and a restored etcd is never
 * noticed: the tests fail if it takes as long.
 */
const patience = { within: 110_000, every: 100 };

const home = "/apis/management.service/v1/namespaces/home/sharedsecrets";
const base64 = (text: string) => Buffer.from(text).toString("base64");

let cluster: DedicatedCluster;
let controller: LatchkeyProcess;
let proxy: TcpProxy;
let webhook: WebhookProcess;
let reviews: ReviewClient;

/** The distinct values in the copies of a SharedSecret. */
async function copiedValues(name = "db"): Promise<readonly string[]> {
  const list = await cluster.arrange(
    get(
      `/api/v1/secrets?labelSelector=${encodeURIComponent(labels.sourceUid)}&fieldSelector=metadata.name%3D${name}`,
    ),
  );
  const values = listAt(list, "items").map(
    (copy) => stringAt(recordAt(copy, "data"), "password") ?? "",
  );
  return [
    ...new Set([
      ...values,
      ...(values.length === targets ? [] : [`${values.length} of ${targets}`]),
    ]),
  ];
}

/** Writes a new value and returns the milliseconds until every copy has it. */
async function update(began = Date.now()): Promise<number> {
  const value = base64(randomBytes(12).toString("hex"));
  await setPassword("db", value);
  await allHold(value);
  return Date.now() - began;
}

async function allHold(value: string, name = "db"): Promise<void> {
  await eventually(
    async () => JSON.stringify(await copiedValues(name)) === JSON.stringify([value]),
    {
      ...patience,
      what: `all copies of ${name} to hold its value`,
    },
  );
}

async function setPassword(name: string, value: string): Promise<void> {
  await write(mergePatch(`${home}/${name}`, { spec: { data: { password: value } } }));
}

/** The copies of `tail` in etcd: lists come from kube-apiserver's watch cache. */
async function copiesIn(namespaces: readonly string[]): Promise<readonly string[]> {
  const read = async (namespace: string) =>
    stringAt(
      recordAt(await cluster.ask({}, get(`/api/v1/namespaces/${namespace}/secrets/tail`)), "data"),
      "password",
    ) ?? "";
  return Promise.all(namespaces.map(read));
}

async function makeTarget(name: string, project: string): Promise<void> {
  const metadata = {
    name,
    labels: { [labels.project]: project },
    annotations: { [annotations.sync]: "enabled" },
  };
  await write(post("/api/v1/namespaces", { metadata }));
}

async function makeSource(name: string, value: string, project = "web"): Promise<void> {
  const metadata = { name, annotations: { [annotations.syncToProjects]: project } };
  await write(
    post(home, { apiVersion, kind: "SharedSecret", metadata, spec: { data: { password: value } } }),
  );
}

/** An API server may reject writes of custom resources for a second after it is ready. */
async function write(request: Ask): Promise<void> {
  let last = "";
  const isTaken = async (): Promise<boolean> => {
    const { code, message } = await cluster.ask({}, request);
    last = `${code} ${message}`;
    return code < 300;
  };
  await eventually(isTaken, { ...patience, what: `${request.method} ${request.path}` }).catch(
    (cause: unknown) => {
      throw new Error(last, { cause });
    },
  );
}

function say(line: string): void {
  process.stderr.write(`network: ${line}\n`);
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  proxy = await startTcpProxy(Number(new URL(cluster.controlPlane.url).port));
  await write(postNamespace("home"));
  for (let number = 0; number < targets; number += 1) await makeTarget(`web-${number}`, "web");
  controller = await cluster.run({
    controlPlane: { ...cluster.controlPlane, url: `https://127.0.0.1:${proxy.port}` },
    restart: "at-once",
  });
  await controller.waitReady();
  webhook = await cluster.runWebhook();
  await webhook.waitReady();
  reviews = await reviewClient(webhook.webhookUrl, "kube-apiserver", (request) =>
    cluster.arrange(request),
  );
  await makeSource("db", base64("first"));
  await allHold(base64("first"));
});

afterAll(async () => {
  reviews?.close();
  await cluster?.stop();
  await proxy?.stop();
});

describe.skipIf(!hasDedicatedClusters)("a fan-out", () => {
  it("completes when connections break", async () => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      proxy.reset(0.01);
      times.push(await update());
      proxy.reset(0);
    }
    expect(await copiedValues()).toHaveLength(1);
    say(
      `${rounds} updates of ${targets} copies, each chunk a reset with p = 0.01: ${times.join(", ")} ms`,
    );
  });

  it("completes when connections stop transferring data without being closed", async () => {
    const times: number[] = [];
    for (let round = 0; round < Math.ceil(rounds / 3); round += 1) {
      // A pending write fails; without one, only the end of the watches is noticed.
      if (round % 2 === 1) await settled(controller);
      const began = Date.now();
      proxy.swallow();
      const updated = update(began);
      await pause(1_000);
      proxy.heal();
      times.push(await updated);
    }
    expect(await copiedValues()).toHaveLength(1);
    say(
      `${times.length} updates of ${targets} copies over connections that had died: ${times.join(", ")} ms`,
    );
  });

  it("continues when the API server is back, and reports what expired in the meantime", async () => {
    await write(postKey("short", { user: "admin", ttl: 5, key: randomBytes(24).toString("hex") }));
    await settled(controller);
    const value = base64("after the outage");
    await cluster.controlPlane.interrupt("kube-apiserver", () => pause(outageSeconds * 1_000));
    const began = Date.now();
    await setPassword("db", value);
    await allHold(value);
    const synced = Date.now() - began;
    const isExpired = async () =>
      isTrue((await cluster.arrange(get(`${keysPath}/short`))).status, "Expired");
    expect(await copiedValues()).toEqual([value]);
    await eventually(isExpired, { ...patience, what: "the key to be Expired" });
    say(
      `after an outage of ${outageSeconds} s: copies right ${synced} ms and the key Expired ${Date.now() - began} ms after kube-apiserver's readyz`,
    );
  });
});

describe.skipIf(!hasDedicatedClusters)("an etcd with earlier data", () => {
  const backup = () => etcdBackup(cluster.controlPlane);

  /** Creates a key, waits until the webhook accepts it, and returns its plain text. */
  async function letIn(name: string): Promise<string> {
    const key = randomBytes(24).toString("hex");
    await write(postKey(name, { user: "admin", key }));
    await eventually(async () => await isLetIn(key), {
      ...patience,
      what: `key ${name} to be let in`,
    });
    return key;
  }
  const isLetIn = async (key: string): Promise<boolean> =>
    (await reviews.tokenReview(key)).authenticated === true;

  it("is detected after a restore: its objects and later changes are reconciled", async () => {
    const kept = await letIn("kept");
    const value = base64("in the backup");
    await setPassword("db", value);
    await allHold(value);
    await settled(controller);
    await backup().save();
    for (let times = 0; times < 20; times += 1) await update();
    await makeSource("later", base64("later"));
    await allHold(base64("later"), "later");
    const gone = await letIn("gone");
    await backup().restore();
    const began = Date.now();
    await allHold(value);
    say(
      `after a restored etcd: a change is synced ${await update(began)} ms after kube-apiserver's readyz`,
    );
    await eventually(async () => (await copiedValues("later")).join() === `0 of ${targets}`, {
      ...patience,
      what: "the copies of what is not in the backup to be gone",
    });
    expect((await cluster.ask({}, get(`${home}/later`))).code).toBe(404);
    await eventually(async () => !(await isLetIn(gone)), {
      ...patience,
      what: "the key that is not in the backup to be refused",
    });
    await eventually(() => isLetIn(kept), {
      ...patience,
      what: "the key in the backup to be let in",
    });
    await write(mergePatch(`${keysPath}/kept`, { spec: { disabled: true } }));
    await eventually(async () => !(await isLetIn(kept)), {
      ...patience,
      what: "a key that is disabled afterwards to be refused",
    });
  });

  it("is detected after a crash that lost the last writes, although lists and watches still return them", async () => {
    const few = ["few-0", "few-1", "few-2"];
    for (const name of few) await makeTarget(name, "few");
    await makeSource("tail", base64("first"), "few");
    await eventually(
      async () => (await copiesIn(few)).every((value) => value === base64("first")),
      { ...patience, what: "the first copies" },
    );
    await settled(controller);
    // The controller's later writes are lost; the events that it receives are not.
    controller.kill("SIGSTOP");
    await setPassword("tail", base64("second"));
    await backup().save("etcd");
    controller.kill("SIGCONT");
    await eventually(
      async () => (await copiesIn(few)).every((value) => value === base64("second")),
      { ...patience, what: "the copies that will be lost" },
    );
    await backup().restore("etcd");
    expect(await copiesIn(few)).toEqual(few.map(() => base64("first")));
    // Other writes advance etcd beyond the lost revisions.
    for (let number = 0; number < 60; number += 1)
      await write(
        post("/api/v1/namespaces/home/configmaps", { metadata: { generateName: "other-" } }),
      );
    const began = Date.now();
    await setPassword("tail", base64("third"));
    await eventually(
      async () => (await copiesIn(few)).every((value) => value === base64("third")),
      { ...patience, what: "the copies to follow" },
    );
    say(`after lost writes of etcd: a change is synced after ${Date.now() - began} ms`);
  });
});
