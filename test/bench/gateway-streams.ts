import { performance } from "node:perf_hooks";
import { Pool } from "undici";
import { eventually } from "../support/eventually.ts";
import { patch } from "../support/bare-client.ts";
import type { BenchFixture, RunningServer } from "./bench-fixture.ts";
import { makeAdminKey, type Way, type Ways } from "./gateway-ways.ts";
import { type Row, row } from "./report.ts";

/** As many as a key may have. */
const watchesOfKey = 250;
const events = 20;

/** What is watched: a collection, and an object in it that a change is made to. */
export interface Watched {
  readonly collection: string;
  readonly object: string;
}

/** The memory and the processor time that open watches take in the gateway. */
export async function watchRows(
  fixture: BenchFixture,
  { http1 }: Ways,
  { readings }: Pick<RunningServer, "readings">,
  { collection, object, watches }: Watched & { readonly watches: number },
): Promise<readonly Row[]> {
  const keys: string[] = [];
  for (let at = 0; at * watchesOfKey < watches; at += 1)
    keys.push(await makeAdminKey(fixture, `watcher-${watches}-${at}`));
  const ways = keys.map((key) => ({ ...http1, authorization: `Bearer ${key}` }));
  // The first watches of a process cost what every process costs.
  for (const way of ways) await works(way, collection);
  const before = await readings.read();
  const opened = await Promise.all(
    ways.map((way, at) =>
      openWatches(way, collection, Math.min(watchesOfKey, watches - at * watchesOfKey)),
    ),
  );
  const { residentMB } = await readings.read();
  const kilobytes = ((residentMB - before.residentMB) * 1000) / watches;
  const end = await readings.begin();
  const lines = (): number => opened.reduce((sum, watch) => sum + watch.count(), 0);
  const linesBefore = lines();
  for (let event = 0; event < events; event += 1)
    await fixture.admin.send(
      patch(object, { metadata: { annotations: { event: `${watches}-${event}` } } }),
    );
  const wanted = linesBefore + events * watches;
  await eventually(() => lines() >= wanted, { what: "all events to arrive", every: 20 });
  const micros = ((await end()).cpuSeconds * 1e6) / (events * watches);
  await Promise.all(opened.map((watch) => watch.close()));
  return [
    row(`memory of a watch (${watches} open)`, [kilobytes, "kB"], { goal: "<= 160 kB" }),
    row(`event to a watch (${watches} open)`, [micros, "us of the gateway"]),
  ];
}

async function works(way: Way, collection: string): Promise<void> {
  await (await openOnce(way, collection, 10)).close();
}

/** Opens watches as soon as their credential is accepted. */
export function openOnce(way: Way, collection: string, watches: number): Promise<OpenWatches> {
  const open = () => openWatches(way, collection, watches).catch(() => false as const);
  return eventually(open, { what: "a credential to work", every: 20 });
}

interface OpenWatches {
  /** When the last one ended. */
  readonly ended: Promise<number>;
  /** The lines that arrived. */
  count(): number;
  close(): Promise<void>;
}

async function openWatches(
  { origin, ca, prefix, authorization }: Way,
  collection: string,
  watches: number,
): Promise<OpenWatches> {
  // A pool of its own: a watch keeps its connection.
  const own = new Pool(origin, { connections: null, bodyTimeout: 0, connect: { ca } });
  let count = 0;
  const ends = await Promise.all(
    Array.from({ length: watches }, async () => {
      const { statusCode, body } = await own.request({
        method: "GET",
        path: `${prefix}${collection}&watch=1`,
        headers: { authorization },
      });
      if (statusCode !== 200) throw new Error(`watch: ${statusCode}`);
      const ended = (async () => {
        for await (const chunk of body) count += linesIn(chunk);
      })().catch(() => {});
      // In an object, because a promise that is returned would be waited for.
      return { endedAt: ended.then(() => performance.now()) };
    }),
  );
  return {
    ended: Promise.all(ends.map(({ endedAt }) => endedAt)).then((all) => Math.max(...all)),
    count: () => count,
    close: () => own.destroy(),
  };
}

function linesIn(chunk: Buffer): number {
  let lines = 0;
  for (const byte of chunk) if (byte === 0x0a) lines += 1;
  return lines;
}
