import { performance } from "node:perf_hooks";
import { readingBounds } from "../../src/api/reading-bounds.ts";
import type { GatewayFront } from "../../src/gateway/admit-request.ts";
import { unauthorized } from "../../src/domain/gateway/refusal.ts";
import type { RequestHead } from "../../src/domain/gateway/request-head.ts";
import { gatewayRoutes } from "../../src/domain/gateway/request-target.ts";
import { median } from "../support/percentile.ts";
import { admitRequest } from "../support/admit-request.ts";
import { type Row, row } from "./report.ts";

const management = "/kubernetes/management";
const rounds = 200;

/** A target of the greatest length that repeats a text. */
function filled(begin: string, text: string): string {
  const times = Math.floor(
    (readingBounds.requestTarget.bytes - management.length - begin.length) / text.length,
  );
  return management + begin + text.repeat(times);
}

/** Heads that cost the most to read, each as large as the server takes it. */
export const heads: Readonly<Record<string, Partial<RequestHead>>> = {
  "an ordinary head": { target: `${management}/api/v1/namespaces/web/pods` },
  "a path of percent signs": { target: filled("/api/v1/", "%E2%82%AC") },
  "a path of steps": { target: filled("/api/v1", "/.a") },
  "a query of percent signs": { target: filled("/api/v1/pods?a=", "%61") },
  "a field selector": { target: filled("/api/v1/pods?fieldSelector=", "a%3Db%2C") },
  "a label selector": { target: filled("/api/v1/pods?labelSelector=", "a%3Db%2C") },
  "1,000 parameters": { target: filled("/api/v1/pods?", "a=%C3%BC%20bcdef&") },
  "a path below a proxy": { target: filled("/api/v1/nodes/a/proxy", "/..a") },
  "slashes below a proxy": { target: filled("/api/v1/nodes/a/proxy/", "/").slice(0, -1) + "a" },
  "sub-protocols": { rawHeaders: ["host", "a", "sec-websocket-protocol", "a,".repeat(15_000)] },
};

/** What reading a head costs before a credential is asked for, in milliseconds. */
export async function headRows(): Promise<readonly Row[]> {
  const deps: GatewayFront = {
    routes: gatewayRoutes,
    authenticator: { authenticate: () => Promise.resolve(unauthorized) },
    findUpstream: () => undefined,
  };
  const rows: Row[] = [];
  for (const [name, head] of Object.entries(heads)) {
    const whole: RequestHead = {
      method: "GET",
      httpVersion: "1.1",
      isUpgrade: false,
      peerAddress: "192.0.2.1",
      target: `${management}/api`,
      rawHeaders: ["host", "a", "authorization", "Bearer a"],
      ...head,
    };
    const taken: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const began = performance.now();
      await admitRequest(whole, deps);
      taken.push(performance.now() - began);
    }
    rows.push(row(`401 after ${name}`, [median(taken), "ms"], { goal: "< 1 ms" }));
  }
  return rows;
}
