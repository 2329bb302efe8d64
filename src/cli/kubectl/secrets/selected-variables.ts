import type { Environment } from "../../../runtime/options.ts";
import type { PlainValues } from "../../../tokens/shared-values.ts";
import { isDangerousVariable } from "./dangerous-variables.ts";
import { isVariableName, isVariableValue, type Variable } from "./values.ts";

/** Which values become variables. */
export interface VariableFlags {
  /** Data keys that were named; empty for all. */
  readonly only: readonly string[];
  /** Text before each data key. */
  readonly prefix: string | undefined;
}

/** The variables, and a sentence for each reason why values are left out. */
interface SelectedVariables {
  readonly variables: readonly Variable[];
  readonly leftOut: readonly string[];
}

/** Why a value is no variable; all but the first can be overruled with `--only`. */
const reasons = {
  impossible: "a variable needs a name of letters, digits and _, and text without NUL bytes",
  dangerous: "such a variable can make programs run other code or trust other servers",
  taken: "your environment has a variable of this name",
  unusual: "without --only and --prefix, a name must be upper case, such as DB_PASSWORD",
} as const;

type Reason = keyof typeof reasons;

/**
 * Selects the variables of a program. Who may change a SharedSecret could use some variables against
 * the user who runs a program with it, so they have to be named.
 */
export function selectedVariables(
  values: PlainValues,
  flags: VariableFlags,
  env: Environment,
): SelectedVariables {
  const { prefix = "" } = flags;
  const candidates = [...values].map(([key, bytes]) => {
    const name = prefix + key;
    const fits = isVariableName(name) && isVariableValue(bytes);
    return { key, name, bytes, reason: fits ? reasonAgainst(name, flags, env) : "impossible" };
  });
  const taken = candidates.filter(({ reason }) => reason === undefined);
  const leftOut = Object.entries(reasons).flatMap(([reason, why]) => {
    const found = candidates.filter((one) => one.reason === reason);
    if (found.length === 0) return [];
    const names = found.map(({ name }) => name).join(", ");
    const advice = reason === "impossible" ? "" : `; to take it, set ${onlyFlags(found)}`;
    return [`left out ${names}: ${why}${advice}`];
  });
  const isAdvised = candidates.some(({ reason = "impossible" }) => reason !== "impossible");
  const others = `--only takes nothing else; what is taken now is ${onlyFlags(taken)}`;
  return {
    variables: taken.map(({ name, bytes }) => [name, bytes.toString("utf8")]),
    leftOut: isAdvised && taken.length > 0 ? [...leftOut, others] : leftOut,
  };
}

/** Data keys have no character that a shell would read (crds/sharedsecrets.yaml). */
function onlyFlags(found: readonly { readonly key: string }[]): string {
  return found.map(({ key }) => `--only=${key}`).join(" ");
}

function reasonAgainst(
  name: string,
  { only, prefix }: VariableFlags,
  env: Environment,
): Reason | undefined {
  if (only.length > 0) return undefined;
  if (isDangerousVariable(name)) return "dangerous";
  if (prefix !== undefined) return undefined;
  if (Object.hasOwn(env, name)) return "taken";
  return /^[A-Z][A-Z0-9_]*$/.test(name) ? undefined : "unusual";
}
