import { keyOf, type ObjectRef } from "../../api/object.ts";
import { parseConditions, recordAt, stringAt } from "../../api/parse.ts";
import type { Resource } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { Cli } from "../cli.ts";
import type { ConnectionFlags } from "../connection/connection-options.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodeOf, printable, sentenceOf } from "../failure.ts";
import {
  doneText,
  type ResultFormat,
  resultText,
  triedText,
  jsonText,
  tableText,
  yamlText,
} from "../output.ts";
import { waitUntil } from "../progress.ts";
import type { Terminal } from "../terminal.ts";
import { findObjects, type Found } from "./find-objects.ts";
import {
  type PrintedResource,
  type PrintedObjects,
  printedByName,
  printedList,
  readableByName,
} from "./listing.ts";
import { shownObject } from "./shown-object.ts";

/** What a command is given: its arguments, and these options beside those of the connection. */
interface Given<Options> {
  readonly flags: ConnectionFlags & Options;
  readonly args: readonly string[];
}

interface ListOptions {
  readonly output: ObjectFormat;
  readonly allNamespaces?: boolean;
}

/** The command that lists the objects of a kind that the user may read. */
export function listOf(resource: PrintedResource) {
  return async (
    { flags }: Pick<Given<ListOptions>, "flags">,
    cli: Cli,
    connected?: Cluster,
  ): Promise<void> => {
    const cluster = connected ?? (await cli.connect(flags));
    const { terminal } = cli;
    const { output, allNamespaces: withNamespace = false } = flags;
    const isInOne = resource.namespaced && !withNamespace;
    const namespace = isInOne ? cluster.choice.namespace : undefined;
    const found = await findObjects({ resource, namespace }, { cluster, terminal });
    await printObjects({ resource, found, output, withNamespace }, cluster, terminal);
  };
}

/** Lines of a description: name and value; one without a value is left out. */
export type Described = readonly (readonly [name: string, value: string | undefined])[];

/**
 * The command that prints an object of a kind without what is secret in it: its name, these lines
 * and its conditions.
 */
export function describeOf(resource: Resource, linesOf: (object: unknown) => Described) {
  return async ({ flags, args }: Given<{ output: ResultFormat }>, cli: Cli): Promise<void> => {
    const cluster = await cli.connect(flags);
    const object = await cluster.get(resource, refOf(resource, args[0], cluster));
    cli.terminal.print(
      resultText(flags.output, shownObject(object), () =>
        descriptionText([
          ["Name", stringAt(recordAt(object, "metadata"), "name")],
          ...linesOf(object),
          ...parseConditions(recordAt(object, "status")).map(
            ({ type, status, reason, message }) =>
              [type, `${status}, ${reason}: ${message}`] as const,
          ),
        ]),
      ),
    );
  };
}

function descriptionText(described: Described): string {
  const lines = described.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines
    .map(([name, value]) => `${`${name}:`.padEnd(width + 2)} ${printable(value)}\n`)
    .join("");
}

function refOf(
  { namespaced }: Resource,
  name = "",
  { choice }: Pick<Cluster, "choice">,
): ObjectRef {
  return namespaced ? { namespace: choice.namespace, name } : { name };
}

const goneWithinMs = 60_000;

/**
 * The command that deletes objects of a kind: every object is deleted before the first one is
 * waited for, whatever becomes of the others, because keys may be deleted for a leak.
 */
export function deleteOf(resource: Resource) {
  const { kind } = resource;
  return async (
    { flags, args }: Given<{ dryRun: "none" | "server" | undefined }>,
    { connect, terminal, clock }: Cli,
  ): Promise<number> => {
    const cluster = await connect(flags);
    const dryRun = flags.dryRun === "server";
    let failed = 0;
    const tried = async <T>(refs: readonly T[], work: (ref: T) => Promise<void>) => {
      const done: T[] = [];
      for (const ref of refs)
        try {
          await work(ref);
          done.push(ref);
        } catch (error) {
          terminal.say(sentenceOf(error));
          failed ||= exitCodeOf(error);
        }
      return done;
    };
    const refs = args.map((name) => refOf(resource, name, cluster));
    const deleted = await tried(refs, async (ref) => {
      await cluster.delete(resource, ref, { dryRun });
      if (dryRun) terminal.print(doneText(resource, ref, triedText("deleted", dryRun)));
    });
    await tried(dryRun ? [] : deleted, async (ref) => {
      const end = await waitUntil(() => endOf(resource, ref, cluster), goneWithinMs, { clock });
      if (end === "deleted") return terminal.print(doneText(resource, ref, end));
      terminal.say(`${kind} "${keyOf(ref)}" ${end ?? stillThere}`);
    });
    return failed;
  };
}

const stillThere =
  `is being deleted, which takes longer than ${goneWithinMs / 1000} s; ` +
  "look at its finalizers, and at the log of latchkey controller";

/** What became of an object: "deleted", or the predicate of a sentence; undefined: it exists. */
async function endOf(
  resource: Resource,
  ref: ObjectRef,
  { getMetadata }: Cluster,
): Promise<string | undefined> {
  try {
    await getMetadata(resource, ref);
    return undefined;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return "deleted";
    // The right to read an own object ends shortly before the object does.
    if (isKubeError(error, "Forbidden"))
      return "is being deleted, and you may not read it any more";
    throw error;
  }
}

/** The formats in which objects are printed; a table without one. */
type ObjectFormat = "json" | "yaml" | "name" | undefined;

/** What is printed, and how. */
interface Printed {
  readonly resource: PrintedResource;
  readonly found: Found;
  readonly output: ObjectFormat;
  readonly withNamespace: boolean;
}

/** Prints objects in the chosen format, never with what is secret in them. */
async function printObjects(
  { resource, found, output, withNamespace }: Printed,
  cluster: Cluster,
  terminal: Terminal,
): Promise<void> {
  if (output === "json" || output === "yaml") {
    const objects =
      found.kind === "list"
        ? await cluster.list(resource, found.namespace)
        : await readableByName(cluster, resource, found.refs);
    const apiVersion = `${resource.group}/${resource.version}`;
    const items = objects.map((object) => ({
      apiVersion,
      kind: resource.kind,
      ...shownObject(object),
    }));
    const list = { apiVersion: "v1", kind: "List", items };
    return terminal.print(output === "json" ? jsonText(list) : yamlText(list));
  }
  const printed =
    found.kind === "list"
      ? await printedList(cluster, resource, found.namespace)
      : await printedByName(cluster, resource, found.refs);
  if (output === "name") return terminal.print(namesText(printed, resource));
  if (printed.rows.length === 0) return terminal.say(`no ${resource.kind} found`);
  terminal.print(columnsText(printed, withNamespace));
}

/** Lines of `sharedsecret.management.service/name`, as kubectl prints them. */
function namesText({ rows }: PrintedObjects, { kind, group }: Resource): string {
  return rows.map(({ ref }) => `${kind.toLowerCase()}.${group}/${printable(ref.name)}\n`).join("");
}

/** The columns of the API server, after that of the namespace. */
function columnsText({ columns, rows }: PrintedObjects, withNamespace: boolean): string {
  const line = (namespace: string, cells: readonly string[]) =>
    withNamespace ? [namespace, ...cells] : cells;
  const lines = rows.map(({ ref, cells }) => line(ref.namespace ?? "", cells));
  return tableText(line("NAMESPACE", columns), lines);
}
