import type { ServerProcess } from "../runtime/run-process.ts";
import type { ClusterAgentConfig } from "./cluster-agent-options.ts";

/** Runs `latchkey cluster-agent` until SIGTERM, or exits with 1 if the Lease is lost. */
export async function runClusterAgent(
  _config: ClusterAgentConfig,
  _process: ServerProcess,
): Promise<void> {}
