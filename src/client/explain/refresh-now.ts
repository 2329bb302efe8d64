import { annotations } from "../../api/names.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { targetsText } from "../../domain/object-state.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { Action } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodes } from "../failure.ts";
import { doneText } from "../output.ts";
import { waitUntil } from "../progress.ts";

const resource = resources.sharedSecrets;

/** `kubectl latchkey refresh-now`. */
export const refreshNow: Action<"refreshNow"> = async ({ flags, args }, cli) => {
  const cluster = await cli.connect(flags);
  let code: number = exitCodes.done.code;
  for (const name of args) {
    // With milliseconds, because the same value requests nothing.
    const value = new Date(cli.clock.now()).toISOString();
    const body = { metadata: { annotations: { [annotations.refreshNow]: value } } };
    const ref = { namespace: cluster.choice.namespace, name };
    await cluster.patch(resource, ref, { body });
    const seen = await waitUntil(() => seenOf(value, ref, cluster), flags.timeout, cli);
    if (seen !== undefined) cli.terminal.print(doneText(resource, ref, seen));
    else {
      cli.terminal.say(
        `SharedSecret "${ref.namespace}/${name}": the refresh was requested, and the controller ` +
          `has not finished it after ${flags.timeout / 1000} s; run kubectl latchkey check`,
      );
      code = exitCodes.unhealthy.code;
    }
  }
  return code;
};

/** What was done once the status says that every copy was read for this value; undefined before. */
async function seenOf(
  value: string,
  ref: { readonly namespace: string; readonly name: string },
  cluster: Cluster,
): Promise<string | undefined> {
  try {
    const status = recordAt(await cluster.get(resource, ref), "status");
    if (stringAt(recordAt(status, "sync"), "refreshed") !== value) return undefined;
    return `refreshed: ${targetsText(status)}`;
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    return "refresh requested; you may not read whether the controller has finished it";
  }
}
