import {
  type Application,
  buildApplication,
  buildCommand,
  buildRouteMap,
  type Command as BuiltCommand,
  type CommandContext,
  ExitCode,
  type FlagParametersForType,
  help,
  run,
  type RouteMap,
  type StricliProcess,
} from "@stricli/core";
import { UsageError } from "../../runtime/config-values.ts";
import { flagOf } from "../../runtime/options.ts";
import { usageTextFor } from "../usage-text.ts";
import { argumentsUsage, type Command } from "./command.ts";
import { connectionFlags } from "./connection/connection-flags.ts";
import { exitCodeOf, exitCodes, runExitCodes, sentenceOf } from "./failure.ts";
import type { FlagTable } from "./flag.ts";
import { commandHelp, overviewHelp, programName } from "./help.ts";
import { hoisted, separated, splitAtProgram } from "./words.ts";

/** The texts of a command line. */
export interface GivenWords {
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly args: readonly string[];
  readonly program: readonly string[];
}

/** Dependencies of {@link runCommandLine}. */
interface AppDeps extends Pick<StricliProcess, "stdout" | "stderr"> {
  readonly commands: readonly Command[];
  /** Runs a command and returns its exit code. */
  readonly act: (command: Command, given: GivenWords) => Promise<number>;
}

/**
 * Runs a command line, such as `["keys", "list"]`, and returns the exit code as in
 * {@link exitCodes}.
 */
export async function runCommandLine(argv: readonly string[], deps: AppDeps): Promise<number> {
  const { own, program } = splitAtProgram(argv);
  const words = hoisted(separated(own, deps.commands), deps.commands);
  const process: StricliProcess = { stdout: deps.stdout, stderr: deps.stderr };
  const isRun = words[0] === "run";
  const codeOf = isRun ? () => runExitCodes.failed : exitCodeOf;
  await run(applicationOf(deps, program, codeOf), wordsOf(words), { process });
  if (argv.length === 0) return exitCodes.usage.code;
  const code = Number(process.exitCode);
  const isUsage = code === ExitCode.InvalidArgument || code === ExitCode.UnknownCommand;
  if (!isUsage) return code < 0 ? exitCodes.failed.code : code;
  return isRun ? runExitCodes.failed : exitCodes.usage.code;
}

function applicationOf(
  deps: AppDeps,
  program: readonly string[],
  determineExitCode: (error: unknown) => number,
): Application<CommandContext> {
  const root = {
    ...routesOf(deps, program, ""),
    formatHelp: () => overviewHelp(deps.commands),
  };
  return buildApplication(
    root,
    {
      name: programName,
      localization: { text: usageTextFor(programName, sentenceOf) },
      documentation: { disableAnsiColor: true },
      determineExitCode,
    },
    {
      help: help({
        brief: "print this help",
        defaultForRouteMap: true,
        formatting: {
          useAliasInUsageLine: false,
          onlyRequiredInUsageLine: true,
          caseStyle: "original",
        },
      }),
    },
  );
}

/** The commands of the program, or of a group. */
function routesOf(
  deps: AppDeps,
  program: readonly string[],
  group: string,
): RouteMap<CommandContext> {
  const prefix = group === "" ? "" : `${group} `;
  const inside = deps.commands.filter(({ name }) => name.startsWith(prefix));
  const names = [
    ...new Set(inside.map(({ name }) => name.slice(prefix.length).split(" ")[0] ?? "")),
  ];
  const routes = names.map((name) => {
    const command = inside.find((candidate) => candidate.name === `${prefix}${name}`);
    const target =
      command === undefined
        ? { ...routesOf(deps, program, name), formatHelp: () => overviewHelp(deps.commands, name) }
        : commandOf(command, deps, program);
    return [name, target] as const;
  });
  return buildRouteMap({
    routes: withoutPrototype(Object.fromEntries(routes)),
    docs: { brief: "Latchkey" },
  });
}

type Texts = Readonly<Record<string, readonly string[] | boolean | undefined>>;

function commandOf(
  command: Command,
  { act }: AppDeps,
  program: readonly string[],
): BuiltCommand<CommandContext> {
  const flags = flagsOf(command);
  const built = buildCommand<Texts, readonly string[]>({
    docs: { brief: command.brief },
    parameters: {
      flags: flagParameters(flags),
      aliases: Object.fromEntries(
        Object.entries(flags).flatMap(([name, { alias }]) =>
          alias === undefined ? [] : [[alias, flagOf(name)]],
        ),
      ),
      positional: {
        kind: "array",
        parameter: { brief: "argument", parse: (text: string) => text },
      },
    },
    func: async function (this: CommandContext & { process: StricliProcess }, given, ...args) {
      checkArguments(command, args, program);
      const texts = Object.entries(given).flatMap(([name, value]) => {
        if (value === undefined || value === false) return [];
        return [[name, value === true ? ["true"] : value] as const];
      });
      const code = await act(command, { flags: new Map(texts), args, program });
      this.process.exitCode = code;
    },
  });
  return { ...built, formatHelp: () => commandHelp(command) };
}

/** All flags of a command: its own, and those of the connection. */
export function flagsOf({ flags, connects }: Pick<Command, "flags" | "connects">): FlagTable {
  return connects ? { ...flags, ...connectionFlags } : flags;
}

function flagParameters(flags: FlagTable): FlagParametersForType<Texts> {
  const parameters = Object.entries(flags).map(([name, { help: brief, value }]) => [
    flagOf(name),
    value === ""
      ? { kind: "boolean", optional: true, withNegated: false, brief }
      : {
          kind: "parsed",
          optional: true,
          variadic: true,
          brief,
          parse: (text: string): string => text,
        },
  ]);
  return withoutPrototype(Object.fromEntries(parameters));
}

function checkArguments(
  command: Command,
  args: readonly string[],
  program: readonly string[],
): void {
  const usage = `${programName} ${command.name} ${argumentsUsage(command)}`.trimEnd();
  const missing = command.arguments.filter(({ optional }) => optional !== true)[args.length];
  if (missing !== undefined)
    throw new UsageError(`argument ${missing.name} is missing; the usage is ${usage}`);
  const isEndless = command.arguments.some(({ many }) => many === true);
  if (!isEndless && args.length > command.arguments.length)
    throw new UsageError(
      `there are ${args.length} arguments, and at most ${command.arguments.length} are possible; the usage is ${usage}`,
    );
  const runsProgram = command.runsProgram === true;
  if (!runsProgram && program.length > 0)
    throw new UsageError(`nothing may follow after --; the usage is ${usage}`);
  if (runsProgram && program.length === 0)
    throw new UsageError(`a program is missing after --; the usage is ${usage}`);
}

/**
 * `--name=` sets an empty string, and a value may have a newline, which the library would take for
 * an argument; `help` is `--help`.
 */
function wordsOf(argv: readonly string[]): readonly string[] {
  const words = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
  return words.flatMap((word) => {
    const [, name, value] = /^(--[a-z-]+)=($|[^]*\n[^]*)/.exec(word) ?? [];
    return name === undefined || value === undefined ? [word] : [name, value];
  });
}

/** Removes the prototype of a table, so that `constructor` is not found in it. */
function withoutPrototype<Table extends object>(table: Table): Table {
  Object.setPrototypeOf(table, null);
  return table;
}
