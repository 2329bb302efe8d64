import { UsageError } from "../../runtime/config-values.ts";
import type { PlainValues } from "../../tokens/shared-values.ts";
import type { Terminal } from "../terminal.ts";
import { isVariableName, isVariableValue, type Variable } from "./values.ts";

/** Which values become variables, and under which names. */
export interface VariableFlags {
  /** Data keys that were named; empty for those of the other flags. */
  readonly only: readonly string[];
  /** Text before each data key, which is in upper case then. */
  readonly prefix: string | undefined;
  /** Whether the SharedSecret decides which variables there are. */
  readonly all: boolean;
}

const ways =
  "--only=KEY takes single data keys, --prefix=DB_ names each variable DB_ and the data key in " +
  "upper case, and --all takes the names as they are";

const chosenByOthers =
  "--all: who may write the SharedSecret chooses the names, also names such as PATH and " +
  "LD_PRELOAD, and so which code programs run";

/**
 * Throws a UsageError unless the flags say who chooses the names of variables: a user who may
 * change a SharedSecret could use some names against the user who runs a program with it.
 */
export function checkChoice({ only, prefix, all }: VariableFlags): void {
  if (only.length === 0 && prefix === undefined && !all)
    throw new UsageError(`name the variables: ${ways}`);
  if (all && (only.length > 0 || prefix !== undefined))
    throw new UsageError("--all cannot be combined with --only or --prefix");
}

/**
 * The variables of values; says what is left out, and who chose the names. Throws a UsageError for
 * a named value that cannot be one, for two with one name, and if none is left.
 */
export function selectedVariables(
  values: PlainValues,
  flags: VariableFlags,
  { say }: Pick<Terminal, "say">,
): readonly Variable[] {
  checkChoice(flags);
  const { only, prefix, all } = flags;
  const keys = new Map<string, string>();
  const unfit: string[] = [];
  const variables: Variable[] = [];
  for (const [key, bytes] of values) {
    const name = prefix === undefined ? key : prefix + key.toUpperCase().replaceAll(/[-.]/g, "_");
    const other = keys.get(name);
    if (other !== undefined)
      throw new UsageError(
        `the data keys ${other} and ${key} would both be ${name}; choose with --only`,
      );
    keys.set(name, key);
    if (isVariableName(name) && isVariableValue(bytes))
      variables.push([name, bytes.toString("utf8")]);
    else unfit.push(key);
  }
  if (unfit.length > 0) {
    const why =
      `${unfit.join(", ")}: a variable needs a name of letters, digits and _, ` +
      "which --prefix makes, and text without NUL bytes";
    if (only.length > 0) throw new UsageError(why);
    say(`left out ${why}`);
  }
  if (variables.length === 0) throw new UsageError("no value is left for a variable");
  if (all) say(chosenByOthers);
  return variables;
}
