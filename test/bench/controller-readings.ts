import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { performance } from "node:perf_hooks";
import { sumOf, type Vitals, vitalsIn } from "../support/controller-vitals.ts";
import type { Usage } from "./report.ts";

/**
 * The event loop is monitored by a timer of this interval (prom-client,
 * eventLoopMonitoringPrecision), which does not count as a block.
 */
const loopTimerMs = 20;

/** Values of /metrics at one time. */
export interface Reading extends Vitals {
  readonly requests: Readonly<Record<string, number>>;
  readonly cpuSeconds: number;
  readonly residentMB: number;
  /** The longest block since the previous reading. */
  readonly blockMs: number;
  /** How many items have waited in a queue for at most so many seconds, by the text of the bound. */
  readonly waited: Readonly<Record<string, number>>;
}

/** Reads Prometheus' text format. */
export function readingOf(text: string): Reading {
  const requests: Record<string, number> = {};
  const lines = /^rest_client_requests_total\{.*method="([A-Z]+)".*\} (\S+)$/gm;
  for (const [, method = "", value] of text.matchAll(lines))
    requests[method] = (requests[method] ?? 0) + Number(value);
  const waited: Record<string, number> = {};
  const waits = /^workqueue_queue_duration_seconds_bucket\{.*le="([^"]+)".*\} (\S+)$/gm;
  for (const [, bound = "", value] of text.matchAll(waits))
    waited[bound] = (waited[bound] ?? 0) + Number(value);
  return {
    ...vitalsIn(text),
    requests,
    waited,
    cpuSeconds: sumOf(text, "process_cpu_seconds_total"),
    residentMB: sumOf(text, "process_resident_memory_bytes") / 1e6,
    blockMs: Math.max(0, sumOf(text, "nodejs_eventloop_lag_max_seconds") * 1000 - loopTimerMs),
  };
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
  /** Waits for the same; returns how long the work took, and what it used. */
  untilSettled(within: number): Promise<{ readonly seconds: number; readonly usage: Usage }>;
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
  const begin = async (): Promise<() => Promise<Usage>> => {
    const before = await read();
    longest = 0;
    return async () => {
      const after = await read();
      const counts = Object.entries(after.requests).map(
        ([method, count]) => [method, count - (before.requests[method] ?? 0)] as const,
      );
      return {
        requests: Object.fromEntries(counts.filter(([, count]) => count > 0)),
        cpuSeconds: after.cpuSeconds - before.cpuSeconds,
        residentMB: after.residentMB,
        blockMs: longest,
      };
    };
  };
  const settled = async (within = 600_000): Promise<number> => {
    const deadline = performance.now() + within;
    let before = -1;
    let since = performance.now();
    for (;;) {
      const now = performance.now();
      const { isLeading, waiting, reconciles } = await read();
      if (!isLeading || waiting > 0 || reconciles !== before) since = now;
      before = reconciles;
      if (now - since >= 1_000) return since;
      if (now > deadline)
        throw new Error(
          `waited ${within / 1000} s for the controller to have nothing to do: ${waiting} keys wait`,
        );
      await pause(250);
    }
  };
  return {
    read,
    begin,
    settled,
    async untilSettled(within) {
      const end = await begin();
      const began = performance.now();
      const seconds = ((await settled(within)) - began) / 1000;
      return { seconds, usage: await end() };
    },
  };
}

/**
 * The bound of the histogram, in milliseconds, within which this part of the items began to be
 * worked on between two readings.
 */
export function waitBound(before: Reading, after: Reading, part: number): number {
  const countOf = (bound: string): number =>
    (after.waited[bound] ?? 0) - (before.waited[bound] ?? 0);
  const bounds = Object.keys(after.waited).filter((bound) => bound !== "+Inf");
  const enough = part * countOf("+Inf");
  const found = bounds.filter((bound) => countOf(bound) >= enough).map(Number);
  return Math.min(...found) * 1000;
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
