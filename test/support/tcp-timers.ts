import { readFileSync } from "node:fs";
import { eventually } from "./eventually.ts";

/** A TCP connection of this machine and its timer, as Linux shows it in /proc/net/tcp. */
export interface TcpTimer {
  readonly localPort: number;
  readonly remotePort: number;
  /** Whether the timer is that of keep-alive probes. */
  readonly isKeepAlive: boolean;
  /** Until the next probe. */
  readonly seconds: number;
}

/** The established IPv4 connections of this machine; empty elsewhere than on Linux. */
export function tcpTimers(): readonly TcpTimer[] {
  if (process.platform !== "linux") return [];
  const [, ...lines] = readFileSync("/proc/net/tcp", "utf8").trim().split("\n");
  return lines.flatMap((line) => {
    const [, local = "", remote = "", state, , timer = ""] = line.trim().split(/\s+/);
    const [kind, ticks = "0"] = timer.split(":");
    return state === "01"
      ? [
          {
            localPort: portIn(local),
            remotePort: portIn(remote),
            isKeepAlive: kind === "02",
            seconds: Number.parseInt(ticks, 16) / 100,
          },
        ]
      : [];
  });
}

/** Resolves when all connections to or from a port are probed at least every 30 seconds. */
export async function probed(port: number, count: number): Promise<void> {
  if (process.platform !== "linux") return;
  const ours = () => tcpTimers().filter(({ localPort }) => localPort === port);
  const theirs = () => tcpTimers().filter(({ remotePort }) => remotePort === port);
  await eventually(
    () =>
      [ours(), theirs()].some(
        (timers) =>
          timers.length === count &&
          timers.every(({ isKeepAlive, seconds }) => isKeepAlive && seconds <= 30),
      ),
    { within: 5_000, every: 10, what: "probes of idle connections" },
  );
}

function portIn(address: string): number {
  return Number.parseInt(address.split(":")[1] ?? "", 16);
}
