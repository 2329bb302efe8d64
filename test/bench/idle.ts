import { setTimeout as pause } from "node:timers/promises";
import type { Row } from "./report.ts";
import { watchCollection } from "./watch-collection.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

/**
 * Requests and CPU of an idle controller, without the renewals of its Lease, which are counted by
 * their events.
 */
export async function idleRows(
  { admin }: BenchFixture,
  running: Running,
  seconds: number,
): Promise<readonly Row[]> {
  await running.readings.settled();
  let renewals = 0;
  const isKept = (): boolean => {
    renewals += 1;
    return false;
  };
  const leases = await watchCollection(
    admin,
    "/apis/coordination.k8s.io/v1/namespaces/latchkey-system/leases",
    { isKept },
  );
  const end = await running.readings.begin();
  const before = renewals;
  await pause(seconds * 1000);
  const usage = await end();
  const renewed = renewals - before;
  leases.stop();
  const { GET = 0, POST = 0, PUT = 0, PATCH = 0, DELETE = 0 } = usage.requests;
  // The last renewal may have got its response before its event arrived.
  const writes = Math.max(0, POST + PUT + PATCH + DELETE - renewed - 1);
  const cpu = (usage.cpuSeconds / seconds) * 100;
  return [
    {
      name: `idle for ${seconds} s: writes`,
      measured: writes,
      unit: "writes",
      wanted: "0",
      met: writes === 0,
      usage,
      note: `${renewed} renewals of the Lease, ${GET} GETs`,
    },
    { name: "idle: CPU", measured: cpu, unit: "%", wanted: "< 1 %", met: cpu < 1 },
  ];
}
