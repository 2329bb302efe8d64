import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { annotations, labels, outboxSecretType, ownLabel } from "../../src/api/names.ts";
import { listAt, recordAt, stringMapAt } from "../../src/api/parse.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import {
  type BareClient,
  bareClient,
  type BareRequest,
  patch,
  post,
  put,
  remove,
} from "../support/bare-client.ts";
import {
  createRequest,
  dataOf,
  home,
  metadataOf,
  namesOf,
  namespaceRequest,
  secretPath,
  sharedSecretPath,
} from "../support/bench-objects.ts";
import { eventually } from "../support/eventually.ts";
import { inTurns } from "../support/measured-run.ts";
import { percentile } from "../support/percentile.ts";
import {
  agentCluster,
  type Bench,
  type BenchFixture,
  type Running,
  withWarmController,
} from "./bench-fixture.ts";
import {
  connectClusters,
  countSynced,
  disconnectClusters,
  offersOf,
  offersOnly,
  playHeartbeats,
  playReports,
} from "../support/played-clusters.ts";
import { type Row, row } from "./report.ts";
import { type TimedEvent, watchCollection } from "./watch-collection.ts";

/** The project whose only namespace is in the connected cluster. */
const project = "bench-far";
const target = "bench-far-0";
/** The objects whose changes are timed. */
const [latchkeys, bares] = ["timed", "timed-bare"];
const patience = { within: 300_000, every: 500 };

/**
 * A change of a SharedSecret until its copy in a connected cluster; then many SharedSecrets in many
 * clusters while nothing changes. One cluster has an agent, and a bare client plays the others.
 */
export async function clusters(bench: Bench): Promise<void> {
  const { sources, clusters: count } = bench.size.clusters;
  const ceiling = await offersPerSecond(bench.fixture, sources * count);
  await withWarmController(bench.fixture, async (controller) => {
    const { fixture, size, report } = bench;
    const connected = await fixture.startConnected();
    const there = await bareClient(connected.controlPlane.adminKubeconfig);
    await there.send(namespaceRequest(target, project));
    const names = [agentCluster, ...namesOf("played", count - 1)];
    const [, ...played] = names;
    await connectClusters(fixture.admin, names, project);
    const stopHeartbeats = await playHeartbeats(fixture.admin, played);
    const agent = await connected.startAgent();
    fixture.say("changes of one SharedSecret in one cluster");
    report(await changeRows(fixture, there, size.samples));
    await fixture.admin.send(remove(sharedSecretPath(home, latchkeys)));
    fixture.say(`${sources} SharedSecrets in ${names.length} clusters`);
    report([await fillRow(fixture, { sources, names, played, ceiling })]);
    report(await idleRows(fixture, { controller, agent }, size.idleSeconds));
    stopHeartbeats();
    await disconnectClusters(fixture.admin, names);
    await fixture.admin.send(remove(sharedSecretPath(home)));
    await there.close();
    await agent.stop();
    await connected.controlPlane.stop();
    await controller.readings.settled(patience.within);
  });
}

/** Times changes, in turns with a bare client that reads here and writes there. */
async function changeRows(
  { admin }: BenchFixture,
  there: BareClient,
  samples: number,
): Promise<readonly Row[]> {
  const arrivals = await watchCollection(there, secretPath(target));
  await admin.send(sharedRequest(latchkeys, agentCluster));
  await arrivals.first(isVersion(latchkeys, 1));
  const stopForwarding = await forward(admin, there);
  const timeOf =
    (name: string, change: (data: object) => BareRequest) =>
    async (round: number): Promise<number> => {
      const version = round + 2;
      await admin.send(change(dataOf(version)));
      const answered = performance.now();
      const { at } = await arrivals.first(isVersion(name, version));
      return Math.max(0, at - answered);
    };
  const times = await inTurns(samples, {
    latchkey: timeOf(latchkeys, (data) =>
      patch(sharedSecretPath(home, latchkeys), { spec: { data } }),
    ),
    bare: timeOf(bares, (data) => patch(secretPath(home, bares), { data })),
  });
  stopForwarding();
  arrivals.stop();
  return [0.5, 0.99].map((share) =>
    row(
      `change until its copy in a connected cluster, p${share * 100}`,
      [percentile(times.latchkey, share), "ms"],
      { ceiling: percentile(times.bare, share), note: `n ${samples}` },
    ),
  );
}

/** Makes a Secret here and there, and replaces that there after each change here. */
async function forward(admin: BareClient, there: BareClient): Promise<() => void> {
  const secret = { metadata: { name: bares }, data: dataOf(1) };
  await admin.send(post(secretPath(home), secret));
  await there.send(post(secretPath(target), secret));
  const replace = (line: string): void => {
    const data = stringMapAt(recordAt(JSON.parse(line), "object"), "data");
    void there.send(put(secretPath(target, bares), { ...secret, data }));
  };
  return admin.watch(secretPath(home), replace, `fieldSelector=metadata.name=${bares}`);
}

/** A SharedSecret of {@link home} that is shared with clusters. */
function sharedRequest(name: string, shared: string): BareRequest {
  const asked = { [annotations.syncToProjects]: project, [annotations.syncToClusters]: shared };
  return createRequest("SharedSecret", { name, annotations: asked }, { data: dataOf(1) });
}

function isVersion(name: string, version: number) {
  const { password } = dataOf(version);
  return ({ object }: TimedEvent): boolean =>
    metadataOf(object).name === name && stringMapAt(object, "data")["password"] === password;
}

/** The clusters, of which a bare client plays all but the first. */
interface Filled {
  readonly sources: number;
  readonly names: readonly string[];
  readonly played: readonly string[];
  /** Secrets a second that a bare client writes. */
  readonly ceiling: number;
}

/**
 * Secrets of an outbox that a bare client creates in a second with Latchkey's own account, to which
 * the same policies apply; without the controller, which would delete them.
 */
async function offersPerSecond({ admin, account }: BenchFixture, count: number): Promise<number> {
  const namespace = outboxNamespace("ceiling");
  await admin.send(post("/api/v1/namespaces", { metadata: { name: namespace, labels: ownLabel } }));
  const path = secretPath(namespace);
  const offer = { type: outboxSecretType, data: dataOf(1) };
  const marks = { [labels.outboxUid]: "bare" };
  const ms = await account.pour(count, (index) =>
    post(path, { ...offer, metadata: { name: `bare-${index}`, labels: marks } }),
  );
  await admin.send(remove(`${path}?${offersOnly}`));
  return (count * 1000) / ms;
}

/** Shares many SharedSecrets with all clusters, until each has reported all of them. */
async function fillRow(
  { admin }: BenchFixture,
  { sources, names, played, ceiling }: Filled,
): Promise<Row> {
  const shared = namesOf("far", sources);
  const wanted = sources * names.length;
  const { promise: filled, resolve } = Promise.withResolvers<number>();
  const events = await watchCollection(admin, "/api/v1/secrets", { query: offersOnly });
  let made = 0;
  events.each(({ type, at }) => {
    if (type === "ADDED") made += 1;
    if (made === wanted) resolve(at);
  });
  const began = performance.now();
  await admin.pour(sources, (index) => sharedRequest(shared[index] ?? "", "*"));
  const seconds = ((await filled) - began) / 1000;
  events.stop();
  for (const name of played) await playReports(admin, name);
  const isReported = async (): Promise<boolean> =>
    (await countSynced(admin, home, names.length)) === sources;
  await eventually(isReported, { ...patience, what: "all clusters to be synced in each status" });
  const [offer] = await offersOf(admin, agentCluster);
  const bytes = Buffer.byteLength(JSON.stringify(offer));
  return row(
    `${sources} SharedSecrets in the outboxes of ${names.length} clusters`,
    [wanted / seconds, "Secrets/s"],
    { ceiling, note: `${seconds.toFixed(1)} s; a Secret has ${bytes} bytes as JSON` },
  );
}

/** Which SharedSecrets are written while nothing changes, and the memory of the processes. */
async function idleRows(
  { admin }: BenchFixture,
  processes: Readonly<Record<"controller" | "agent", Running>>,
  seconds: number,
): Promise<readonly Row[]> {
  await processes.controller.readings.settled(patience.within);
  const versions = async (): Promise<readonly string[]> =>
    listAt(await admin.get(sharedSecretPath(home)), "items").map(
      (source) => metadataOf(source).resourceVersion,
    );
  const before = new Set(await versions());
  const end = await processes.controller.readings.begin();
  await pause(seconds * 1000);
  const written = (await versions()).filter((version) => !before.has(version));
  const idle = `SharedSecrets written in ${seconds} s without a change`;
  const rows = [row(idle, [written.length, "writes"], { goal: "0", usage: await end() })];
  for (const [name, { readings }] of Object.entries(processes)) {
    const { residentMB } = await readings.read();
    rows.push(row(`memory of the ${name} with these clusters, resident`, [residentMB, "MB"]));
  }
  return rows;
}
