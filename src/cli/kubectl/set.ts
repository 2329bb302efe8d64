import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parseEnv } from "node:util";
import { apiVersion } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import type { SecretText } from "../../api/secret-text.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/errors.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { errorCode } from "../../runtime/error-code.ts";
import { encodedValue } from "../../tokens/shared-values.ts";
import type { Action, Cli } from "./cli.ts";
import type { commands } from "./command-table.ts";
import type { Cluster } from "./cluster.ts";
import { type DataAssignment, parseAssignment, parseFileAssignment } from "./data-assignment.ts";
import { applierWarnings } from "./field-owners.ts";
import { readObject } from "./missing-right.ts";

const resource = resources.sharedSecrets;

/** `kubectl latchkey set`. */
export const setValues: Action<typeof commands.set.flags> = async ({ flags, args }, cli) => {
  const [name = "", ...words] = args;
  const assignments = [
    ...words.map((word) => parseAssignment(word, { literal: flags.literal })),
    ...flags.fromFile.map((text) => parseFileAssignment(text, basename)),
  ];
  if (assignments.length === 0 && flags.fromEnvFile.length === 0)
    throw new UsageError("no data key is named; write KEY, KEY=@FILE or --from-env-file");
  if (assignments.filter(({ from }) => from === "input").length > 1)
    throw new UsageError("the standard input can be the value of one data key; use KEY=@FILE");
  const data = new Map<string, SecretText>();
  for (const path of flags.fromEnvFile) {
    const variables = parseEnv(readInput("--from-env-file", path).toString("utf8"));
    for (const [key, value = ""] of Object.entries(variables))
      data.set(key, encodedValue(Buffer.from(value, "utf8")));
  }
  for (const assignment of assignments)
    data.set(assignment.key, encodedValue(await bytesOf(assignment, cli)));
  const cluster = await cli.connect(flags);
  const { namespace } = cluster.choice;
  const spec = { data: Object.fromEntries(data) };
  const ref = { namespace, name };
  const dryRun = flags.dryRun === "server";
  const before = await readBefore(cluster, ref);
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
  cli.terminal.say(
    `SharedSecret "${namespace}/${name}" ${verb} ${[...data.keys()].join(", ")}${dryRun ? " (dry run)" : ""}`,
  );
  for (const warning of applierWarnings(before, [...data.keys()])) cli.terminal.say(warning);
};

/** The metadata of the object, if it exists and the user may read it. */
async function readBefore(cluster: Cluster, ref: ObjectRef): Promise<unknown> {
  return (await readObject(resource, ref, () => cluster.getMetadata(resource, ref))).found;
}

async function bytesOf(assignment: DataAssignment, { terminal }: Cli): Promise<Uint8Array> {
  switch (assignment.from) {
    case "file":
      return readInput(assignment.key, assignment.path);
    case "literal":
      return Buffer.from(assignment.text, "utf8");
    case "input":
      return terminal.readInput();
    case "prompt":
      return terminal.isInput
        ? Buffer.from(await terminal.askSecret(`Value of ${assignment.key}: `), "utf8")
        : terminal.readInput();
  }
}

function readInput(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(
      `${option}: "${path}" cannot be read: ${errorCode(error) ?? "unknown error"}`,
    );
  }
}

/** `kubectl latchkey unset`. */
export const unsetValues: Action<typeof commands.unset.flags> = async ({ flags, args }, cli) => {
  const [name = "", ...keys] = args;
  const cluster = await cli.connect(flags);
  const { namespace } = cluster.choice;
  const dryRun = flags.dryRun === "server";
  const data = Object.fromEntries(keys.map((key) => [key, null]));
  const ref = { namespace, name };
  const before = await readBefore(cluster, ref);
  await cluster.patch(resource, ref, { body: { spec: { data } }, dryRun });
  cli.terminal.say(
    `SharedSecret "${namespace}/${name}" has no ${keys.join(", ")} any more${dryRun ? " (dry run)" : ""}`,
  );
  for (const warning of applierWarnings(before, keys)) cli.terminal.say(warning);
};
