import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, fetch } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { agentUser, makeOutbox, makeTarget, secretPath } from "../support/agent-fixture.ts";
import { get, post } from "../support/cluster-connection.ts";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { alice, connectedName, directPath, mintToken } from "../support/direct-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import {
  directEndpointCa,
  gatewayCa,
  issuerCa,
  managementPath,
} from "../support/gateway-address.ts";
import type { TestCertificates } from "../support/gateway-fixture.ts";
import {
  applyClusterAgentRbac,
  applyDirectAuthorizerRbac,
  applyDirectEndpointRbac,
  applyGatewayRbac,
} from "../support/install.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { makeDevsAdmin, postKey, postNamespace } from "../support/latchkey-objects.ts";
import {
  type LatchkeyOptions,
  type LatchkeyProcess,
  startClusterAgent,
  startDirectAuthorizer,
  startDirectEndpoint,
} from "../support/latchkey-process.ts";
import { unique } from "../support/policy-request.ts";
import { type ReviewClient, reviewClient } from "../support/review-client.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { base64 } from "../support/shared-secret-requests.ts";
import { severalCertificates, startTlsFront, type TlsFront } from "../support/tls-front.ts";

/** The six processes, in the order in which they start. */
const names = [
  ...["controller", "webhook", "gateway"],
  ...["direct-endpoint", "direct-authorizer", "cluster-agent"],
] as const;

/** A process, and the only way to its API server. */
interface Fronted {
  readonly process: LatchkeyProcess;
  readonly front: TlsFront;
  /** The kubeconfigs that lead there: its own, and with the agent that of the central cluster. */
  readonly kubeconfigs: readonly string[];
}

// A process that loses its Lease ends, and would read its files at the next start.
const patient = { LATCHKEY_LEASE_DURATION: "300s", LATCHKEY_RENEW_DEADLINE: "240s" };

let cluster: DedicatedCluster;
let certificates: readonly TestCertificates[];
const fronted = new Map<string, Fronted>();
const stops: (() => Promise<unknown> | void)[] = [];
let ways: { readonly key: string; readonly token: string; readonly dispatcher: Agent };
let reviews: ReviewClient;

const found = (name: string): Fronted => {
  const one = fronted.get(name);
  if (one === undefined) throw new Error(`${name} was not started`);
  return one;
};
const certificate = (number: number): TestCertificates => {
  const one = certificates[number];
  if (one === undefined) throw new Error("no such certificate");
  return one;
};

/** Starts a process behind a front of its own. */
async function start(
  name: string,
  run: (options: LatchkeyOptions) => Promise<LatchkeyProcess>,
  more: Partial<LatchkeyOptions> & { readonly kubeconfig?: string } = {},
): Promise<void> {
  const first = certificate(0);
  const { controlPlane: plane } = cluster;
  const front = await startTlsFront(plane, first);
  stops.push(() => front.stop());
  const controlPlane: ControlPlane = {
    ...plane,
    url: front.url,
    certificateAuthority: first.ca,
  };
  const { kubeconfig, args = [], ...options } = more;
  const central = kubeconfig === undefined ? [] : [kubeconfig];
  for (const path of central) writeCentral(path, front.url, first.ca);
  const process = await run({
    controlPlane,
    program: cluster.program,
    restart: "never",
    args: [...args, ...central.map((path) => `--central-kubeconfig=${path}`)],
    ...options,
  });
  stops.push(() => process.stop());
  fronted.set(name, { process, front, kubeconfigs: [process.kubeconfig, ...central] });
  await process.waitReady();
}

/** Writes the kubeconfig of the agent for the central cluster, with the token in it. */
function writeCentral(path: string, server: string, ca: string): void {
  const token = cluster.controlPlane.tokens[agentUser];
  const content = {
    "current-context": "a",
    clusters: [{ name: "a", cluster: { server, "certificate-authority-data": base64(ca) } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    users: [{ name: "a", user: { token } }],
  };
  writePrivately(path, JSON.stringify(content));
}

/** Writes other CAs into the kubeconfigs of all processes; returns how to wait for their use. */
function trust(...cas: readonly TestCertificates[]): () => Promise<void> {
  const data = base64(cas.map(({ ca }) => ca).join(""));
  const before = names.map((name) => usesOf(name));
  for (const { kubeconfigs } of fronted.values())
    for (const path of kubeconfigs) {
      const text = readFileSync(path, "utf8");
      writePrivately(path, text.replace(/("certificate-authority-data": ?)"[^"]*"/, `$1"${data}"`));
    }
  return async () => {
    for (const [index, name] of names.entries()) {
      const wanted = (before[index] ?? 0) + found(name).kubeconfigs.length;
      await eventually(() => usesOf(name) >= wanted, { what: `${name} to use its new files` });
    }
  };
}

/** How often a process has said that it uses files that changed. */
function usesOf(name: string): number {
  return readFileSync(found(name).process.log, "utf8").split("changed files are in use").length - 1;
}

async function answerOf(name: string, path: string): Promise<string> {
  const response = await fetch(found(name).process.url + path);
  return `${response.status} ${await response.text()}`;
}

/** The number of requests of a process that its API server has served. */
async function servedBy(name: string): Promise<number> {
  const lines = (await answerOf(name, "/metrics")).split("\n");
  const counts = lines.filter((line) => /^rest_client_requests_total\{.*code="20\d"/.test(line));
  return counts.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

async function statusAt(server: string, credential: string): Promise<number> {
  const headers = { authorization: `Bearer ${credential}` };
  const { dispatcher } = ways;
  const response = await fetch(`${server}/api/v1/namespaces`, { dispatcher, headers });
  await response.text();
  return response.status;
}

/** Requests of clients with a key and with a token, while `work` runs; their statuses. */
async function whileAsked(work: () => Promise<void>): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>();
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      statuses.add(await statusAt(gatewayServer(), ways.key));
      statuses.add(await statusAt(endpointServer(), ways.token));
      await pause(50);
    }
  })();
  try {
    await work();
  } finally {
    isOver = true;
    await asking;
  }
  return statuses;
}

const gatewayServer = (): string => gatewayUrl + managementPath;
const endpointServer = (): string => endpointUrl + directPath;
let gatewayUrl = "";
let endpointUrl = "";

/** Each process does something that needs its API server. */
async function allWork(): Promise<void> {
  const before = await Promise.all(names.map(servedBy));
  const [project, namespace, name] = [unique("project"), unique("team"), unique("db")];
  const target = await makeTarget(cluster, project);
  await cluster.arrange(postNamespace(namespace));
  const marks = { [annotations.syncToProjects]: project };
  const spec = { data: { password: base64("canary") } };
  const share = (named: string, more: object) =>
    cluster.arrange(
      post(`/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`, {
        apiVersion,
        kind: "SharedSecret",
        metadata: { name: named, annotations: { ...marks, ...more } },
        spec,
      }),
    );
  await share(name, {});
  const key = newKey();
  await cluster.arrange(postKey(unique("key"), { user: "alice", groups: ["devs"], key }));
  const isCopied = async () => {
    const copy = await cluster.ask({}, get(secretPath({ namespace: target, name })));
    return recordAt(copy, "data")["password"] === base64("canary");
  };
  await eventually(isCopied, { what: "the controller to make a copy", within: 60_000 });
  const isKnown = async () => (await reviews.tokenReview(key))["authenticated"] === true;
  await eventually(isKnown, { what: "the webhook to know a new key", within: 60_000 });
  const isServed = async () => (await statusAt(gatewayServer(), key)) === 200;
  await eventually(isServed, { what: "the gateway to know a new key", within: 60_000 });
  expect(await statusAt(endpointServer(), ways.token)).toBe(200);
  for (const [index, process] of names.entries())
    await eventually(async () => (await servedBy(process)) > (before[index] ?? 0), {
      what: `the API server to serve the ${process}`,
      within: 60_000,
    });
  for (const process of names)
    await eventually(
      async () => {
        expect(await answerOf(process, "/readyz")).toMatch(/^200 (?!.*CERT)/s);
        return true;
      },
      { what: `the ${process} to be ready`, within: 60_000 },
    );
}

function newKey(): string {
  return `canary${randomBytes(24).toString("hex")}`;
}

/** Starts the six of them in one cluster, which is connected to itself. */
async function startAll(): Promise<void> {
  const { controlPlane } = cluster;
  await allowRequesters(cluster);
  await cluster.arrange(makeDevsAdmin);
  await applyGatewayRbac(controlPlane);
  for (const applyRbac of [applyDirectEndpointRbac, applyDirectAuthorizerRbac])
    await applyRbac(controlPlane);
  await applyClusterAgentRbac(controlPlane);
  await makeOutbox(cluster);
  const address = `127.0.0.1:${await freePort()}`;
  const issuer = `https://${address}`;
  const env = patient;
  await start("controller", (options) => cluster.run(options), {
    address,
    args: [`--issuer=${issuer}`],
    env,
  });
  await start("webhook", (options) => cluster.runWebhook(options));
  const gatewayArgs = ["--external-names=localhost,127.0.0.1"];
  await start(
    "gateway",
    async (options) => {
      const gateway = await cluster.runGateway(options);
      ({ gatewayUrl } = gateway);
      return gateway;
    },
    { args: gatewayArgs },
  );
  const authority = join(controlPlane.directory, "issuer-ca.crt");
  writePrivately(authority, await issuerCa(controlPlane));
  const args = [
    ...[`--cluster-name=${connectedName}`, `--issuer=${issuer}`],
    `--certificate-authority=${authority}`,
  ];
  await start(
    "direct-endpoint",
    async (options) => {
      const endpoint = await startDirectEndpoint(options);
      ({ endpointUrl } = endpoint);
      return endpoint;
    },
    { args },
  );
  await start("direct-authorizer", startDirectAuthorizer, { args });
  await start("cluster-agent", startClusterAgent, {
    args: [`--cluster-name=${connectedName}`],
    kubeconfig: join(controlPlane.directory, "central.kubeconfig"),
    env,
  });
  const key = newKey();
  await cluster.arrange(postKey("honest", { user: "alice", groups: ["devs"], key }));
  const ca = [await gatewayCa(controlPlane), await directEndpointCa(controlPlane)];
  const dispatcher = new Agent({ connect: { ca } });
  stops.push(() => dispatcher.destroy());
  ways = { key, token: await mintToken(cluster, "honest", { by: alice }), dispatcher };
  const { process: webhook } = found("webhook");
  if (!("webhookUrl" in webhook)) throw new Error("no webhook");
  reviews = await reviewClient(String(webhook.webhookUrl), "kube-apiserver", (ask) =>
    cluster.arrange(ask),
  );
  stops.push(() => reviews.close());
}

describe.skipIf(!hasDedicatedClusters)("a CA that is rotated under every process", () => {
  beforeAll(async () => {
    certificates = await severalCertificates(3);
    cluster = await startDedicatedCluster({ users: [{ name: agentUser, groups: [] }] });
    stops.push(() => cluster.stop());
    await startAll();
  });
  afterAll(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  });

  it("serves each of them before, meanwhile and after, without a restart", async () => {
    const [former, latter] = [certificate(0), certificate(1)];
    await allWork();
    const statuses = await whileAsked(async () => {
      await trust(former, latter)();
      for (const { front } of fronted.values()) front.present(latter);
      await allWork();
      await trust(latter)();
    });
    expect(statuses).toEqual(new Set([200]));
    // No connection is left that was opened with the former certificate.
    for (const { front } of fronted.values()) front.cut();
    await allWork();
    expect(names.map((name) => found(name).process.starts)).toEqual(names.map(() => 1));
  });

  it("is said by each of them while its file is the former one, and serves it again when it follows", async () => {
    const latest = certificate(2);
    for (const { front } of fronted.values()) {
      front.present(latest);
      front.cut();
    }
    const cause = /has served no request for \d+ s: its certificate cannot be verified \([A-Z_]+\)/;
    for (const name of names) {
      await eventually(async () => cause.test(await answerOf(name, "/readyz")), {
        what: `${name} to say what it refuses`,
        within: 60_000,
      });
      expect(await answerOf(name, "/healthz")).toBe("200 ok\n");
    }
    await trust(latest)();
    for (const name of names) await found(name).process.waitReady();
    await allWork();
    expect(names.map((name) => found(name).process.starts)).toEqual(names.map(() => 1));
  });
});
