import { performance } from "node:perf_hooks";
import { Pool } from "undici";
import { ownObjects } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import {
  home,
  keyRequest,
  ownPath,
  parsed,
  plainKeyOf,
  secretPath,
} from "../support/bench-objects.ts";
import { median, percentile } from "../support/percentile.ts";
import type { BenchFixture, RunningGateway } from "./bench-fixture.ts";
import type { Row, Usage } from "./report.ts";
import type { Size } from "./sizes.ts";

const day = 86_400;
const user = "gateway-bench";
const keyName = "gateway-bench";
const management = "/kubernetes/management";
const concurrencies = [1, 16, 64];
const goals = { share: 0.8, watchKilobytes: 160, cutMs: 500 };

/** A way to the API server. */
interface Way {
  readonly pool: Pool;
  readonly origin: string;
  readonly ca: string;
  readonly prefix: string;
  readonly authorization: string;
}

interface Ways {
  readonly direct: Way;
  readonly http1: Way;
  readonly http2: Way;
}

/** What a series of requests took. */
interface Series {
  /** Requests a second. */
  readonly rate: number;
  readonly latencies: readonly number[];
}

/** Requests through the gateway beside the same requests to the API server, in alternation. */
export async function gatewayRows(
  fixture: BenchFixture,
  gateway: RunningGateway,
  size: Size["gateway"],
): Promise<readonly Row[]> {
  const { say } = fixture;
  const paths = await seed(fixture);
  const ways = await openWays(fixture, gateway);
  const rows: Row[] = [];
  try {
    for (const { name, path, requests } of [
      { name: "GET 1 KB", path: paths.small, requests: size.small },
      { name: "list 1 MB", path: paths.list, requests: size.lists },
    ]) {
      for (const concurrency of concurrencies) {
        say(`${name}, ${concurrency} at a time`);
        rows.push(...(await requestRows(ways, gateway, { name, path, requests, concurrency })));
      }
    }
    say("watches");
    rows.push(await watchRow(ways, gateway, { path: paths.watch, watches: size.watches }));
    say("cuts");
    rows.push(await cutRow(fixture, ways, { path: paths.watch, cuts: size.cuts }));
  } finally {
    await Promise.all(Object.values(ways).map(({ pool }) => pool.destroy()));
  }
  return rows;
}

async function seed({ admin }: BenchFixture): Promise<Record<"small" | "list" | "watch", string>> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  await admin.send({
    method: "POST",
    path: rbac,
    body: {
      metadata: { name: user },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    },
  });
  await admin.send(keyRequest(keyName, user, day));
  const configMap = (name: string, size: number, labels: object) =>
    admin.send({
      method: "POST",
      path: `/api/v1/namespaces/${home}/configmaps`,
      body: { metadata: { name, labels }, data: { text: "x".repeat(size) } },
    });
  await configMap("one", 600, { size: "small" });
  for (let at = 0; at < 10; at += 1) await configMap(`big-${at}`, 100_000, { size: "big" });
  const collection = `/api/v1/namespaces/${home}/configmaps`;
  return {
    small: `${collection}/one`,
    list: `${collection}?labelSelector=size%3Dbig&resourceVersion=0`,
    watch: `${collection}?labelSelector=size%3Dnone&watch=1&resourceVersion=0`,
  };
}

async function openWays(fixture: BenchFixture, { gatewayUrl }: RunningGateway): Promise<Ways> {
  const { controlPlane, admin } = fixture;
  const secret = parsed(
    await admin.send({
      method: "GET",
      path: secretPath("latchkey-system", ownObjects.gatewayCertificates),
    }),
  );
  const ca = Buffer.from(stringAt(recordAt(secret, "data"), "ca.crt") ?? "", "base64").toString();
  const reach = (origin: string, authority: string, allowH2: boolean) => ({
    origin,
    ca: authority,
    pool: new Pool(origin, {
      connections: allowH2 ? 4 : 64,
      allowH2,
      pipelining: allowH2 ? 100 : 1,
      connect: { ca: authority },
    }),
  });
  const key = `Bearer ${plainKeyOf(keyName)}`;
  const { url, certificateAuthority, tokens } = controlPlane;
  return {
    direct: {
      ...reach(url, certificateAuthority, false),
      prefix: "",
      authorization: `Bearer ${tokens["admin"] ?? ""}`,
    },
    http1: { ...reach(gatewayUrl, ca, false), prefix: management, authorization: key },
    http2: { ...reach(gatewayUrl, ca, true), prefix: management, authorization: key },
  };
}

interface Requests {
  readonly name: string;
  readonly path: string;
  readonly requests: number;
  readonly concurrency: number;
}

const rounds = 3;

async function requestRows(
  ways: Ways,
  gateway: RunningGateway,
  { name, path, requests, concurrency }: Requests,
): Promise<readonly Row[]> {
  const terms = { path, requests: Math.ceil(requests / rounds), concurrency };
  const series: Record<keyof Ways, Series[]> = { direct: [], http1: [], http2: [] };
  const usages: Record<"http1" | "http2", Usage[]> = { http1: [], http2: [] };
  for (const way of ["direct", "http1", "http2"] as const)
    await measured(ways[way], { ...terms, requests: 50 });
  for (let round = 0; round < rounds; round += 1) {
    series.direct.push(await measured(ways.direct, terms));
    for (const way of ["http1", "http2"] as const) {
      const end = await gateway.readings.begin();
      series[way].push(await measured(ways[way], terms));
      usages[way].push(await end());
    }
  }
  const rateOf = (way: keyof Ways): number => median(series[way].map(({ rate }) => rate));
  const latency = (way: keyof Ways, p: number): number =>
    percentile(
      series[way].flatMap(({ latencies }) => latencies),
      p,
    );
  return (["http1", "http2"] as const).map((way) => {
    const cpu = usages[way].reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
    const micros = (cpu / (rounds * terms.requests)) * 1e6;
    const added = [0.5, 0.99].map((p) => latency(way, p) - latency("direct", p));
    const [p50 = 0, p99 = 0] = added;
    const isGoal = concurrency === 16 && name === "GET 1 KB";
    return {
      name: `${name}, ${concurrency} at a time, ${way === "http1" ? "HTTP/1.1" : "HTTP/2"}`,
      measured: rateOf(way),
      ceiling: rateOf("direct"),
      unit: "/s",
      ...(isGoal
        ? {
            wanted: `>= ${goals.share} of direct`,
            met: rateOf(way) >= goals.share * rateOf("direct"),
          }
        : {}),
      note: `added p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms; ${micros.toFixed(0)} us of the gateway`,
    };
  });
}

async function measured(
  { pool, prefix, authorization }: Way,
  { path, requests, concurrency }: Omit<Requests, "name">,
): Promise<Series> {
  const latencies: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < requests; index = next++) {
      const began = performance.now();
      const { statusCode, body } = await pool.request({
        method: "GET",
        path: prefix + path,
        headers: { authorization },
      });
      await body.dump({ limit: Infinity });
      if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode}`);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: concurrency }, client));
  return { rate: (requests * 1000) / (performance.now() - began), latencies };
}

/** The memory that open watches take in the gateway. */
async function watchRow(
  { http1 }: Ways,
  gateway: RunningGateway,
  { path, watches }: { readonly path: string; readonly watches: number },
): Promise<Row> {
  const before = await gateway.readings.read();
  const opened = await openWatches(http1, { path, watches });
  const { residentMB } = await gateway.readings.read();
  const kilobytes = ((residentMB - before.residentMB) * 1000) / watches;
  await opened.close();
  return {
    name: `memory of a watch (${watches} open)`,
    measured: kilobytes,
    unit: "kB",
    wanted: `<= ${goals.watchKilobytes} kB`,
    met: kilobytes <= goals.watchKilobytes,
  };
}

async function openWatches(
  { origin, ca, prefix, authorization }: Way,
  { path, watches }: { readonly path: string; readonly watches: number },
): Promise<{ readonly ended: Promise<number>; close(): Promise<void> }> {
  // A pool of its own: a watch keeps its connection.
  const own = new Pool(origin, { connections: null, bodyTimeout: 0, connect: { ca } });
  const ends = await Promise.all(
    Array.from({ length: watches }, async () => {
      const { statusCode, body } = await own.request({
        method: "GET",
        path: prefix + path,
        headers: { authorization },
      });
      if (statusCode !== 200) throw new Error(`watch: ${statusCode}`);
      const ended = body.dump({ limit: Infinity }).catch(() => {});
      // In an object, because a promise that is returned would be waited for.
      return { endedAt: ended.then(() => performance.now()) };
    }),
  );
  return {
    ended: Promise.all(ends.map(({ endedAt }) => endedAt)).then((all) => Math.max(...all)),
    close: () => own.destroy(),
  };
}

/** From the answer to `disabled: true` to the end of a watch under the key. */
async function cutRow(
  { admin }: BenchFixture,
  { http1 }: Ways,
  { path, cuts }: { readonly path: string; readonly cuts: number },
): Promise<Row> {
  const times: number[] = [];
  for (let cut = 0; cut < cuts; cut += 1) {
    const name = `cut-${cut}`;
    await admin.send(keyRequest(name, user, day));
    const way = { ...http1, authorization: `Bearer ${plainKeyOf(name)}` };
    const opened = await eventually(
      () => openWatches(way, { path, watches: 1 }).catch(() => false as const),
      { what: "the key to work", every: 20 },
    );
    await admin.send({
      method: "PATCH",
      path: ownPath("ownedaccesskeys", name),
      body: { spec: { disabled: true } },
    });
    const asked = performance.now();
    times.push(Math.max(0, (await opened.ended) - asked));
    await opened.close();
  }
  const p99 = percentile(times, 0.99);
  return {
    name: "disabled key to the end of its watch",
    measured: p99,
    unit: "ms p99",
    wanted: `< ${goals.cutMs} ms`,
    met: p99 < goals.cutMs,
    note: `p50 ${median(times).toFixed(1)} ms, n ${times.length}`,
  };
}
