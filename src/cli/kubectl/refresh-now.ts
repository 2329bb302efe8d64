import { annotations } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { timestamp } from "../../domain/plan/conditions.ts";
import type { Action } from "./cli.ts";
import type { commands } from "./command-table.ts";

/** `kubectl latchkey refresh-now`. */
export const refreshNow: Action<typeof commands.refreshNow.flags> = async (
  { flags, args },
  cli,
) => {
  const cluster = await cli.connect(flags);
  const { namespace } = cluster.choice;
  for (const name of args) {
    const body = {
      metadata: { annotations: { [annotations.refreshNow]: timestamp(cli.clock.now()) } },
    };
    await cluster.patch(resources.sharedSecrets, { namespace, name }, { body });
    cli.terminal.say(`SharedSecret "${namespace}/${name}" is reconciled with its copies`);
  }
};
