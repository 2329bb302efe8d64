import { eventually } from "../support/eventually.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { seededRandom } from "../support/seeded-random.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import { WatchBreaker } from "./breaks.ts";
import { sorts } from "./change.ts";
import { differences } from "./end-state.ts";
import { Markers } from "./markers.ts";
import type { MemoryWatch } from "./memory.ts";
import { Driver } from "./pace.ts";
import { Population } from "./population.ts";
import { latencyRows } from "./verdict.ts";

/** Changes per second. */
export const perSecond = 20;
/** Milliseconds between broken watches. */
export const breakEveryMs = 30_000;
/** Changes between timed changes: two seconds. */
const markerEvery = 40;
/**
 * What was undone often is known as that for 10 minutes after its last repair, and a half-open watch
 * is detected after 150 s; the rest is for a slow machine.
 */
const patienceMs = 900_000;

/** What is soaked, and what observes it. */
export interface Soaked {
  readonly cluster: ProxiedCluster;
  readonly minutes: number;
  readonly seed: number;
  readonly proxy: FaultProxy;
  readonly memory: MemoryWatch;
  readonly isDead: () => boolean;
  readonly say: (line: string) => void;
}

/** The parts of a soak that was played, with their results. */
export interface Played {
  readonly breaker: WatchBreaker;
  readonly markers: Markers;
  readonly driver: Driver;
}

/**
 * Sends changes, breaks watches and prints progress until the time is over, or the controller has
 * exited.
 */
export async function soak(soaked: Soaked): Promise<Played> {
  const { cluster, minutes, seed, proxy, isDead } = soaked;
  const breaker = new WatchBreaker(proxy, seededRandom(seed + 1));
  const markers = new Markers(cluster, breaker);
  const driver = new Driver(cluster);
  const population = new Population(seededRandom(seed));
  const played = { breaker, markers, driver };
  const breaking = setInterval(() => report(soaked, played, breaker.breakNext()), breakEveryMs);
  const mark = () =>
    void markers
      .next()
      .catch((error: unknown) => driver.failures.push(`a timed change: ${String(error)}`));
  await driver.drive({ seconds: minutes * 60, perSecond, isOver: isDead }, (number) => {
    if (number % markerEvery === 0) mark();
    else driver.send(population.next(number / perSecond));
  });
  clearInterval(breaking);
  // A last change of every kind, and then a last change of the data of nearly all SharedSecrets.
  const last = [
    ...sorts.map(([sort]) => sort),
    ...Array.from({ length: 40 }, () => "data" as const),
  ];
  for (const sort of last) {
    driver.send(population.one(sort, minutes * 60));
    await driver.settled();
  }
  for (let more = 0; more < 3; more += 1) await markers.next();
  return played;
}

function report({ memory, say }: Soaked, { markers, driver }: Played, broken: string): void {
  const { done, late, failed } = driver.total;
  const recent = latencyRows(markers.latencies.slice(-30))
    .filter((_, index) => index % 2 === 1)
    .map(([, figures]) => figures.split(", n ")[0]);
  const { residentMB = Number.NaN, heapMB = Number.NaN } = memory.latest ?? {};
  say(
    `${done} changes (${late} too late, ${failed} failed, ${driver.heldBack} held back); RSS ${residentMB.toFixed(0)} MB, heap ${heapMB.toFixed(0)} MB; last timed ones: ${recent.join(" | ")}; broken now: ${broken}`,
  );
}

/** Waits for the expected end state; returns the differences, and how many seconds it took. */
export async function comeToRest(
  { cluster, isDead, say }: Soaked,
  markers: Markers,
): Promise<{ readonly left: readonly string[]; readonly seconds: number }> {
  const since = performance.now();
  let left: readonly string[] = [];
  let reportedAt = since;
  const look = async (): Promise<boolean> => {
    left = await differences(cluster);
    if (performance.now() - reportedAt > 30_000) {
      reportedAt = performance.now();
      say(
        `${left.length} things are not yet as they should be, such as ${left[0] ?? "a timed change"}`,
      );
    }
    return left.length === 0 && markers.waiting === 0;
  };
  await eventually(look, {
    what: "the end state",
    within: isDead() ? 0 : patienceMs,
    every: 500,
  }).catch(() => {});
  return { left, seconds: (performance.now() - since) / 1000 };
}
