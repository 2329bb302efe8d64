/* Starts a control plane, prints its directory and waits to be killed: the parent in the test of what is left behind. */
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { startControlPlane } from "../support/control-plane.ts";

const { directory } = await startControlPlane(await findOrBuildControlPlane(() => {}));
process.stdout.write(`${directory}\n`);
setInterval(() => {}, 60_000);
