import { comparePolicies } from "../policies/guarding-policies.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { ProcessPart } from "../runtime/run-process.ts";

/** What {@link policyReport} needs. */
interface PolicyReportDeps {
  readonly client: Pick<Client, "get">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly metrics: Metrics;
}

const everyMs = 60_000;

/**
 * Says each minute in a metric, and in the log when it changes, which policies of the central
 * cluster are not those of Latchkey. Nothing else depends on it: who may change a policy is an
 * administrator, and an upgrade changes policies and processes one after the other.
 */
export function policyReport(
  namespace: string,
  { client, clock, log, metrics }: PolicyReportDeps,
): ProcessPart {
  const said = new Map<string, string>();
  const look = async (): Promise<void> => {
    for (const { policy, difference } of await comparePolicies(client, namespace)) {
      const { name } = policy;
      metrics.gauge("latchkey_policy_shipped", { policy: name }).set(difference ? 0 : 1);
      if (said.get(name) === difference) continue;
      if (difference === undefined) {
        said.delete(name);
        log.info({ object: name }, "policy is that of Latchkey again");
      } else {
        said.set(name, difference);
        log.warn({ object: name, why: difference }, "policy is not that of Latchkey");
      }
    }
  };
  return {
    async run(signal) {
      while (!signal.aborted) {
        await look().catch((error: unknown) => {
          // Nothing new is known while the API server does not answer.
          if (!isKubeError(error)) throw error;
        });
        await sleep(everyMs, { clock, signal });
      }
    },
  };
}
