import { cliFieldManager } from "../../api/names.ts";
import { type Client, createClient } from "../../kube/client/client.ts";
import { printAuthenticationConfig } from "./authentication-config.ts";
import { rotateSigningKey } from "./rotate-signing-key.ts";
import { checkTrustConfigOptions } from "./trust-config-options.ts";
import { printConnectedConfig, printTrustConfig } from "./trust-config.ts";
import type { Action } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";

/** `kubectl latchkey trust-config`: the command of the program, with this connection. */
export const trustConfig: Action<"trustConfig"> = async ({ flags }, cli) => {
  const options = { ...flags, namespace: flags.latchkeyNamespace };
  checkTrustConfigOptions(options);
  const { print } = cli.terminal;
  if (options.authentication && !options.authorization) {
    // A CA in a file needs no connection.
    const get: Client["get"] = async (resource, ref) =>
      clientOf(await cli.connect(flags)).get(resource, ref);
    return printAuthenticationConfig(options, { client: { get }, print });
  }
  const client = clientOf(await cli.connect(flags));
  const printConfig = options.authentication ? printConnectedConfig : printTrustConfig;
  return printConfig(options, { client, print });
};

/** `kubectl latchkey rotate-signing-key`. */
export const rotateKeyOfIssuer: Action<"rotateSigningKey"> = async ({ flags }, cli) => {
  const { newEpoch, latchkeyNamespace: namespace } = flags;
  const client = clientOf(await cli.connect(flags));
  const { clock } = cli;
  await rotateSigningKey({ namespace, newEpoch }, { client, clock, print: cli.terminal.print });
};

function clientOf({ transport }: Cluster): Client {
  return createClient(transport, cliFieldManager);
}
