import {
  type Application,
  buildApplication,
  buildCommand,
  buildRouteMap,
  type Command,
  type CommandContext,
  ExitCode,
  type FlagParametersForType,
  help,
  run,
  type StricliProcess,
  version,
} from "@stricli/core";
import { checkControllerConfig, controllerOptions } from "../controllers/controller-options.ts";
import { directEndpointOptions } from "../gateway/direct-endpoint-options.ts";
import { gatewayOptions } from "../gateway/gateway-options.ts";
import {
  type ConfigOf,
  type Environment,
  flagOf,
  type OptionSources,
  type OptionTable,
  parseConfig,
} from "../runtime/options.ts";
import { checkWebhookConfig, webhookOptions } from "../webhooks/webhook-options.ts";
import { commandHelp, type DocumentedCommand, overviewHelp } from "./command-help.ts";
import { latchkeyVersion } from "../runtime/latchkey-version.ts";
import { isUsageError, usageText } from "./usage-text.ts";

/** Exit code for an invalid command line or configuration. */
export const usageExitCode = 2;

/** The commands and their options, as the help and the documentation show them. */
export const commands = {
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
      "Serve the API server to clients with access keys, for clusters where you cannot set API server flags",
    options: gatewayOptions,
  },
  directEndpoint: {
    name: "direct-endpoint",
    brief:
      "Serve the API server of a connected cluster to clients with direct tokens, where you cannot set API server flags",
    options: directEndpointOptions,
  },
} as const satisfies Readonly<Record<string, DocumentedCommand>>;

/** The action of each command; it rejects to exit with a code other than 0. */
export type CommandActions = {
  readonly [Name in keyof typeof commands]: (
    config: ConfigOf<(typeof commands)[Name]["options"]>,
  ) => Promise<void>;
};

/** Dependencies of {@link runCommandLine}. */
interface CommandLineDeps extends Pick<StricliProcess, "stdout" | "stderr"> {
  readonly env: Environment;
  readonly actions: CommandActions;
}

/**
 * Runs a command line, such as `["controller", "--workers=4"]`, and returns the exit code: 0 on
 * success, 1 on failure, 2 if the command line or the configuration is invalid.
 */
export async function runCommandLine(
  argv: readonly string[],
  deps: CommandLineDeps,
): Promise<number> {
  const [first = ""] = argv;
  // @stricli/core looks up root options in an object with a prototype, and fails on names such as
  // `constructor`.
  if (first.startsWith("--") && first.slice(2) in Object.prototype) {
    const sentence = usageText.noCommandRegisteredForInput({
      input: first,
      corrections: [],
      ansiColor: false,
    });
    deps.stderr.write(`${sentence}\n`);
    return usageExitCode;
  }
  const process: StricliProcess = { stdout: deps.stdout, stderr: deps.stderr };
  await run(applicationOf(deps), inputsOf(argv), { process });
  return argv.length === 0 ? usageExitCode : exitCodeOf(Number(process.exitCode));
}

function applicationOf({ env, actions }: CommandLineDeps): Application<CommandContext> {
  const routes = withoutPrototype({
    [commands.controller.name]: commandOf(commands.controller, async (sources) => {
      const config = parseConfig(controllerOptions, { ...sources, env });
      checkControllerConfig(config);
      await actions.controller(config);
    }),
    [commands.webhook.name]: commandOf(commands.webhook, async (sources) => {
      const config = parseConfig(webhookOptions, { ...sources, env });
      checkWebhookConfig(config);
      await actions.webhook(config);
    }),
    [commands.gateway.name]: commandOf(commands.gateway, async (sources) => {
      await actions.gateway(parseConfig(gatewayOptions, { ...sources, env }));
    }),
    [commands.directEndpoint.name]: commandOf(commands.directEndpoint, async (sources) => {
      await actions.directEndpoint(parseConfig(directEndpointOptions, { ...sources, env }));
    }),
  });
  const root = {
    ...buildRouteMap({ routes, docs: { brief: "Latchkey" } }),
    formatHelp: () => overviewHelp(Object.values(commands)),
  };
  const formatting = {
    useAliasInUsageLine: false,
    onlyRequiredInUsageLine: true,
    caseStyle: "original",
  } as const;
  return buildApplication(
    root,
    {
      name: "latchkey",
      localization: { text: usageText },
      documentation: { disableAnsiColor: true },
      determineExitCode: (error) => (isUsageError(error) ? usageExitCode : 1),
    },
    {
      help: help({ brief: "print this help", defaultForRouteMap: true, formatting }),
      version: version({
        brief: "print the version",
        alias: false,
        info: { currentVersion: latchkeyVersion },
      }),
    },
  );
}

/** The values of each flag, in the order of the command line. */
type TextFlags = Readonly<Record<string, readonly string[] | undefined>>;

function commandOf(
  command: DocumentedCommand,
  action: (sources: Pick<OptionSources, "flags">) => Promise<void>,
): Command<CommandContext> {
  const built = buildCommand<TextFlags>({
    docs: { brief: command.brief },
    parameters: { flags: textFlags(command.options) },
    func: async (flags) => {
      // The last value applies, as in kubectl: a patched Deployment appends to the arguments.
      const last = Object.entries(flags).flatMap(([flag, texts]) =>
        (texts ?? []).slice(-1).map((text) => [flag, text] as const),
      );
      await action({ flags: new Map(last) });
    },
  });
  return { ...built, formatHelp: () => commandHelp(command) };
}

/** Flags as strings: parseConfig parses them like variables and defaults, with the same errors. */
function textFlags(options: OptionTable): FlagParametersForType<TextFlags> {
  const flags = Object.entries(options).map(([name, { help: brief, value }]) => {
    const isSwitch = value === "";
    const parse = (text: string): string => (isSwitch && text === "" ? "true" : text);
    const shape = { kind: "parsed", optional: true, variadic: true } as const;
    return [flagOf(name), { ...shape, brief, parse, inferEmpty: isSwitch }] as const;
  });
  return withoutPrototype(Object.fromEntries(flags));
}

/**
 * Converts arguments to what @stricli/core expects: `--name=` sets an empty string, and `help` is
 * `--help`.
 */
function inputsOf(argv: readonly string[]): readonly string[] {
  const inputs = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
  return inputs.flatMap((input) =>
    /^--[a-z-]+=$/.test(input) ? [input.slice(0, -1), ""] : [input],
  );
}

function exitCodeOf(code: number): number {
  const isUsage = code === ExitCode.InvalidArgument || code === ExitCode.UnknownCommand;
  if (isUsage) return usageExitCode;
  return code < 0 ? 1 : code;
}

/** Removes the prototype of a table, so that `constructor` is not found in it. */
function withoutPrototype<Table extends object>(table: Table): Table {
  Object.setPrototypeOf(table, null);
  return table;
}
