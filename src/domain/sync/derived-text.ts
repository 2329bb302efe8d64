import { annotations } from "../../api/names.ts";
import { type FormatName, isName, type SyncFormat, type SyncFormatKind } from "./sync-format.ts";

/** A text that is derived from data, or why it cannot be; the reason contains no value. */
type DerivedText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "refused"; readonly why: string };

/** Reads the value of a data key; undefined if there is none. */
type ReadValue = (dataKey: string) => Uint8Array | undefined;

interface NamedText extends FormatName {
  readonly text: string;
}

type Refused = Extract<DerivedText, { kind: "refused" }>;

/** Derives the text of a form from data with these keys. */
export function derivedText(
  format: SyncFormat,
  dataKeys: readonly string[],
  read: ReadValue,
): DerivedText {
  const named: NamedText[] = [];
  for (const name of namesOf(format, dataKeys)) {
    const value = textAt(format.kind, name, read);
    if (value.kind === "refused") return value;
    named.push({ ...name, text: value.text });
  }
  switch (format.kind) {
    case "dotenv":
      return dotenvText(named);
    case "json":
      return { kind: "text", text: jsonText(named.map(({ name, text }) => [name, text])) };
    case "dockerconfigjson":
      return registryText(named);
  }
}

/** The names of the text, in order. */
function namesOf({ kind, from }: SyncFormat, dataKeys: readonly string[]): readonly FormatName[] {
  if (kind === "dockerconfigjson")
    return ["server", "username", "password", "email"].flatMap((name) => {
      const given = from.find((one) => one.name === name);
      if (given !== undefined) return [given];
      return name === "email" && !dataKeys.includes(name) ? [] : [{ name, dataKey: name }];
    });
  const names =
    from.length === 0 ? dataKeys.map((dataKey) => ({ name: dataKey, dataKey })) : [...from];
  return names.sort((one, other) => (one.name < other.name ? -1 : 1));
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textAt(kind: SyncFormatKind, { name, dataKey }: FormatName, read: ReadValue): DerivedText {
  if (!isName(kind, name))
    return refused(
      dataKey,
      `is not the name of a variable; give it one in ${annotations.syncFormatFrom}: NAME=${shortened(dataKey)}`,
    );
  const bytes = read(dataKey);
  if (bytes === undefined)
    return refused(dataKey, `does not exist; add it, or change ${annotations.syncFormatFrom}`);
  try {
    return { kind: "text", text: utf8.decode(bytes) };
  } catch {
    return refused(dataKey, "has a value that is not UTF-8, which this form cannot hold");
  }
}

function refused(dataKey: string, what: string): Refused {
  return {
    kind: "refused",
    why: `${annotations.syncFormat}: key ${JSON.stringify(shortened(dataKey))} of spec.data ${what}`,
  };
}

function shortened(dataKey: string): string {
  return dataKey.length <= 64 ? dataKey : `${dataKey.slice(0, 64)}...`;
}

/** Lines `NAME=value` that the parsers of Node, Go and Compose read in the same way. */
function dotenvText(named: readonly NamedText[]): DerivedText {
  const lines: string[] = [];
  for (const { name, dataKey, text } of named) {
    if (text.includes("\0"))
      return refused(dataKey, "has a value with a NUL byte, which no variable can hold");
    const value = dotenvValue(text);
    if (value === undefined)
      return refused(
        dataKey,
        "has a value whose quotes, backticks, dollar signs, backslashes and line breaks parsers of dotenv files read in different ways; use the form json",
      );
    lines.push(`${name}=${value}\n`);
  }
  return { kind: "text", text: lines.join("") };
}

/**
 * A value of a dotenv file, always in quotes in which a shell that sources the file runs nothing;
 * undefined if no way of quoting it is read back by all of npm dotenv (regular and fast), godotenv
 * and Compose. In double quotes, dotenv expands only \n and \r, and the others expand more; in
 * single quotes nothing is expanded, but dotenv turns \r into \n, godotenv drops the last dashes of
 * a line, and a backslash escapes the closing quote.
 */
export function dotenvValue(text: string): string | undefined {
  const isRaw = !/['\r]/.test(text) && !text.endsWith("\\");
  if (isRaw && !text.includes("\n")) return `'${text}'`;
  if (!/["$\\`]/.test(text))
    return `"${text.replaceAll("\n", String.raw`\n`).replaceAll("\r", String.raw`\r`)}"`;
  return isRaw && !text.includes("---\n") ? `'${text}'` : undefined;
}

/** A JSON object (RFC 8259) with texts or objects as values, in this order. */
function jsonText(entries: readonly (readonly [string, string])[]): string {
  // An object literal would give the name __proto__ another meaning.
  return `{${entries.map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`).join(",")}}`;
}

/** The credentials of an image registry (Kubernetes, "Docker config Secrets"). */
function registryText(named: readonly NamedText[]): DerivedText {
  const textOf = (name: string): string => named.find((one) => one.name === name)?.text ?? "";
  for (const { name, dataKey, text } of named) {
    const problem = loginProblem(name, text);
    if (problem !== undefined) return refused(dataKey, problem);
  }
  const auth = Buffer.from(`${textOf("username")}:${textOf("password")}`).toString("base64");
  const login = jsonText([
    ...named.filter(({ name }) => name !== "server").map(({ name, text }) => [name, text] as const),
    ["auth", auth],
  ]);
  return { kind: "text", text: `{"auths":{${JSON.stringify(textOf("server"))}:${login}}}` };
}

function loginProblem(name: string, text: string): string | undefined {
  if (name === "server" && !/^[\x21-\x7e]+$/.test(text))
    return "must be the address of a registry, without spaces and line breaks";
  if (name === "username" && /[:\0]/.test(text))
    return "must not contain a colon or a NUL byte in a user name";
  if (name === "password" && text.includes("\0"))
    return "must not contain a NUL byte in a password";
  return undefined;
}
