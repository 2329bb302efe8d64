import { resources } from "../../../api/resources.ts";
import type { Action } from "../cli.ts";
import { findObjects } from "../objects/find-objects.ts";
import { printObjects } from "../objects/print-objects.ts";

/** `kubectl latchkey list`. */
export const listSharedSecrets: Action<"list"> = async ({ flags }, cli) => {
  const cluster = await cli.connect(flags);
  const deps = { cluster, terminal: cli.terminal };
  const resource = resources.sharedSecrets;
  const namespace = flags.allNamespaces ? undefined : cluster.choice.namespace;
  const found = await findObjects({ resource, namespace }, deps);
  await printObjects(
    { resource, found },
    { output: flags.output, withNamespace: flags.allNamespaces },
    deps,
  );
};
