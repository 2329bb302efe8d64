import { keyOf } from "../../api/object.ts";
import { UsageError } from "../../runtime/config-values.ts";
import type { PlainValues } from "../../tokens/shared-values.ts";
import type { Action } from "./cli.ts";
import type { commands } from "./command-table.ts";
import { jsonText, yamlText } from "./output.ts";
import { writePrivateFiles } from "./private-files.ts";
import { findValues, readValues, valueOf } from "./read-secret.ts";
import type { Terminal } from "./terminal.ts";
import type { ValueFormat } from "./value-formats.ts";
import { dotenvText, shellText, valuesObject, type Variables, variablesOf } from "./values.ts";

/** `kubectl latchkey get`. */
export const getValues: Action<typeof commands.get.flags> = async ({ flags, args }, cli) => {
  const { terminal } = cli;
  const [word = "", given] = args;
  const { all, output, outputDirectory } = flags;
  if (given !== undefined && all) throw new UsageError("--all cannot be combined with a data key");
  const cluster = await cli.connect(flags);
  const found =
    given === undefined
      ? await findValues(cluster, word)
      : { name: word, values: await readValues(cluster, word), key: given };
  const { values, key } = found;
  const name = keyOf({ namespace: cluster.choice.namespace, name: found.name });
  const wanted = key === undefined ? values : new Map([[key, valueOf(values, name, key)]]);
  if (outputDirectory !== undefined) {
    writePrivateFiles(outputDirectory, wanted, "--output-directory");
    return terminal.say(`wrote ${wanted.size} files to ${outputDirectory}`);
  }
  if (output !== undefined && output !== "value")
    return terminal.print(valuesText(wanted, output, terminal));
  const [single, another] = [...wanted.values()];
  if (single === undefined || another !== undefined)
    throw new UsageError(
      values.size === 0
        ? `SharedSecret "${name}" has no data`
        : `SharedSecret "${name}" has several data keys: ${[...values.keys()].join(", ")}; name one, or set --output to json, yaml, dotenv or shell`,
    );
  terminal.print(single);
  if (terminal.isOutput && single.at(-1) !== 0x0a) terminal.print("\n");
};

function valuesText(
  values: PlainValues,
  format: Exclude<ValueFormat, "value">,
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
      return shellText(usable(values, terminal));
    case "dotenv":
      return dotenvText(usable(values, terminal));
  }
}

function usable(values: PlainValues, terminal: Pick<Terminal, "say">): Variables {
  const variables = variablesOf(values);
  sayOmitted(variables.omitted, terminal);
  return variables;
}

/** Says which data keys cannot be variables. */
export function sayOmitted(omitted: readonly string[], { say }: Pick<Terminal, "say">): void {
  if (omitted.length > 0)
    say(
      `left out ${omitted.join(", ")}: a variable needs a name of letters, digits and _, and text without NUL bytes`,
    );
}
