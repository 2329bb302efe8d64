import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ownObjects } from "../../src/api/names.ts";
import type { Bench, Running } from "./bench-fixture.ts";
import { secretCa } from "./gateway-ways.ts";
import { row } from "./report.ts";

/** Long enough that what the start needed is garbage, whether or not it was collected. */
const restMs = 5_000;

/** The memory of each process after its start, in a cluster with hardly any objects. */
export async function resident({ fixture, report }: Bench): Promise<void> {
  const controller = await fixture.start();
  await controller.ready();
  const authority = join(fixture.controlPlane.directory, "resident-issuer-ca.crt");
  writeFileSync(authority, await secretCa(fixture, ownObjects.issuerCertificates));
  const started: Readonly<Record<string, () => Promise<Running>>> = {
    webhook: () => fixture.startWebhook(),
    gateway: () => fixture.startGateway(),
    "direct endpoint": () =>
      fixture.startDirectEndpoint([
        "--cluster-name=bench",
        `--jwks-url=${controller.issuerUrl}/openid/v1/jwks`,
        `--certificate-authority=${authority}`,
      ]),
  };
  const read = async (name: string, { readings }: Running): Promise<void> => {
    await pause(restMs);
    const { residentMB, cpuSeconds } = await readings.read();
    const note = `${(cpuSeconds * 1000).toFixed(0)} ms of processor time so far`;
    report([row(`memory of the ${name} at rest, resident`, [residentMB, "MB"], { note })]);
  };
  await read("controller", controller);
  for (const [name, start] of Object.entries(started)) {
    const running = await start();
    await read(name, running);
    await running.stop();
  }
  await controller.stop();
}
