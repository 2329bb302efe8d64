import { checkVirtualClusterNamespace } from "../authn/token-options.ts";
import {
  checkClusterAgentConfig,
  clusterAgentOptions,
} from "../controllers/cluster-agent-options.ts";
import { checkControllerConfig, controllerOptions } from "../controllers/controller-options.ts";
import { directEndpointOptions } from "../gateway/direct-endpoint-options.ts";
import { gatewayOptions } from "../gateway/gateway-options.ts";
import { latchkeyVersion } from "../runtime/latchkey-version.ts";
import {
  type ConfigOf,
  type Environment,
  type OptionTable,
  parseConfig,
} from "../runtime/options.ts";
import { checkWebhookConfig, webhookOptions } from "../webhooks/webhook-options.ts";
import type { Command, GivenWords } from "./command.ts";
import type { Program } from "./command-line.ts";
import { type HelpForm, section } from "./help.ts";
import { isUsageError, sentenceOrStack } from "./usage-text.ts";

/** Exit code for an invalid command line or configuration. */
export const usageExitCode = 2;

/** The commands and their options, as the help and the documentation show them. */
export const serverCommands = {
  controller: {
    name: "controller",
    brief: "Reconcile SharedSecrets, OwnedAccessKeys and DirectClusterEndpointTokens",
    options: controllerOptions,
  },
  webhook: {
    name: "webhook",
    brief: "Authenticate access keys, enforce their scopes and admit objects for kube-apiserver",
    options: webhookOptions,
  },
  gateway: {
    name: "gateway",
    brief:
      "Serve the API server to clients with access keys, for clusters where you cannot set API " +
      "server flags",
    options: gatewayOptions,
  },
  directEndpoint: {
    name: "direct-endpoint",
    brief:
      "Serve the API server of a connected cluster to clients with direct tokens, " +
      "where you cannot set API server flags",
    options: directEndpointOptions,
  },
  clusterAgent: {
    name: "cluster-agent",
    brief: "Copy the SharedSecrets of the central cluster into namespaces of a connected cluster",
    options: clusterAgentOptions,
  },
} as const satisfies Readonly<Record<string, Command>>;

/** The action of each command; it rejects to exit with a code other than 0. */
export type CommandActions = {
  readonly [Name in keyof typeof serverCommands]: (
    config: ConfigOf<(typeof serverCommands)[Name]["options"]>,
  ) => Promise<void>;
};

/** The form of `latchkey <command> --help`. */
export const serverHelpForm: HelpForm = {
  program: "latchkey",
  width: { line: Infinity, left: Infinity },
  hasVariables: true,
  connection: {},
  notes: [
    "",
    "Durations: 90, 30s, 15m, 1h, 7d; a number alone is seconds.",
    "Each option is also an environment variable, in brackets; the option takes precedence.",
  ],
};

/** The program `latchkey`, whose options are also environment variables. */
export function serverProgram(actions: CommandActions, env: Environment): Program {
  const starts = new Map([
    starting(serverCommands.controller, actions.controller, checkControllerConfig),
    starting(serverCommands.webhook, actions.webhook, checkWebhookConfig),
    starting(serverCommands.gateway, actions.gateway),
    starting(serverCommands.directEndpoint, actions.directEndpoint, checkVirtualClusterNamespace),
    starting(serverCommands.clusterAgent, actions.clusterAgent, checkClusterAgentConfig),
  ]);
  return {
    commands: Object.values(serverCommands),
    helpForm: serverHelpForm,
    overview: () => serverOverview(Object.values(serverCommands)),
    version: latchkeyVersion,
    switchesTakeValue: true,
    sentenceOf: sentenceOrStack,
    exitCodeOf: (error) => (isUsageError(error) ? usageExitCode : 1),
    async act({ name }, { options }) {
      await starts.get(name)?.(options, env);
      return 0;
    },
  };
}

/** A command by its name: parses its configuration, checks it, and runs the action. */
function starting<Table extends OptionTable>(
  { name, options: table }: { readonly name: string; readonly options: Table },
  action: (config: ConfigOf<Table>) => Promise<void>,
  check: (config: ConfigOf<Table>) => void = () => {},
) {
  const start = async (given: GivenWords["options"], env: Environment): Promise<void> => {
    // The last value applies, as in kubectl: a patched Deployment appends to the arguments.
    const last = [...given].map(([flag, texts]) => [flag, texts.at(-1) ?? ""] as const);
    const config = parseConfig(table, { flags: new Map(last), env });
    check(config);
    await action(config);
  };
  return [name, start] as const;
}

/** The output of `latchkey --help`. */
export function serverOverview(listed: readonly Command[]): string {
  const width = Math.max(...listed.map(({ name }) => name.length));
  const options = [
    ["-h, --help".padEnd(width), "print this help, or the help of a command after its name"],
    ["--version", "print the version"],
  ] as const;
  return [
    "Usage: latchkey <command> [options]",
    ...section(
      "Commands:",
      listed.map(({ name, brief }) => [name, brief] as const),
      serverHelpForm,
    ),
    ...section("Options:", options, serverHelpForm),
    "",
  ].join("\n");
}
