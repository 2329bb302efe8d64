import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { apiVersion, revokedTokensName } from "../../src/api/names.ts";
import { listAt, stringMapAt } from "../../src/api/parse.ts";
import { isRaw, nameOf } from "../specification/raw.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { type RevokedData, withoutSweeps } from "./revoked-end.ts";
import { runMeasured, type Say } from "../support/measured-run.ts";
import { startProxiedCluster, type ProxiedCluster } from "../support/proxied-cluster.ts";
import { prepareMarkers } from "./markers.ts";
import { MemoryWatch } from "./memory.ts";
import {
  createNamespace,
  createPlaceholder,
  homes,
  placeholders,
  showsSecret,
  targets,
} from "./objects.ts";
import { breakEveryMs, comeToRest, perSecond, soak, type Soaked } from "./play.ts";
import { bundleFor, type Soakable, startBehind } from "./soaked-controller.ts";
import { type Findings, mustsOf, shortestForSlope, summaryOf } from "./verdict.ts";

const minutes = Number(process.env.MINUTES || 30);
const seed = Number(process.env.SEED || Date.now() % 1_000_000);
const sampleEveryMs = 5_000;
/** How long an idle controller is observed. */
const quietMs = 10_000;

/** What the proxy and the controllers behind it have done. */
interface Behind extends Soakable {
  readonly writes: string[];
  readonly deaths: string[];
}

async function openProxy(cluster: ProxiedCluster, program: string): Promise<Behind> {
  const writes: string[] = [];
  const onWrite = ({ method, path }: { readonly method: string; readonly path: string }) =>
    void writes.push(`${method} ${path}`);
  const events = { onTraffic() {}, onCommit() {}, onList() {}, onWrite };
  const proxy = await FaultProxy.start({
    upstream: cluster.upstream,
    view: { prefix: "", system: "latchkey-system" },
    steering: {},
    events,
  });
  return { cluster, program, proxy, writes, deaths: [] };
}

/** The writes of another controller when all work is done, except those that time requires. */
async function freshWrites(behind: Behind): Promise<readonly string[]> {
  const { cluster, writes, deaths } = behind;
  writes.length = 0;
  const before = await revokedData(cluster);
  const said = await statuses(cluster);
  const other = await startBehind(behind, deaths);
  await pause(quietMs);
  await other.stop();
  const after = await revokedData(cluster);
  const found = withoutSweeps(writes, { before, after, now: Date.now() });
  const now = found.length === 0 ? said : await statuses(cluster);
  const changes = [...now].filter(([name, status]) => said.get(name) !== status);
  return [
    ...found,
    ...changes.map(([name, status]) => `${name} said ${said.get(name) ?? ""}, and now ${status}`),
  ];
}

/** What the statuses of SharedSecrets say, which have no value; by name. */
async function statuses(cluster: ProxiedCluster): Promise<ReadonlyMap<string, string>> {
  const path = `/apis/${apiVersion}/sharedsecrets`;
  const items = listAt(await cluster.arrange({ method: "GET", path }), "items").filter(isRaw);
  return new Map(items.map(({ metadata, status }) => [nameOf(metadata), JSON.stringify(status)]));
}

async function revokedData(cluster: ProxiedCluster): Promise<RevokedData> {
  const path = `/api/v1/namespaces/latchkey-system/configmaps/${revokedTokensName(0)}`;
  return stringMapAt(await cluster.arrange({ method: "GET", path }), "data");
}

async function run(cluster: ProxiedCluster, say: Say): Promise<Findings> {
  const program = await bundleFor(cluster, say);
  for (const name of [...homes, ...targets]) await cluster.arrange(createNamespace(name));
  for (const place of placeholders) await cluster.arrange(createPlaceholder(place));
  await prepareMarkers(cluster);
  const behind = await openProxy(cluster, program);
  const { proxy, writes, deaths } = behind;
  const controller = await startBehind(behind, deaths);
  say(
    `soaking for ${minutes} min with ${perSecond} changes a second and a broken watch every ${breakEveryMs / 1000} s, SEED=${seed}; log: ${controller.log}`,
  );
  const memory = new MemoryWatch(controller.url, sampleEveryMs);
  const isDead = (): boolean => deaths.length > 0;
  const soaked: Soaked = { cluster, minutes, seed, proxy, memory, isDead, say };
  const { breaker, markers, driver } = await soak(soaked);
  memory.stop();
  const report = memory.report(minutes < shortestForSlope ? minutes / 2 : 5);
  say("the last change is sent");
  const { left, seconds } = await comeToRest(soaked, markers);
  const { reconciles, cpuSeconds, bugs } = await memory.sample();
  const count = writes.length;
  await controller.stop();
  say("starting another controller, which should find nothing to do");
  const lines = readFileSync(controller.log, "utf8").split("\n");
  return {
    seed,
    minutes,
    perSecond,
    deaths,
    reconciles,
    cpuSeconds,
    bugs,
    outcomes: Object.fromEntries(driver.outcomes),
    total: driver.total,
    heldBack: driver.heldBack,
    failures: driver.failures,
    broken: Object.fromEntries(breaker.counts),
    latencies: markers.latencies,
    withoutEffect: markers.waiting,
    memory: report,
    samples: memory.samples,
    differences: left,
    settledAfter: seconds,
    writes: count,
    errorLines: lines.filter((line) => line.includes('"level":"error"')),
    secretLines: lines.filter(showsSecret).length,
    freshWrites: await freshWrites(behind),
  };
}

if (!(minutes > 0)) throw new Error(`MINUTES=${process.env.MINUTES ?? ""} is no number of minutes`);
const findings = await runMeasured({
  unit: "min",
  start: startProxiedCluster,
  measure: run,
  summary: summaryOf,
});
process.exit(mustsOf(findings).every(({ holds }) => holds) ? 0 : 1);
