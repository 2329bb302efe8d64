import type { ServerProcess } from "../runtime/shutdown.ts";
import { assembleGateway } from "./assemble.ts";
import type { GatewayConfig } from "./gateway-options.ts";
import { runFront } from "./run-front.ts";

/** Runs `latchkey gateway` until SIGTERM. */
export function runGateway(config: GatewayConfig, process: ServerProcess): Promise<void> {
  const prefixes = { user: config.userPrefix, team: config.teamPrefix };
  return runFront(
    config,
    {
      name: "gateway",
      address: config.gatewayAddress,
      assemble: (deps) => assembleGateway({ ...config, prefixes }, deps),
    },
    process,
  );
}
