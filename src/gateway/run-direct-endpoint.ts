import { ConfigError } from "../runtime/config-values.ts";
import type { DirectEndpointConfig } from "../runtime/direct-endpoint-config.ts";
import { readTextFile } from "../runtime/read-text-file.ts";
import type { ServerProcess } from "../runtime/shutdown.ts";
import { caCertificates } from "../tokens/ca-certificates.ts";
import { assembleDirectEndpoint } from "./assemble-direct.ts";
import { runFront } from "./run-front.ts";

/** Runs `latchkey direct-endpoint` until SIGTERM; throws a ConfigError for an unreadable CA file. */
export async function runDirectEndpoint(
  config: DirectEndpointConfig,
  process: ServerProcess,
): Promise<void> {
  const prefixes = { user: config.usernamePrefix, groups: config.groupsPrefix };
  const { certificateAuthority: file } = config;
  const issuerCa = file === undefined ? undefined : readCertificates(file);
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

function readCertificates(path: string): string {
  const option = "--certificate-authority";
  const certificates = caCertificates(readTextFile({ option, path }));
  if (certificates !== undefined) return certificates;
  throw new ConfigError(option, path, "must be a file of PEM certificates");
}
