import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate, setTimeout } from "node:timers/promises";
import { connectedPolicies } from "../../src/domain/gateway/connected-policy.ts";
import { clustersNamespace } from "../../src/domain/gateway/connected-cluster.ts";
import { post } from "../support/bare-client.ts";
import { connectedKubeconfig } from "../support/connected-cluster.ts";
import { keyRequest, plainKeyOf } from "../support/bench-objects.ts";
import { shippedPolicy } from "../support/connected-policies.ts";
import { type HttpsFront, startHttpsFront } from "../support/https-front.ts";
import { percentile } from "../support/percentile.ts";
import type { BenchFixture, RunningServer } from "./bench-fixture.ts";
import { latenciesOf } from "./gateway-neighbours.ts";
import { makeAdminKey, openWays, statusThrough, type Way } from "./gateway-ways.ts";
import { latencyRow, type Row, row } from "./report.ts";

const day = 86_400;
const project = "management.service/project";
const mib = 1024 * 1024;
const namespaces = 5_000;

/** What is measured beside the clusters. */
interface ClusterTerms {
  readonly requests: number;
  readonly object: string;
}

/**
 * The latency of a user of the central cluster beside clusters whose API server sends events without
 * end, and how long the gateway takes to see a label of an ordinary cluster.
 */
export async function clusterRows(
  fixture: BenchFixture,
  server: RunningServer,
  { requests, object }: ClusterTerms,
): Promise<readonly Row[]> {
  const ways = await openWays(fixture, server, await makeAdminKey(fixture, "beside-clusters"));
  const latencies = () => latenciesOf(ways.http2, object, requests);
  await latencies();
  const ceiling = percentile(await latencies(), 0.99);
  const rows: Row[] = [];
  for (const [name, send] of Object.entries(hostileStreams)) {
    const cluster = await playedCluster(fixture, `hostile-${rows.length}`, send);
    await through(cluster, ways.http1, "web");
    const beside = await latencies();
    rows.push(
      latencyRow(`GET 1 KB beside a cluster that sends ${name}`, beside, {
        ceiling,
        ratioGoal: "<= 3",
      }),
    );
    await cluster.front.stop();
  }
  rows.push(await relabelRow(fixture, ways.http1));
  await ways.close();
  return rows;
}

/** What an API server can send instead of events that cost little, without end. */
const hostileStreams: Readonly<Record<string, (answer: ServerResponse) => Promise<void>>> = {
  "events of 1.8 MB of objects": floodOf(`[${"{},".repeat(600_000)}{}]`),
  "events of 0.8 MB of brackets": floodOf(`${"[".repeat(400_000)}${"]".repeat(400_000)}`),
  "small events": floodOf("[]"),
  "chunks of one byte": (answer) => endlessly(opened(answer), () => answer.write("x")),
  "empty lines": (answer) => endlessly(opened(answer), () => answer.write("\n".repeat(1_000))),
  "interim answers": (answer) =>
    endlessly(answer, () => {
      answer.writeProcessing();
      return true;
    }),
};

function floodOf(more: string): (answer: ServerResponse) => Promise<void> {
  const event = eventOf({ labels: { [project]: "web" } }, more);
  const text = event.repeat(Math.max(1, Math.floor(mib / event.length)));
  return (answer) => endlessly(opened(answer), () => answer.write(text));
}

function eventOf(metadata: object, more: string, type = "ADDED"): string {
  const object = { metadata: { name: "web-1", uid: "u-1", resourceVersion: "1", ...metadata } };
  return `${JSON.stringify({ type, object }).slice(0, -2)},"x":${more}}}\n`;
}

/** Sends without end, 1,000 times in a turn, as fast as the other side reads. */
async function endlessly(answer: ServerResponse, send: () => boolean): Promise<void> {
  while (!answer.destroyed) {
    let hasRoom = true;
    for (let sent = 0; sent < 1_000 && hasRoom; sent += 1) hasRoom = send();
    if (hasRoom) await setImmediate();
    else await new Promise<void>((resolve) => answer.once("drain", resolve).once("close", resolve));
  }
}

/** An API server that this process plays, connected under a name. */
interface PlayedCluster {
  readonly name: string;
  readonly front: HttpsFront;
  readonly key: string;
}

/** What every cluster answers to requests that are not about its policies and namespaces. */
function documentAt(url: string): object | undefined {
  if (url.includes("admissionpolic")) return undefined;
  const kind = "APIGroupDiscoveryList";
  const [responseKind, scope] = [{ group: "", version: "v1", kind: "ConfigMap" }, "Namespaced"];
  const resources = [{ resource: "configmaps", responseKind, scope }];
  if (url === "/api") return { kind, items: [{ versions: [{ version: "v1", resources }] }] };
  return url === "/apis" ? { kind, items: [] } : {};
}

/** The answer after its head. */
function opened(answer: ServerResponse): ServerResponse {
  answer.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  return answer;
}

/** Plays the API server of a connected cluster, which sends its namespaces so. */
async function playedCluster(
  fixture: BenchFixture,
  name: string,
  send: (answer: ServerResponse, request: IncomingMessage) => unknown,
): Promise<PlayedCluster> {
  const shipped = connectedPolicies.projectAssignment.name;
  const { policy, binding } = shippedPolicy(shipped, "2026-01-01T00:00:00Z");
  const front = await startHttpsFront((request, answer) => {
    const { url = "" } = request;
    if (url.includes("/namespaces?")) return void send(answer, request);
    opened(answer).end(
      JSON.stringify(documentAt(url) ?? (url.includes("bindings/") ? binding : policy)),
    );
  });
  const config = connectedKubeconfig({
    url: front.url,
    certificateAuthority: front.ca,
    token: "t",
  });
  const kubeconfig = Buffer.from(JSON.stringify(config)).toString("base64");
  await fixture.admin
    .send(post("/api/v1/namespaces", { metadata: { name: clustersNamespace } }))
    .catch(() => {});
  const labels = { "management.service/cluster": name };
  const secrets = `/api/v1/namespaces/${clustersNamespace}/secrets`;
  await fixture.admin.send(post(secrets, { metadata: { name, labels }, data: { kubeconfig } }));
  const scope = { projects: [{ project: "web" }] };
  await fixture.admin.send(keyRequest(name, name, day, { scope }));
  return { name, front, key: plainKeyOf(name) };
}

/** Asks for the objects of a namespace of the cluster, with a key for a project. */
function through({ name, key }: PlayedCluster, way: Way, namespace: string): Promise<number> {
  const asked = { ...way, prefix: `/kubernetes/cluster/${name}`, authorization: `Bearer ${key}` };
  return statusThrough(asked, `/api/v1/namespaces/${namespace}/configmaps`);
}

/** The time from the change of a label in a cluster of many namespaces to its effect. */
async function relabelRow(fixture: BenchFixture, way: Way): Promise<Row> {
  let watch: ServerResponse | undefined;
  const metadataOf = (at: number, name: string, version = "2") => ({
    name: `ns-${at}`,
    uid: `u-${at}`,
    resourceVersion: version,
    labels: { [project]: name },
    annotations: { text: "x".repeat(400) },
  });
  const cluster = await playedCluster(fixture, "large", (answer, { url = "" }) => {
    opened(answer);
    if (!url.includes("sendInitialEvents=true")) return void (watch = answer);
    for (let at = 0; at < namespaces; at += 1) answer.write(eventOf(metadataOf(at, "web"), "[]"));
    const annotations = { "k8s.io/initial-events-end": "true" };
    answer.write(
      `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "2", annotations } } })}\n`,
    );
  });
  const until = async (status: number): Promise<number> => {
    const began = performance.now();
    while ((await through(cluster, way, "ns-7")) !== status) {
      if (performance.now() - began > 30_000) throw new Error(`ns-7 never gave ${status}`);
      await setTimeout(5);
    }
    return performance.now() - began;
  };
  const listed = await until(200);
  while (watch === undefined) await setTimeout(10);
  watch.write(eventOf(metadataOf(7, "pay", "3"), "[]", "MODIFIED"));
  const seen = await until(403);
  await cluster.front.stop();
  return row(`a label changes in a cluster of ${namespaces} namespaces`, [seen, "ms"], {
    goal: "<= 1000",
    note: `listed in ${listed.toFixed(0)} ms`,
  });
}
