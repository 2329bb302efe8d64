import { serverVersion } from "../kube/server-version.ts";
import type { Clock } from "../runtime/clock.ts";
import type { TrustConfigOptions } from "../runtime/trust-config-options.ts";
import { printTrustConfig } from "./trust-config.ts";
import { withClient } from "./with-client.ts";

/** Runs `latchkey trust-config`. */
export function runTrustConfig(
  options: TrustConfigOptions,
  { clock, print }: { readonly clock: Clock; readonly print: (text: string) => void },
): Promise<void> {
  return withClient(options, { clock }, (client, transport) =>
    printTrustConfig(options, { client, serverVersion: () => serverVersion(transport), print }),
  );
}
