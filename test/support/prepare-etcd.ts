/*
 * Starts a control plane, installs Latchkey's CRDs, RBAC and policies, stops it, and leaves the data
 * of its etcd in the directory of the argument, as `etcd`.
 */
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findOrBuildControlPlane } from "./binaries.ts";
import { startControlPlane } from "./control-plane.ts";
import { applyLatchkey, policiesCount } from "./install.ts";

const report = (line: string) => void process.stdout.write(`${line}\n`);
const [draft = ""] = process.argv.slice(2);
const directory = join(draft, "control-plane");
mkdirSync(directory, { recursive: true });
const controlPlane = await startControlPlane(await findOrBuildControlPlane(report), { directory });
try {
  report("installing Latchkey");
  await applyLatchkey(controlPlane, report);
  report("waiting until the policies are 10 s old");
  await policiesCount(controlPlane);
} finally {
  await controlPlane.stop();
}
renameSync(join(directory, "etcd"), join(draft, "etcd"));
rmSync(directory, { recursive: true });
