import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { performance } from "node:perf_hooks";
import type { Usage } from "./report.ts";

/**
 * The event loop is monitored by a timer of this interval (prom-client,
 * eventLoopMonitoringPrecision), which does not count as a block.
 */
const loopTimerMs = 20;

/** Values of /metrics at one time. */
export interface Reading {
  readonly requests: Readonly<Record<string, number>>;
  readonly cpuSeconds: number;
  readonly residentMB: number;
  /** The longest block since the previous reading. */
  readonly blockMs: number;
  /** Items in the queue. */
  readonly waiting: number;
  /** Finished reconciles. */
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
  /** Starts to count; the returned function stops and returns the result. */
  begin(): Promise<() => Promise<Usage>>;
  /**
   * Waits until the queue is empty and no reconcile has finished for a second; returns when the
   * last reconcile finished, on the clock of `performance`, to about a quarter of a second;
   * /metrics is not read more often because each read costs the controller CPU.
   */
  settled(within?: number): Promise<number>;
}

/** Reads a controller's /metrics. */
export function readingsOf(url: string): Readings {
  // Each reading resets the longest block, so a measurement must include all readings.
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

/** The peak resident memory of a process, in megabytes; undefined if Linux does not provide it. */
export function peakMemory(pid: number): number | undefined {
  try {
    const [, kilobytes] =
      /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kilobytes === undefined ? undefined : (Number(kilobytes) * 1024) / 1e6;
  } catch {
    return undefined;
  }
}
