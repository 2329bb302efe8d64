import { UsageError } from "../../runtime/config-values.ts";

/** Where the value of a data key comes from. */
export type DataAssignment =
  | { readonly key: string; readonly from: "prompt" | "input" }
  | { readonly key: string; readonly from: "file"; readonly path: string }
  | { readonly key: string; readonly from: "literal"; readonly text: string };

/**
 * Parses `KEY`, `KEY=-` or `KEY=@FILE`, and `KEY=VALUE` if literal values are allowed; throws a
 * UsageError, which does not quote the value.
 */
export function parseAssignment(
  word: string,
  { literal }: { readonly literal: boolean },
): DataAssignment {
  const at = word.indexOf("=");
  const key = checkedKey(at === -1 ? word : word.slice(0, at));
  if (at === -1) return { key, from: "prompt" };
  const text = word.slice(at + 1);
  if (literal) return { key, from: "literal", text };
  if (text === "-") return { key, from: "input" };
  if (text.startsWith("@") && text.length > 1) return { key, from: "file", path: text.slice(1) };
  throw new UsageError(
    `${key}: other users of the machine can read a value in the arguments; write ${key} to be asked, ${key}=- for the standard input, ${key}=@FILE for a file, or set --literal`,
  );
}

/** Parses `PATH` or `KEY=PATH`; the name of the file is the key if there is none. */
export function parseFileAssignment(
  text: string,
  nameOf: (path: string) => string,
): DataAssignment {
  const at = text.indexOf("=");
  const path = text.slice(at + 1);
  return { key: checkedKey(at === -1 ? nameOf(path) : text.slice(0, at)), from: "file", path };
}

function checkedKey(key: string): string {
  const problem = dataKeyProblem(key);
  if (problem !== undefined) throw new UsageError(problem);
  return key;
}

const mostShown = 60;

/** Why the CRD takes no such data key (crds/sharedsecrets.yaml); undefined if it does. */
export function dataKeyProblem(key: string): string | undefined {
  if (/^[-._a-zA-Z0-9]{1,253}$/.test(key)) return undefined;
  const shown = key.length > mostShown ? `${key.slice(0, mostShown)}...` : key;
  return `data key ${JSON.stringify(shown)} must have letters, digits, -, _ and . only, and at most 253 of them`;
}
