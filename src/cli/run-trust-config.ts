import type { Client } from "../kube/client.ts";
import { serverVersion } from "../kube/server-version.ts";
import type { Clock } from "../runtime/clock.ts";
import type { TrustConfigOptions } from "../runtime/trust-config-options.ts";
import { printAuthenticationConfig } from "./authentication-config.ts";
import { printTrustConfig } from "./trust-config.ts";
import { withClient } from "./with-client.ts";

/** Runs `latchkey trust-config`. */
export function runTrustConfig(
  options: TrustConfigOptions,
  { clock, print }: { readonly clock: Clock; readonly print: (text: string) => void },
): Promise<void> {
  if (options.authentication) {
    const get: Client["get"] = (resource, ref) =>
      withClient(options, { clock }, (client) => client.get(resource, ref));
    return printAuthenticationConfig(options, { client: { get }, print });
  }
  return withClient(options, { clock }, (client, transport) =>
    printTrustConfig(options, { client, serverVersion: () => serverVersion(transport), print }),
  );
}
