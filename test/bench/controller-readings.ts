import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { performance } from "node:perf_hooks";
import type { Usage } from "./report.ts";

/**
 * The event loop is watched by a timer of this many milliseconds (prom-client,
 * eventLoopMonitoringPrecision), which is no block.
 */
const loopTimerMs = 20;

/** What /metrics says at one moment. */
export interface Reading {
  readonly requests: Readonly<Record<string, number>>;
  readonly cpuSeconds: number;
  readonly residentMB: number;
  /** The longest block since the reading before. */
  readonly blockMs: number;
  /** Items in the queue. */
  readonly waiting: number;
  /** Passes that have ended. */
  readonly passes: number;
  readonly leads: boolean;
}

/** One sample of Prometheus' text format. */
interface Sample {
  readonly name: string;
  readonly labels: string;
  readonly value: number;
}

/** Reads Prometheus' text format. */
export function readingOf(text: string): Reading {
  const samples = text.split("\n").flatMap(sampleOf);
  const named = (name: string): readonly Sample[] =>
    samples.filter((sample) => sample.name === name);
  const sum = (name: string): number => named(name).reduce((total, { value }) => total + value, 0);
  const requests: Record<string, number> = {};
  for (const { labels, value } of named("rest_client_requests_total")) {
    const method = /method="([A-Z]+)"/.exec(labels)?.[1] ?? "?";
    requests[method] = (requests[method] ?? 0) + value;
  }
  return {
    requests,
    cpuSeconds: sum("process_cpu_seconds_total"),
    residentMB: sum("process_resident_memory_bytes") / 1e6,
    blockMs: Math.max(0, sum("nodejs_eventloop_lag_max_seconds") * 1000 - loopTimerMs),
    waiting: sum("workqueue_depth"),
    passes: sum("controller_runtime_reconcile_total"),
    leads: sum("leader_election_master_status") === 1,
  };
}

function sampleOf(line: string): Sample[] {
  const [, name, labels = "", value] = /^([a-z_]+)(\{[^}]*\})? (\S+)$/.exec(line) ?? [];
  return name === undefined ? [] : [{ name, labels, value: Number(value) }];
}

/** The readings of one controller. */
export interface Readings {
  read(): Promise<Reading>;
  /** Begins to count; what is answered ends it. */
  begin(): Promise<() => Promise<Usage>>;
  /**
   * Waits until no key waits for a worker and no pass has ended for a second; answers when the last
   * pass ended, on the clock of `performance`, to about a quarter of a second; /metrics is read
   * that seldom because it costs the controller, too.
   */
  settled(within?: number): Promise<number>;
}

/** Reads a controller's /metrics. */
export function readingsOf(url: string): Readings {
  // A reading ends the time over which the longest block is sought, so whoever counts must hear of
  // all of them.
  let longest = 0;
  const read = async (): Promise<Reading> => {
    const reading = readingOf(await (await fetch(`${url}/metrics`)).text());
    longest = Math.max(longest, reading.blockMs);
    return reading;
  };
  return {
    read,
    async begin() {
      const before = await read();
      longest = 0;
      return async () => {
        const after = await read();
        const counts = Object.entries(after.requests).map(
          ([method, count]) => [method, count - (before.requests[method] ?? 0)] as const,
        );
        const requests = Object.fromEntries(counts.filter(([, count]) => count > 0));
        return {
          requests,
          cpuSeconds: after.cpuSeconds - before.cpuSeconds,
          residentMB: after.residentMB,
          blockMs: longest,
        };
      };
    },
    async settled(within = 600_000) {
      const deadline = performance.now() + within;
      let passes = -1;
      let since = performance.now();
      for (;;) {
        const now = performance.now();
        const reading = await read();
        const isQuiet = reading.leads && reading.waiting === 0 && reading.passes === passes;
        if (!isQuiet) since = now;
        passes = reading.passes;
        if (now - since >= 1_000) return since;
        if (now > deadline)
          throw new Error(
            `waited ${within / 1000} s for the controller to have nothing to do: ${reading.waiting} keys wait`,
          );
        await pause(250);
      }
    },
  };
}

/**
 * The most memory that a process ever had resident, in megabytes; undefined where Linux does not
 * say.
 */
export function peakMemory(pid: number): number | undefined {
  try {
    const [, kilobytes] =
      /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kilobytes === undefined ? undefined : (Number(kilobytes) * 1024) / 1e6;
  } catch {
    return undefined;
  }
}
