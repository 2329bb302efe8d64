import type { ObjectRef } from "../../api/object.ts";
import { listAt, numberAt, recordAt, stringAt, stringsAt, isTrueAt } from "../../api/parse.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { shortened } from "../../domain/report-object.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { canExist, collectionPath, objectPath, withQuery } from "../../kube/client/paths.ts";
import { type Cluster, readPages } from "../connection/cluster.ts";
import { type Readable, readWith } from "../missing-right.ts";

/** Objects as the API server prints them: a row of cells for each. */
export interface PrintedObjects {
  readonly columns: readonly string[];
  readonly rows: readonly PrintedObject[];
}

/** An object as the API server prints it. */
interface PrintedObject {
  readonly ref: ObjectRef;
  readonly cells: readonly string[];
}

/** Columns that the client computes from the objects, in the place of columns of the API server. */
export interface OwnColumns {
  /** Columns of the API server that they replace; they stand where the first of these stood. */
  readonly replaces: readonly string[];
  readonly names: readonly string[];
  /** A cell for each name. */
  readonly cellsOf: (object: unknown) => readonly string[];
}

/** A resource, and how the client prints it. */
export interface PrintedResource extends Resource {
  readonly ownColumns?: OwnColumns;
}

const asTable = "application/json;as=Table;g=meta.k8s.io;v=v1";

/** Lists objects as a Table, which has their status and no secrets. */
export async function printedList(
  { send }: Pick<Cluster, "send">,
  resource: PrintedResource,
  namespace: string | undefined,
): Promise<PrintedObjects> {
  const path = collectionPath(resource, namespace);
  const pages = await readPages((page) =>
    send({
      method: "GET",
      path: withQuery(path, { ...page, ...wholeObjects(resource) }),
      accept: asTable,
    }),
  );
  return joined(pages.map((page) => printedObjects(page, resource.ownColumns)));
}

/** Reads single objects as Tables; leaves out those that do not exist or that may not be read. */
export async function printedByName(
  { send }: Pick<Cluster, "send">,
  resource: PrintedResource,
  refs: readonly ObjectRef[],
): Promise<PrintedObjects> {
  const found = await readEach(refs, async (ref) => {
    const path = withQuery(objectPath(resource, ref), wholeObjects(resource));
    const table = await send({ method: "GET", path, accept: asTable });
    return printedObjects(table, resource.ownColumns);
  });
  return joined(found);
}

function wholeObjects({ ownColumns }: PrintedResource): Readonly<Record<string, string>> {
  return ownColumns === undefined ? {} : { includeObject: "Object" };
}

/** Reads single objects; leaves out those that do not exist or that may not be read. */
export function readableByName(
  { get }: Pick<Cluster, "get">,
  resource: Resource,
  refs: readonly ObjectRef[],
): Promise<readonly unknown[]> {
  return readEach(refs, (ref) => get(resource, ref));
}

/** All objects of a cluster-scoped kind; those that roles name, if the user may not list them. */
export async function readAllOrNamed(
  cluster: Pick<Cluster, "list" | "get" | "review">,
  resource: Resource,
): Promise<Readable<readonly unknown[]>> {
  const listed = await readWith(
    { verb: "list", resource },
    () => cluster.list(resource),
    undefined,
  );
  if (listed.found !== undefined) return { found: listed.found, missing: [] };
  const { names } = await readableNames(cluster, resource, "default");
  const refs = names.map((name) => ({ name }));
  return { found: await readableByName(cluster, resource, refs), missing: listed.missing };
}

/** Concurrent requests of one command. */
const concurrent = 8;

/** Calls `read` for each reference, a few at a time; leaves out what is missing or forbidden. */
export async function readEach<Ref, T>(
  refs: readonly Ref[],
  read: (ref: Ref) => Promise<T>,
): Promise<readonly T[]> {
  const found = new Map<number, T>();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < refs.length; at = next++) {
      const ref = refs[at];
      if (ref === undefined) return;
      try {
        found.set(at, await read(ref));
      } catch (error) {
        if (!isKubeError(error, "NotFound", "Forbidden")) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrent }, worker));
  return [...found].toSorted(([one], [other]) => one - other).map(([, value]) => value);
}

/** Columns of the API server for wide output that are shown where a row has one. */
const displayNameColumn = "DISPLAY-NAME";
const optionalColumns: readonly string[] = [displayNameColumn, "DATA-FROM"];

/** Characters of a cell: more than a name has, and fewer than an annotation can have. */
const widestCell = 256;

/** Parses a metav1.Table; other columns for wide output are left out. */
export function printedObjects(table: unknown, own?: OwnColumns): PrintedObjects {
  const shown = listAt(table, "columnDefinitions").flatMap((definition, at) => {
    const name = (stringAt(definition, "name") ?? "").toUpperCase();
    const isShown = (numberAt(definition, "priority") ?? 0) === 0 || optionalColumns.includes(name);
    return isShown ? [{ name, at }] : [];
  });
  /** For each shown column what stands there: its own entry, those of the client, or nothing. */
  const place = <T>(entry: (column: (typeof shown)[number]) => T, ours: readonly T[]) =>
    shown.flatMap((column) => {
      const at = own?.replaces.indexOf(column.name) ?? -1;
      return at === -1 ? [entry(column)] : at === 0 ? ours : [];
    });
  return {
    columns: place(({ name }) => name, own?.names ?? []),
    rows: listAt(table, "rows").flatMap((row) => {
      const object = recordAt(row, "object");
      const metadata = recordAt(object, "metadata");
      const name = stringAt(metadata, "name");
      const namespace = stringAt(metadata, "namespace");
      if (name === undefined) return [];
      const cells = listAt(row, "cells");
      return [
        {
          ref: { name, ...(namespace === undefined ? {} : { namespace }) },
          cells: place(
            ({ name: column, at }) =>
              shortened(cellText(cells[at]), column === displayNameColumn ? undefined : widestCell),
            (own?.cellsOf(object) ?? []).map((text) => shortened(text, widestCell)),
          ),
        },
      ];
    }),
  };
}

function cellText(cell: unknown): string {
  if (cell === undefined || cell === null) return "";
  return typeof cell === "string" ? cell : JSON.stringify(cell);
}

function joined(parts: readonly PrintedObjects[]): PrintedObjects {
  const columns = parts.find(({ columns: found }) => found.length > 0)?.columns ?? [];
  const rows = parts.flatMap((part) => part.rows);
  const isShown = (name: string, at: number): boolean =>
    !optionalColumns.includes(name) || rows.some(({ cells }) => cells[at] !== "");
  const shown = columns.map(isShown);
  const shownOf = (cells: readonly string[]) => cells.filter((_, at) => shown[at] === true);
  return {
    columns: shownOf(columns),
    rows: rows.map(({ ref, cells }) => ({ ref, cells: shownOf(cells) })),
  };
}

/** What a SelfSubjectRulesReview says about one resource. */
interface ReadableNames {
  /** The names that roles list with the verb get. */
  readonly names: readonly string[];
  /** Whether a rule without names allows get for every object. */
  readonly all: boolean;
  /** Whether an authorizer could not list its rules. */
  readonly incomplete: boolean;
}

/** Reads from the status of a SelfSubjectRulesReview which objects may be read. */
export function namesInReview(status: unknown, { group, plural }: Resource): ReadableNames {
  const rules = listAt(status, "resourceRules").filter(
    (rule) =>
      includes(stringsAt(rule, "verbs"), "get") &&
      includes(stringsAt(rule, "apiGroups"), group) &&
      includes(stringsAt(rule, "resources"), plural),
  );
  const named = rules.map((rule) => stringsAt(rule, "resourceNames"));
  return {
    names: [...new Set(named.flat())].filter((name) => canExist({ name })).toSorted(),
    all: named.some((names) => names.length === 0),
    incomplete: isTrueAt(status, "incomplete"),
  };
}

function includes(list: readonly string[], word: string): boolean {
  return list.includes("*") || list.includes(word);
}

/** Which objects of a namespace the user may read; cluster-scoped names come with any namespace. */
export async function readableNames(
  { review }: Pick<Cluster, "review">,
  resource: Resource,
  namespace: string,
): Promise<ReadableNames> {
  return namesInReview(await review(resources.selfRulesReviews, { namespace }), resource);
}
