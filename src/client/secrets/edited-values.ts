import { isUtf8 } from "node:buffer";
import { CORE_SCHEMA, dump, load } from "js-yaml";
import { isRecord, stringAt } from "../../api/parse.ts";
import { dataKeyProblem } from "./data-assignment.ts";
import type { PlainValues } from "../../tokens/shared-values.ts";

/** A change of values: new bytes by key, and removed keys. */
export interface ValuesChange {
  readonly set: ReadonlyMap<string, Buffer>;
  readonly removed: readonly string[];
}

/** The text that an editor shows: comments, texts under `data`, other values in base64. */
export function editorText(
  values: PlainValues,
  { name, problem }: { readonly name: string; readonly problem: string | undefined },
): string {
  const entries = [...values];
  const texts = entries.filter(([, bytes]) => isUtf8(bytes));
  const others = entries.filter(([, bytes]) => !isUtf8(bytes));
  const content = {
    data: Object.fromEntries(texts.map(([key, bytes]) => [key, bytes.toString("utf8")])),
    ...(others.length === 0
      ? {}
      : {
          binaryData: Object.fromEntries(
            others.map(([key, bytes]) => [key, bytes.toString("base64")]),
          ),
        }),
  };
  return `${editorHead(name, problem)}${dump(content, { lineWidth: -1, noRefs: true })}`;
}

/** The comments at the top of the text. */
export function editorHead(name: string, problem: string | undefined): string {
  const lines = [
    `Values of SharedSecret "${name}". An unchanged file, or an empty one, changes nothing.`,
    "Texts are under data; values in base64 are under binaryData.",
    ...(problem === undefined ? [] : [`Not stored: ${problem}.`]),
  ];
  return lines.map((line) => `# ${line}\n`).join("");
}

/** The text without the comments at its top. */
export function withoutHead(text: string): string {
  return text.replace(/^(?:#.*\n)+/, "");
}

/** Parses an edited text; returns a problem that quotes no value if it cannot. */
export function parseEdited(text: string): PlainValues | string {
  let content: unknown;
  try {
    content = load(text, { schema: CORE_SCHEMA });
  } catch {
    return "the file is not a valid YAML document";
  }
  if (!isRecord(content)) return "the file must have the field data";
  const other = Object.keys(content).find((name) => name !== "data" && name !== "binaryData");
  if (other !== undefined) return "the file has a field other than data and binaryData";
  const values = new Map<string, Buffer>();
  for (const field of ["data", "binaryData"] as const) {
    const entries = content[field] ?? {};
    if (!isRecord(entries)) return `${field} must have keys and values`;
    for (const key of Object.keys(entries)) {
      const value = stringAt(entries, key);
      const problem = dataKeyProblem(key);
      if (problem !== undefined) return problem;
      if (value === undefined) return `the value of ${key} must be text; quote it`;
      if (values.has(key)) return `${key} is under data and under binaryData`;
      if (field === "binaryData" && !isBase64(value)) return `the value of ${key} is not base64`;
      values.set(key, Buffer.from(value, field === "data" ? "utf8" : "base64"));
    }
  }
  return values;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** What changed between two sets of values. */
export function changeBetween(before: PlainValues, after: PlainValues): ValuesChange {
  const changed = [...after].filter(([key, bytes]) => before.get(key)?.equals(bytes) !== true);
  return {
    set: new Map(changed),
    removed: [...before.keys()].filter((key) => !after.has(key)),
  };
}

/** The keys that two changes of the same values both touch. */
export function conflictingKeys(one: ValuesChange, other: ValuesChange): readonly string[] {
  const touched = new Set([...other.set.keys(), ...other.removed]);
  return [...one.set.keys(), ...one.removed].filter((key) => touched.has(key));
}

/** The values after a change. */
export function applied(values: PlainValues, { set, removed }: ValuesChange): PlainValues {
  const kept = [...values].filter(([key]) => !removed.includes(key));
  return new Map([...kept, ...set]);
}
