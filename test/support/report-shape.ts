import { isRecord, listAt, recordAt } from "../../src/api/parse.ts";
import { reasons } from "../../src/api/conditions.ts";
import { reportReasons, reportStatesOf, syncStates } from "../../src/api/report.ts";

/** A command with `-o json` that prints a report. */
export type ReportCommand = keyof typeof reportStatesOf;

/**
 * What of a parsed document is not as docs/cli.md describes a report of a command; empty if all is.
 * Reasons of errors of the API server, which come from it, are those of `foreign`.
 */
export function reportProblems(
  document: unknown,
  command: ReportCommand,
  foreign: readonly string[] = [],
): readonly string[] {
  const known = new Set([...Object.keys(reportReasons), ...Object.keys(reasons), ...foreign]);
  const states: readonly unknown[] = reportStatesOf[command];
  const items = listAt(document, "items").flatMap((item, at) => {
    const place = `items[${at}]`;
    const own = entryProblems(item, place, { known, fields: itemFields });
    const state = isRecord(item) ? item["state"] : undefined;
    const causes = listAt(item, "causes").flatMap((cause, index) =>
      entryProblems(cause, `${place}.causes[${index}]`, { known, fields: ["field", "value"] }),
    );
    return [
      ...own,
      ...(states.includes(state) ? [] : [`${place}.state: ${JSON.stringify(state)}`]),
      ...(isRecord(item) && Array.isArray(item["causes"]) ? [] : [`${place}.causes: no list`]),
      ...(isRecord(item) && "source" in item
        ? objectProblems(item["source"], `${place}.source`)
        : []),
      ...targetProblems(item, place),
      ...displayNameProblems(item, place),
      ...figureProblems(item, place),
      ...causes,
    ];
  });
  const top = Object.keys(isRecord(document) ? document : {}).join();
  return [...(top === "kind,items" ? [] : [`fields: ${top}`]), ...items];
}

const itemFields = ["displayName", "source", "state", "causes", "target", "targets", "cluster"];

/** A Secret has the state of a target, and a SharedSecret the number of its targets by state. */
function targetProblems(item: unknown, place: string): readonly string[] {
  const { target, targets } = {
    target: undefined,
    targets: undefined,
    ...recordAt({ item }, "item"),
  };
  const isState = syncStates.some((state) => state === target);
  const isCounted = syncStates.every((state) =>
    Number.isInteger(recordAt({ targets }, "targets")[state]),
  );
  return [
    ...(target === undefined || isState ? [] : [`${place}.target: ${JSON.stringify(target)}`]),
    ...(targets === undefined || isCounted ? [] : [`${place}.targets: ${JSON.stringify(targets)}`]),
  ];
}

/** A name for people is bounded, because a user may have written anything. */
function displayNameProblems(item: unknown, place: string): readonly string[] {
  const { displayName } = recordAt({ item }, "item");
  const isBounded = typeof displayName === "string" && displayName.length <= 67;
  return displayName === undefined || isBounded ? [] : [`${place}.displayName`];
}

/** A connected cluster has the projects that it lets in, and whole numbers. */
function figureProblems(item: unknown, place: string): readonly string[] {
  const { cluster } = recordAt({ item }, "item");
  if (cluster === undefined) return [];
  const { projects, credentialEnd = "", ...figures } = recordAt({ cluster }, "cluster");
  const areRight =
    Array.isArray(projects) &&
    typeof credentialEnd === "string" &&
    ["offered", "synced", "withdrawals"].every((field) => field in figures) &&
    Object.values(figures).every((figure) => Number.isInteger(figure) && Number(figure) >= 0);
  return areRight ? [] : [`${place}.cluster: ${JSON.stringify(cluster)}`];
}

interface EntryTerms {
  readonly known: ReadonlySet<string>;
  /** Fields beside those that items and causes have. */
  readonly fields: readonly string[];
}

function entryProblems(entry: unknown, place: string, { known, fields }: EntryTerms) {
  if (!isRecord(entry)) return [`${place}: no object`];
  const { reason, message, field, value } = entry;
  const others = Object.keys(entry).filter(
    (name) => !["object", "reason", "message", ...fields].includes(name),
  );
  const isSentence = typeof message === "string" && /^\S[^\n]*\.$/.test(message);
  return [
    ...others.map((name) => `${place}.${name}`),
    ...objectProblems(recordAt(entry, "object"), `${place}.object`),
    ...(typeof reason === "string" && known.has(reason)
      ? []
      : [`${place}.reason: ${String(reason)}`]),
    ...(isSentence ? [] : [`${place}.message: ${String(message)}`]),
    ...[field, value].flatMap((text) =>
      text === undefined || typeof text === "string" ? [] : [`${place}: ${typeof text}`],
    ),
  ];
}

function objectProblems(object: unknown, place: string): readonly string[] {
  if (!isRecord(object)) return [`${place}: no object`];
  const { kind, namespace, name, ...others } = object;
  const isText = (text: unknown): boolean =>
    text === undefined || (typeof text === "string" && text !== "" && !text.includes("/"));
  const areTexts = typeof kind === "string" && isText(kind) && isText(namespace);
  const isNamed = name === undefined || (typeof name === "string" && name !== "");
  return areTexts && isNamed && Object.keys(others).length === 0
    ? []
    : [`${place}: ${JSON.stringify(object)}`];
}
