import { rootCertificates } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { connectCluster, largeAnswers } from "../../src/gateway/connect-cluster.ts";
import { ConnectedClusters } from "../../src/gateway/connected-clusters.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { FakeListWatch, rawObject } from "../support/fake-list-watch.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const stopping = new Set<AbortController>();
afterEach(() => {
  for (const controller of stopping) controller.abort();
  stopping.clear();
});

const base64 = (text: string) => Buffer.from(text).toString("base64");
const cluster = {
  server: "https://east",
  "certificate-authority-data": base64(rootCertificates[0] ?? ""),
};
const kubeconfig = JSON.stringify({
  "current-context": "c",
  contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
  clusters: [{ name: "c", cluster }],
  users: [{ name: "c", user: { token: "canary" } }],
});
const secret = (cluster: string, data: Readonly<Record<string, string>>, name = cluster) =>
  rawObject(
    {
      name,
      namespace: "latchkey-clusters",
      uid: name,
      labels: { "management.service/cluster": cluster },
    },
    { data },
  );

/** The clusters of these Secrets, and the Events about them. */
async function clustersOf(...secrets: readonly ReturnType<typeof secret>[]) {
  const events: string[] = [];
  const clock = new TestClock();
  const listWatch = new FakeListWatch({ secrets });
  const [log, yielder, large] = [recordingLog(), new Yielder(clock), largeAnswers()];
  const own = {
    clock,
    log,
    yielder,
    random: () => 0.5,
    onChange() {},
    proxyOf: () => undefined,
  };
  const clusters = new ConnectedClusters({
    ...own,
    listWatch,
    events: {
      record: async ({ subject, reason }) => void events.push(`${reason} ${subject.name}`),
    },
    connect: (access, base) => connectCluster(access, base, { ...own, large }),
  });
  const stop = new AbortController();
  stopping.add(stop);
  void clusters.run(stop.signal);
  await clusters.synced;
  await settled();
  return { clusters, clock, events, listWatch };
}

test("a cluster without a kubeconfig is not there, and no Event is about it", async () => {
  const { clusters, events } = await clustersOf(
    secret("east", { kubeconfig: base64(kubeconfig) }),
    secret("west", {}),
  );
  expect([clusters.names(), [...(clusters.listed()?.keys() ?? [])]]).toEqual([
    ["cluster/east"],
    ["east"],
  ]);
  expect(["cluster/east", "cluster/west"].map((name) => clusters.find(name) !== undefined)).toEqual(
    [true, false],
  );
  expect(events).toEqual([]);
});

test.each([
  ["empty", ""],
  ["no YAML", "{"],
  ["no kubeconfig", "{}"],
])("an Event is about a kubeconfig that is %s", async (_what, text) => {
  const { clusters, events } = await clustersOf(secret("west", { kubeconfig: base64(text) }));
  expect(events).toEqual(["InvalidKubeconfig west"]);
  expect([clusters.names(), clusters.find("cluster/west")]).toEqual([["cluster/west"], undefined]);
});

test("the older Secret of a cluster counts, also without a kubeconfig", async () => {
  const { clusters, events } = await clustersOf(
    secret("east", {}),
    secret("east", { kubeconfig: base64(kubeconfig) }, "younger"),
  );
  expect([clusters.names(), clusters.find("cluster/east"), events]).toEqual([
    [],
    undefined,
    ["DuplicateCluster younger"],
  ]);
});

test("a cluster leaves when its kubeconfig does", async () => {
  const { clusters, events, listWatch } = await clustersOf(
    secret("east", { kubeconfig: base64(kubeconfig) }),
  );
  expect(clusters.find("cluster/east")).toBeDefined();
  listWatch.emit("secrets", "MODIFIED", secret("east", {}));
  await settled();
  expect([clusters.find("cluster/east"), clusters.names(), events]).toEqual([undefined, [], []]);
});

test("clusters are counted whose token is in the last tenth of its lifetime", async () => {
  const day = 24 * 3600;
  const now = new TestClock().now() / 1000;
  const withToken = (name: string, claims: object) => {
    const token = `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
    return secret(name, { kubeconfig: base64(kubeconfig.replace("canary", token)) });
  };
  const { clusters, clock } = await clustersOf(
    withToken("east", { iat: now - 85 * day, exp: now + 5 * day }),
    withToken("west", { iat: now - 80 * day, exp: now + 10 * day }),
    withToken("ended", { iat: now - 90 * day, exp: now - 1 }),
    withToken("endless", { iat: now }),
    withToken("far", { iat: now, exp: 1e300 }),
    secret("opaque", { kubeconfig: base64(kubeconfig) }),
  );
  expect(clusters.expiring()).toBe(1);
  clock.advance(2 * day * 1000);
  expect(clusters.expiring()).toBe(2);
});

test("an Event says once an hour that a cluster is throttled", async () => {
  const { clusters, clock, events } = await clustersOf(
    secret("east", { kubeconfig: base64(kubeconfig) }),
  );
  for (const name of ["cluster/east", "cluster/east", "cluster/west"])
    clusters.reportThrottled(name);
  expect(events).toEqual(["ClusterThrottled east"]);
  await clock.run(3_600_000);
  clusters.reportThrottled("cluster/east");
  expect(events).toEqual(["ClusterThrottled east", "ClusterThrottled east"]);
});
