import { keyOf } from "../../api/object.ts";
import { UsageError } from "../../runtime/config-values.ts";
import type { PlainValues } from "../../tokens/shared-values.ts";
import type { Action, Flags } from "../cli.ts";
import { jsonText, printValue, yamlText } from "../output.ts";
import { writePrivateFiles } from "../private-files.ts";
import type { Terminal } from "../terminal.ts";
import { findValues, namedValues, readValues } from "./read-secret.ts";
import type { ValueFormat } from "./secret-commands.ts";
import { selectedVariables, type VariableFlags } from "./selected-variables.ts";
import { dotenvText, isReadInDifferentWays, shellText, valuesObject } from "./values.ts";

/** `kubectl latchkey get`. */
export const getValues: Action<"get"> = async ({ flags, args }, cli) => {
  const { terminal } = cli;
  const [word = "", given] = args;
  checkFlags(flags, given);
  const cluster = await cli.connect(flags);
  const found =
    given === undefined
      ? await findValues(cluster, word)
      : { name: word, values: await readValues(cluster, word), key: given };
  const { key } = found;
  const name = keyOf({ namespace: cluster.choice.namespace, name: found.name });
  const only = key === undefined ? flags.only : [key];
  const values = namedValues(found.values, name, only);
  const { output = "value", outputDirectory, prefix, all } = flags;
  if (outputDirectory !== undefined) {
    writePrivateFiles(outputDirectory, values, "--output-directory");
    return terminal.say(`wrote ${values.size} files to ${outputDirectory}`);
  }
  if (output === "value") return printValue(singleOf(name, values), terminal);
  printValue(valuesText(values, output, { only, prefix, all }, terminal), terminal);
};

function checkFlags({ all, only, output, prefix }: Flags<"get">, key: string | undefined): void {
  if (key !== undefined && all) throw new UsageError("--all cannot be combined with a data key");
  if (only.length > 0 && (all || key !== undefined))
    throw new UsageError("--only cannot be combined with a data key or --all");
  if (prefix !== undefined && output !== "shell" && output !== "dotenv")
    throw new UsageError("--prefix is for --output=shell and --output=dotenv");
}

function singleOf(name: string, values: PlainValues): Buffer {
  const [single, another] = [...values.values()];
  if (single !== undefined && another === undefined) return single;
  throw new UsageError(
    values.size === 0
      ? `SharedSecret "${name}" has no data`
      : `SharedSecret "${name}" has several data keys: ${[...values.keys()].join(", ")}; ` +
          "name one, or set --output to json, yaml, dotenv or shell",
  );
}

function valuesText(
  values: PlainValues,
  format: Exclude<ValueFormat, "value">,
  flags: VariableFlags,
  terminal: Pick<Terminal, "say">,
): string {
  switch (format) {
    case "json":
      return jsonText(valuesObject(values));
    case "yaml":
      return yamlText(valuesObject(values));
    case "name":
      return [...values.keys()].map((key) => `${key}\n`).join("");
    case "shell":
      return shellText(selectedVariables(values, flags, terminal));
    case "dotenv": {
      const variables = selectedVariables(values, flags, terminal);
      const differing = variables.filter(([, value]) => isReadInDifferentWays(value));
      if (differing.length > 0)
        terminal.say(
          `set --from-env-file reads ${differing.map(([name]) => name).join(", ")} back, ` +
            "but parsers of dotenv files differ about its quotes, backslashes and line breaks; " +
            "use -o json for them",
        );
      return dotenvText(variables);
    }
  }
}
