import type { Resource } from "../../api/resources.ts";
import type { Cluster } from "../connection/cluster.ts";
import { printable } from "../failure.ts";
import type { Found } from "./find-objects.ts";
import {
  type PrintedObjects,
  type PrintedResource,
  printedByName,
  printedList,
  readableByName,
} from "./listing.ts";
import { jsonText, tableText, yamlText } from "../output.ts";
import { shownObject } from "./shown-object.ts";
import type { Terminal } from "../terminal.ts";

/** The formats in which objects are printed; a table without one. */
export type ObjectFormat = "json" | "yaml" | "name" | undefined;

/** How objects are printed. */
interface PrintOptions {
  readonly output: ObjectFormat;
  readonly withNamespace: boolean;
}

/** Dependencies of {@link printObjects}. */
interface PrintDeps {
  readonly cluster: Cluster;
  readonly terminal: Pick<Terminal, "print" | "say">;
}

/** What is printed. */
interface Printed {
  readonly resource: PrintedResource;
  readonly found: Found;
}

/** Prints objects in the chosen format, never with what is secret in them. */
export async function printObjects(
  { resource, found }: Printed,
  { output, withNamespace }: PrintOptions,
  { cluster, terminal }: PrintDeps,
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
