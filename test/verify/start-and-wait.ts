/*
 * Starts a control plane, prints its directory and waits to be killed: the parent process in the
 * test of cleanup after a kill.
 */
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { startControlPlane } from "../support/control-plane.ts";

const { directory } = await startControlPlane(await findOrBuildControlPlane(() => {}));
process.stdout.write(`${directory}\n`);
setInterval(() => {}, 60_000);
