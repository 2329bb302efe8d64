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
  version,
} from "@stricli/core";
import { UsageError } from "../runtime/config-values.ts";
import { flagOf } from "../runtime/options.ts";
import { checkArguments, type Command, type CommandOptions, type GivenWords } from "./command.ts";
import { commandHelp, type HelpForm } from "./help.ts";
import { usageTextFor } from "./usage-text.ts";
import { hoisted, separated, splitAtProgram } from "./words.ts";

/** A program: its commands, how it describes them, and how it runs one. */
export interface Program {
  readonly commands: readonly Command[];
  readonly helpForm: HelpForm;
  /** The help of the program, or of a group of commands such as `keys`. */
  readonly overview: (group: string) => string;
  /** What `--version` prints; without it there is no such option. */
  readonly version?: string;
  /** Whether a switch takes a value, as `--direct=false` does, to overrule its variable. */
  readonly switchesTakeValue: boolean;
  /** The sentence for an error. */
  readonly sentenceOf: (error: unknown) => string;
  /** The exit code for an error; the command is undefined before it is found. */
  readonly exitCodeOf: (error: unknown, command: Command | undefined) => number;
  /** Runs a command and returns its exit code; what it throws has a sentence and a code. */
  readonly act: (command: Command, given: GivenWords) => Promise<number>;
}

/** The standard streams that a command line writes to. */
type OutputStreams = Pick<StricliProcess, "stdout" | "stderr">;

/** Runs a command line, such as `["keys", "list"]`, and returns the exit code. */
export async function runCommandLine(
  argv: readonly string[],
  program: Program,
  { stdout, stderr }: OutputStreams,
): Promise<number> {
  const { commands, helpForm, exitCodeOf } = program;
  const isVersion = argv[0] === "--version" && commands.some(({ name }) => name === "version");
  const split = splitAtProgram(isVersion ? ["version", ...argv.slice(1)] : argv, program);
  const vocabulary = { commands, connection: helpForm.connection };
  const words = hoisted(separated(split.own, vocabulary), vocabulary);
  const command = commands.find(({ name }) => name === words[0]);
  const usageCode = exitCodeOf(new UsageError(""), command);
  const inherited = inheritedOption(words);
  if (inherited !== undefined) {
    const texts = usageTextFor(helpForm.program, program.sentenceOf);
    const unknown = { input: inherited, corrections: [], ansiColor: false };
    stderr.write(`${texts.noCommandRegisteredForInput(unknown)}\n`);
    return usageCode;
  }
  const process: StricliProcess = { stdout, stderr };
  const application = applicationOf(program, split.program, (error) => exitCodeOf(error, command));
  await run(application, inputsOf(words), { process });
  if (argv.length === 0) return usageCode;
  const code = Number(process.exitCode);
  if (code === ExitCode.InvalidArgument || code === ExitCode.UnknownCommand) return usageCode;
  return code < 0 ? exitCodeOf(new Error(""), undefined) : code;
}

/**
 * An option before the command that has the name of a property of every object: the library looks
 * up these options in an object with a prototype, and fails on names such as `constructor`.
 */
function inheritedOption([first = ""]: readonly string[]): string | undefined {
  return first.startsWith("--") && first.slice(2) in Object.prototype ? first : undefined;
}

function applicationOf(
  program: Program,
  afterDashes: readonly string[],
  determineExitCode: (error: unknown) => number,
): Application<CommandContext> {
  const formatting = {
    useAliasInUsageLine: false,
    onlyRequiredInUsageLine: true,
    caseStyle: "original",
  } as const;
  const { helpForm, sentenceOf, version: currentVersion } = program;
  return buildApplication(
    { ...routesOf(program, afterDashes, ""), formatHelp: () => program.overview("") },
    {
      name: helpForm.program,
      localization: { text: usageTextFor(helpForm.program, sentenceOf) },
      documentation: { disableAnsiColor: true },
      determineExitCode,
    },
    {
      help: help({ brief: "print this help", defaultForRouteMap: true, formatting }),
      ...(currentVersion === undefined
        ? {}
        : {
            version: version({
              brief: "print the version",
              alias: false,
              info: { currentVersion },
            }),
          }),
    },
  );
}

/** The commands of the program, or of a group. */
function routesOf(
  program: Program,
  afterDashes: readonly string[],
  group: string,
): RouteMap<CommandContext> {
  const prefix = group === "" ? "" : `${group} `;
  const inside = program.commands.filter(({ name }) => name.startsWith(prefix));
  const names = new Set(inside.map(({ name }) => name.slice(prefix.length).split(" ")[0] ?? ""));
  const routes = [...names].map((name) => {
    const command = inside.find((candidate) => candidate.name === `${prefix}${name}`);
    const target =
      command === undefined
        ? { ...routesOf(program, afterDashes, name), formatHelp: () => program.overview(name) }
        : commandOf(command, program, afterDashes);
    return [name, target] as const;
  });
  return buildRouteMap({
    routes: withoutPrototype(Object.fromEntries(routes)),
    docs: { brief: "Latchkey" },
  });
}

/** The values of each option, in the order of the command line. */
type Texts = Readonly<Record<string, readonly string[] | boolean | undefined>>;

function commandOf(
  command: Command,
  program: Program,
  afterDashes: readonly string[],
): BuiltCommand<CommandContext> {
  const { helpForm, switchesTakeValue, act } = program;
  const options = optionsOf(command, helpForm.connection);
  const aliases = Object.entries(options).flatMap(([name, { alias }]) =>
    alias === undefined ? [] : [[alias, flagOf(name)] as const],
  );
  const parameter = { brief: "argument", parse: (text: string) => text };
  const built = buildCommand<Texts, readonly string[]>({
    docs: { brief: command.brief },
    parameters: {
      flags: flagParameters(options, switchesTakeValue),
      aliases: Object.fromEntries(aliases),
      positional:
        command.arguments === undefined
          ? { kind: "array", parameter, maximum: 0 }
          : { kind: "array", parameter },
    },
    func: async function (this: CommandContext & { process: StricliProcess }, texts, ...args) {
      const given = { options: givenOptions(texts), args, program: afterDashes };
      checkArguments(command, given, helpForm.program);
      this.process.exitCode = await act(command, given);
    },
  });
  return { ...built, formatHelp: () => commandHelp(command, helpForm) };
}

/** All options of a command: its own, and those of the connection. */
export function optionsOf(
  { options, connects }: Pick<Command, "options" | "connects">,
  connection: CommandOptions,
): CommandOptions {
  return connects === true ? { ...options, ...connection } : options;
}

/**
 * Options as texts, which the program parses like variables and defaults, with the same errors.
 * Each may be repeated, and the program decides what that means.
 */
function flagParameters(
  options: CommandOptions,
  switchesTakeValue: boolean,
): FlagParametersForType<Texts> {
  const parameters = Object.entries(options).map(([name, { help: brief, value }]) => {
    const isSwitch = value === "";
    const parse = (text: string): string => (isSwitch && text === "" ? "true" : text);
    return [
      flagOf(name),
      isSwitch && !switchesTakeValue
        ? { kind: "boolean", optional: true, withNegated: false, brief }
        : { kind: "parsed", optional: true, variadic: true, brief, parse, inferEmpty: isSwitch },
    ];
  });
  return withoutPrototype(Object.fromEntries(parameters));
}

function givenOptions(texts: Texts): GivenWords["options"] {
  return new Map(
    Object.entries(texts).flatMap(([name, value]) => {
      if (value === undefined || value === false) return [];
      return [[name, value === true ? ["true"] : value] as const];
    }),
  );
}

/**
 * `--name=` sets an empty string, and a value may have a newline, which the library would take for
 * an argument; `help` is `--help`.
 */
function inputsOf(argv: readonly string[]): readonly string[] {
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
