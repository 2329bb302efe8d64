import { join } from "node:path";
import { buildModule, type GoModule } from "../support/go-module.ts";
import { testCertificates } from "../support/gateway-fixture.ts";
import { type LineProgram, startLineProgram } from "../support/line-program.ts";
import { inTurns } from "../support/measured-run.ts";
import { median, percentile } from "../support/percentile.ts";
import { processorSeconds } from "../support/processor-time.ts";
import type { Bench, BenchFixture } from "./bench-fixture.ts";
import { seed } from "./gateway.ts";
import { type Series, series } from "./gateway-requests.ts";
import { grantAdmins, makeAdminKey, openWays, openWaysTo, type OpenWays } from "./gateway-ways.ts";
import { type Row, row } from "./report.ts";
import { numberAt } from "../../src/api/parse.ts";

const concurrencies = [1, 16, 64];
const versions = ["http1", "http2"] as const;

/** A reverse proxy of Go's standard library. */
const goProxyModule: GoModule = {
  directory: join(import.meta.dirname, "../support/go-proxy"),
  name: "reverse proxy in Go",
  takes: "1 minute",
  packages: ".",
};

/** What stands before the API server: the gateway, or what it is compared with. */
interface Front {
  readonly pid: number;
  readonly ways: OpenWays;
  stop(): Promise<unknown>;
}

/** What one round of a front took. */
interface Round extends Series {
  /** Microseconds of processor time a request. */
  readonly micros: number;
}

/**
 * The gateway beside a reverse proxy of node and undici with nothing of ours (the floor), one of Go's
 * standard library, and the bundle of the variable BEFORE if it is set: in turns, all before one API
 * server.
 */
export async function fronts({
  fixture,
  size: { name: sizeName, gateway: size },
  report,
}: Bench): Promise<void> {
  // The smallest benchmark shows that it runs.
  const rounds = sizeName === "tiny" ? 1 : 5;
  const admins = "fronts-bench";
  await grantAdmins(fixture, admins);
  const key = await makeAdminKey(fixture, admins, admins);
  const paths = await seed(fixture, "fronts");
  const { BEFORE: before } = process.env;
  const started: Record<string, Front> = {
    floor: await startProxy(fixture, [
      process.execPath,
      join(import.meta.dirname, "floor-main.ts"),
    ]),
    Go: await startProxy(fixture, [
      join(await buildModule(goProxyModule, { report: fixture.say }), "go-proxy"),
    ]),
    ...(before ? { before: await startGateway(fixture, key, before) } : {}),
    gateway: await startGateway(fixture, key),
  };
  const names = Object.keys(started);
  const measure = (terms: Terms) =>
    inTurns(
      rounds,
      Object.fromEntries(names.map((name) => [name, () => roundOf(started[name], terms)])),
    );
  for (const way of versions)
    await measure({ way, path: paths.object, requests: size.small, concurrency: 16 });
  for (const [name, path, requests] of [
    ["GET 1 KB", paths.object, size.small],
    ["list 1 MB", paths.list, size.lists],
  ] as const)
    for (const concurrency of concurrencies)
      for (const way of versions) {
        const version = way === "http1" ? "HTTP/1.1" : "HTTP/2";
        const what = `${name}, ${concurrency} at a time, ${version}`;
        fixture.say(what);
        const found = await measure({ way, path, requests, concurrency });
        report(rowsOf(what, found, name === "GET 1 KB" && concurrency > 1));
      }
  for (const front of Object.values(started)) await front.stop();
}

interface Terms {
  readonly way: (typeof versions)[number];
  readonly path: string;
  readonly requests: number;
  readonly concurrency: number;
}

async function roundOf(front: Front | undefined, { way, ...terms }: Terms): Promise<Round> {
  if (front === undefined) throw new Error("no such front");
  const used = () => processorSeconds(front.pid) ?? Number.NaN;
  const began = used();
  const measured = await series(front.ways[way], terms);
  const micros = ((used() - began) / terms.requests) * 1e6;
  return { ...measured, micros };
}

/** Two rows, of the processor time and of the rate; both are judged by their worst round. */
function rowsOf(
  what: string,
  found: Readonly<Record<string, readonly Round[]>>,
  isJudged: boolean,
): readonly Row[] {
  const { floor = [], gateway = [], ...others } = found;
  const byRound = (of: (one: Round) => number, sign: 1 | -1) => {
    const ratios = gateway.map((one, at) => of(one) / of(floor[at] ?? one));
    const worst = sign === 1 ? Math.max(...ratios) : Math.min(...ratios);
    const at = ratios.indexOf(worst);
    return {
      figure: of(gateway[at] ?? { rate: 0, latencies: [], micros: 0 }),
      ceiling: of(floor[at] ?? { rate: 0, latencies: [], micros: 0 }),
      note: [
        `by round ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}`,
        ...Object.entries(others).map(
          ([name, all]) =>
            `of ${name} ${gateway.map((one, index) => (of(one) / of(all[index] ?? one)).toFixed(2)).join(" ")}`,
        ),
      ],
    };
  };
  const added = (p: number): string => {
    const of = (all: readonly Round[]) =>
      percentile(
        all.flatMap(({ latencies }) => latencies),
        p,
      );
    return `${of(gateway).toFixed(2)} ms (floor ${of(floor).toFixed(2)})`;
  };
  const micros = byRound((one) => one.micros, 1);
  const rate = byRound((one) => one.rate, -1);
  const absolute = Object.entries(found).map(
    ([name, all]) => `${name} ${median(all.map((one) => one.micros)).toFixed(0)}`,
  );
  return [
    row(`${what}: processor time`, [micros.figure, "us"], {
      ceiling: micros.ceiling,
      ...(isJudged && { ratioGoal: "<= 1.4 of the floor" }),
      note: [...micros.note, `median us: ${absolute.join(", ")}`].join("; "),
    }),
    row(`${what}: requests`, [rate.figure, "/s"], {
      ceiling: rate.ceiling,
      ...(isJudged && { ratioGoal: ">= 0.85 of the floor" }),
      note: [...rate.note, `p50 ${added(0.5)}, p99 ${added(0.99)}`].join("; "),
    }),
  ];
}

async function startGateway(fixture: BenchFixture, key: string, program?: string): Promise<Front> {
  const running = await fixture.startGateway(program);
  const ways = await openWays(fixture, running, key);
  return {
    pid: running.pid,
    ways,
    async stop() {
      await ways.close();
      await running.stop();
    },
  };
}

/** Starts a proxy that is configured by a line, with the rights of an administrator. */
async function startProxy(fixture: BenchFixture, command: readonly string[]): Promise<Front> {
  const { url, certificateAuthority, tokens } = fixture.controlPlane;
  const { ca, tls } = await testCertificates();
  const program: LineProgram = startLineProgram(command);
  const [ports] = await program.ask([
    {
      Upstream: url,
      Authority: certificateAuthority,
      Authorization: `Bearer ${tokens["admin"] ?? ""}`,
      Certificate: tls.certificate,
      PrivateKey: tls.privateKey,
    },
  ]);
  const openAt = (name: (typeof versions)[number]): OpenWays =>
    openWaysTo(fixture, {
      url: `https://127.0.0.1:${numberAt(ports, name)}`,
      ca,
      prefix: "",
      credential: "none",
    });
  const opened = { http1: openAt("http1"), http2: openAt("http2") };
  const { direct, http1 } = opened.http1;
  const close = () => Promise.all(Object.values(opened).map((ways) => ways.close()));
  return {
    pid: program.pid,
    ways: { direct, http1, http2: opened.http2.http2, close },
    async stop() {
      await close();
      program.stop();
    },
  };
}
