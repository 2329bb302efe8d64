import { basename } from "node:path";
import { apiVersion } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { readFileBytes } from "../../runtime/read-text-file.ts";
import { encodedValue } from "../../tokens/shared-values.ts";
import type { Action, Flags } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import {
  checkedKey,
  type DataAssignment,
  parseAssignment,
  parseFileAssignment,
  withoutFinalNewline,
} from "./data-assignment.ts";
import { parseEnvFile } from "./env-file.ts";
import { applierWarnings } from "./field-owners.ts";
import { checkOwnData } from "./followed.ts";
import { readObject } from "../missing-right.ts";
import { textsOf } from "../objects/text-options.ts";
import { doneText, triedText } from "../output.ts";
import type { Terminal } from "../terminal.ts";

const resource = resources.sharedSecrets;

/** `kubectl latchkey set`. */
export const setValues: Action<"set"> = async ({ flags, args }, cli) => {
  const [name = "", ...words] = args;
  const assignments = [
    ...words.map((word) => parseAssignment(word, { literal: flags.literal })),
    ...flags.fromFile.map((text) => parseFileAssignment(text, basename)),
  ];
  const texts = textsOf(flags);
  const isNone = assignments.length === 0 && Object.keys(texts).length === 0;
  if (isNone && flags.fromEnvFile.length === 0)
    throw new UsageError(
      "no data key is named; write KEY, KEY=@FILE or --from-env-file, or set a text",
    );
  if (assignments.filter(({ from }) => from === "input").length > 1)
    throw new UsageError("the standard input can be the value of one data key; use KEY=@FILE");
  const keys = assignments.map(({ key }) => key);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined)
    throw new UsageError(`data key "${twice}" is given twice; leave one of the values out`);
  const values = await givenValues(assignments, flags, cli.terminal);
  const empty = [...values.keys()].filter((key) => values.get(key)?.length === 0);
  if (empty.length > 0 && !flags.allowEmpty)
    throw new UsageError(
      `the value of ${empty.join(", ")} is empty, so nothing is stored; ` +
        "check where it comes from, or set --allow-empty",
    );
  const data = [...values].map(([key, bytes]) => [key, encodedValue(bytes)] as const);
  const cluster = await cli.connect(flags);
  const { namespace } = cluster.choice;
  const spec = { ...texts, ...(data.length === 0 ? {} : { data: Object.fromEntries(data) }) };
  const ref = { namespace, name };
  const dryRun = flags.dryRun === "server";
  const before = await readBefore(cluster, ref);
  checkOwnData(before, [...values.keys()]);
  const created = await cluster.patch(resource, ref, { body: { spec }, dryRun }).then(
    () => false,
    async (error: unknown) => {
      if (!isKubeError(error, "NotFound") || error.objectName === undefined) throw error;
      const manifest = { apiVersion, kind: resource.kind, metadata: ref, spec };
      await cluster.create(resource, manifest, { dryRun });
      return true;
    },
  );
  const verb = created ? "created with" : "set";
  const what = `${verb} ${[...values.keys(), ...Object.keys(texts)].join(", ")}`;
  cli.terminal.print(doneText(resource, ref, triedText(what, dryRun)));
  for (const warning of applierWarnings(before, [...values.keys()])) cli.terminal.say(warning);
};

/** The metadata of the object, if it exists and the user may read it. */
async function readBefore(cluster: Cluster, ref: ObjectRef): Promise<unknown> {
  return (await readObject(resource, ref, cluster.getMetadata)).found;
}

/** The values of env files and of assignments, by data key; of several, the last one counts. */
async function givenValues(
  assignments: readonly DataAssignment[],
  flags: Flags<"set">,
  terminal: Terminal,
): Promise<ReadonlyMap<string, Buffer>> {
  const values = new Map<string, Buffer>();
  for (const path of flags.fromEnvFile) {
    const bytes = readFileBytes({ option: "--from-env-file", path });
    for (const [key, value] of parseEnvFile(bytes, `--from-env-file: "${path}"`, terminal.say))
      values.set(checkedKey(key, "--from-env-file"), Buffer.from(value, "utf8"));
  }
  for (const assignment of assignments)
    values.set(assignment.key, await bytesOf(assignment, flags, terminal));
  return values;
}

async function bytesOf(
  assignment: DataAssignment,
  flags: Flags<"set">,
  terminal: Terminal,
): Promise<Buffer> {
  const { key } = assignment;
  switch (assignment.from) {
    case "file":
      return readFileBytes({ option: key, path: assignment.path });
    case "literal":
      return Buffer.from(assignment.text, "utf8");
    case "input":
      return pipedValue(key, flags, terminal);
    case "prompt":
      return terminal.isInput
        ? Buffer.from(await terminal.askSecret(`Value of ${key}: `), "utf8")
        : pipedValue(key, flags, terminal);
  }
}

/** The standard input, without the final newline that programs print behind a text. */
async function pipedValue(
  key: string,
  { keepNewline }: Flags<"set">,
  { readInput: read, say }: Terminal,
): Promise<Buffer> {
  const given = await read();
  const value = keepNewline ? given : withoutFinalNewline(given);
  if (value.length < given.length)
    say(`the final newline of ${key} is dropped; set --keep-newline to store it`);
  return value;
}

/** `kubectl latchkey unset`. */
export const unsetValues: Action<"unset"> = async ({ flags, args }, cli) => {
  const [name = "", ...keys] = args;
  const cluster = await cli.connect(flags);
  const { namespace } = cluster.choice;
  const dryRun = flags.dryRun === "server";
  const data = Object.fromEntries(keys.map((key) => [key, null]));
  const ref = { namespace, name };
  const before = await readBefore(cluster, ref);
  checkOwnData(before, keys);
  await cluster.patch(resource, ref, { body: { spec: { data } }, dryRun });
  const what = triedText(`unset ${keys.join(", ")}`, dryRun);
  cli.terminal.print(doneText(resource, ref, what));
  for (const warning of applierWarnings(before, keys)) cli.terminal.say(warning);
};
