import type { Client } from "../kube/client.ts";
import { serverVersion } from "../kube/server-version.ts";
import type { Clock } from "../runtime/clock.ts";
import type { TrustConfigOptions } from "../runtime/trust-config-options.ts";
import { printAuthenticationConfig } from "./authentication-config.ts";
import { printConnectedConfig } from "./connected-config.ts";
import { printTrustConfig } from "./trust-config.ts";
import { withClient } from "./with-client.ts";

/** Runs `latchkey trust-config`. */
export function runTrustConfig(
  options: TrustConfigOptions,
  { clock, print }: { readonly clock: Clock; readonly print: (text: string) => void },
): Promise<void> {
  const { authentication, authorization } = options;
  if (authentication && !authorization) {
    const get: Client["get"] = (resource, ref) =>
      withClient(options, { clock }, (client) => client.get(resource, ref));
    return printAuthenticationConfig(options, { client: { get }, print });
  }
  const printConfig = authentication ? printConnectedConfig : printTrustConfig;
  return withClient(options, { clock }, (client, transport) =>
    printConfig(options, { client, serverVersion: () => serverVersion(transport), print }),
  );
}
