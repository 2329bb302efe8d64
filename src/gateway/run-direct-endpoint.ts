import { readIssuerAuthority } from "../published/follow-issuer.ts";
import type { ServerProcess } from "../runtime/shutdown.ts";
import { assembleDirectEndpoint } from "./assemble-direct.ts";
import type { DirectEndpointConfig } from "./direct-endpoint-options.ts";
import { runFront } from "./run-front.ts";

/** Runs `latchkey direct-endpoint` until SIGTERM; throws a ConfigError for an unreadable CA file. */
export async function runDirectEndpoint(
  config: DirectEndpointConfig,
  process: ServerProcess,
): Promise<void> {
  const prefixes = { user: config.usernamePrefix, groups: config.groupsPrefix };
  const issuerCa = readIssuerAuthority(config.certificateAuthority);
  await runFront(
    config,
    {
      name: "direct endpoint",
      address: config.endpointAddress,
      assemble: (deps) => assembleDirectEndpoint({ ...config, prefixes, issuerCa }, deps),
    },
    process,
  );
}
