import { annotations } from "../../api/names.ts";
import { isDataKey, isSecretKey } from "../../api/data-key.ts";
import { quoted } from "../report-object.ts";
import { optionItems } from "./option-items.ts";

/** How the data of copies is derived from the data of the SharedSecret. */
export interface SyncFormat {
  readonly kind: SyncFormatKind;
  /** The only data key of the copies. */
  readonly key: string;
  /** Names in the derived text, with their data keys; empty for the default names. */
  readonly from: readonly FormatName[];
}

/** The forms of `sync-format`. */
type SyncFormatKind = keyof typeof forms;

/** A name in the derived text, and the data key of its value. */
interface FormatName {
  readonly name: string;
  readonly dataKey: string;
}

/** The options of the form, or why one of them is invalid. */
type SyncFormatOption = { readonly kind: "format"; readonly format?: SyncFormat } | Refused;

/** Why an option is invalid, or why no text can be derived. */
interface Refused {
  readonly kind: "refused";
  readonly why: string;
}

/** The type of a Secret with credentials of image registries (Kubernetes, "Secret types"). */
const registryType = "kubernetes.io/dockerconfigjson";
const registryKey = ".dockerconfigjson";

/**
 * For each form: the default key, the type of copies, the names that it can have, and how the text
 * is written.
 */
const forms = {
  dotenv: {
    key: ".env",
    type: "Opaque",
    name: /^[A-Za-z_][A-Za-z0-9_]*$/,
    names: "must be the name of a variable: letters, digits and '_', and no digit first",
    text: dotenvText,
  },
  dockerconfigjson: {
    key: registryKey,
    type: registryType,
    name: /^(?:server|username|password|email)$/,
    names: "must be one of server, username, password and email",
    text: registryText,
  },
  json: {
    key: "data.json",
    type: "Opaque",
    name: /^[-._a-zA-Z0-9]+$/,
    names: "must consist of letters, digits, '-', '_' and '.'",
    text: jsonText,
  },
} as const;

const bounds = { items: 64, bytes: 4096 };

/** The type of copies with this form, unless `sync-secret-type` sets another. */
export function typeOf(format: SyncFormat | undefined): string | undefined {
  return format === undefined ? undefined : forms[format.kind].type;
}

/** Whether a text can be a name in the derived text. */
function isName(kind: SyncFormatKind, text: string): boolean {
  return forms[kind].name.test(text);
}

/** Parses `sync-format`, `sync-format-key` and `sync-format-from` of a SharedSecret. */
export function syncFormatOf(given: Readonly<Record<string, string>>): SyncFormatOption {
  const kind = given[annotations.syncFormat];
  if (kind === undefined) {
    const idle = [annotations.syncFormatKey, annotations.syncFormatFrom].find((option) =>
      Object.hasOwn(given, option),
    );
    return idle === undefined
      ? { kind: "format" }
      : refused(`${idle}: has no effect without ${annotations.syncFormat}; set it to a form`);
  }
  if (!isKind(kind))
    return refused(
      `${annotations.syncFormat}: ${quoted(kind)} is not supported; ` +
        `must be one of ${Object.keys(forms).join(", ")}`,
    );
  const key = given[annotations.syncFormatKey] ?? forms[kind].key;
  const wrong = keyProblem(key, kind, given[annotations.syncSecretType]);
  if (wrong !== undefined)
    return refused(`${annotations.syncFormatKey}: ${quoted(key)} is invalid; ${wrong}`);
  const names = namesIn(kind, given[annotations.syncFormatFrom]);
  return names.kind === "refused"
    ? names
    : { kind: "format", format: { kind, key, from: names.from } };
}

function isKind(text: string): text is SyncFormatKind {
  return Object.hasOwn(forms, text);
}

function keyProblem(
  key: string,
  kind: SyncFormatKind,
  type: string = forms[kind].type,
): string | undefined {
  if (!isSecretKey(key))
    return (
      "must have at most 253 letters, digits, '-', '_' and '.', " +
      'and must not be "." or begin with ".."'
    );
  if (type === registryType && key !== registryKey)
    return `a Secret of type ${registryType} needs the key ${JSON.stringify(registryKey)}`;
  return undefined;
}

function namesIn(
  kind: SyncFormatKind,
  text: string | undefined,
): { readonly kind: "names"; readonly from: readonly FormatName[] } | Refused {
  const option = annotations.syncFormatFrom;
  const items = optionItems(text, bounds);
  if (items.kind === "refused") return refused(`${option}: ${items.why}`);
  const from = items.items.map(({ text: item, key, value = key }) => ({
    item,
    name: key,
    dataKey: value,
  }));
  const badName = from.find(({ name }) => !isName(kind, name));
  if (badName !== undefined)
    return refused(`${option}: ${quoted(badName.item)} is invalid; the name ${forms[kind].names}`);
  const badKey = from.find((one) => !isDataKey(one.dataKey));
  if (badKey !== undefined)
    return refused(
      `${option}: ${quoted(badKey.item)} is invalid; must have the form <name>=<data key>`,
    );
  return { kind: "names", from: from.map(({ name, dataKey }) => ({ name, dataKey })) };
}

function refused(why: string): Refused {
  return { kind: "refused", why };
}

/** A text that is derived from data, or why it cannot be; the reason contains no value. */
type DerivedText = { readonly kind: "text"; readonly text: string } | Refused;

/** Reads the value of a data key; undefined if there is none. */
type ReadValue = (dataKey: string) => Uint8Array | undefined;

interface NamedText extends FormatName {
  readonly text: string;
}

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
  return forms[format.kind].text(named);
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
    return unfit(
      dataKey,
      `is not the name of a variable; give it one in ${annotations.syncFormatFrom}: ` +
        `NAME=${shortened(dataKey)}`,
    );
  const bytes = read(dataKey);
  if (bytes === undefined)
    return unfit(dataKey, `does not exist; add it, or change ${annotations.syncFormatFrom}`);
  try {
    return { kind: "text", text: utf8.decode(bytes) };
  } catch {
    return unfit(dataKey, "has a value that is not UTF-8, which this form cannot hold");
  }
}

function unfit(dataKey: string, what: string): Refused {
  return {
    kind: "refused",
    why: `${annotations.syncFormat}: key ${quoted(dataKey)} of spec.data ${what}`,
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
      return unfit(dataKey, "has a value with a NUL byte, which no variable can hold");
    const value = dotenvValue(text);
    if (value === undefined)
      return unfit(
        dataKey,
        "has a value whose quotes, backticks, dollar signs, backslashes and line breaks " +
          "parsers of dotenv files read in different ways; use the form json",
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

function jsonText(named: readonly NamedText[]): DerivedText {
  return { kind: "text", text: jsonObject(named.map(({ name, text }) => [name, text])) };
}

/** A JSON object (RFC 8259) with these texts as values, in this order. */
function jsonObject(entries: readonly (readonly [string, string])[]): string {
  // An object literal would give the name __proto__ another meaning.
  const members = entries.map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`);
  return `{${members.join(",")}}`;
}

/** The credentials of an image registry (Kubernetes, "Docker config Secrets"). */
function registryText(named: readonly NamedText[]): DerivedText {
  const textOf = (name: string): string => named.find((one) => one.name === name)?.text ?? "";
  for (const { name, dataKey, text } of named) {
    const problem = loginProblem(name, text);
    if (problem !== undefined) return unfit(dataKey, problem);
  }
  const auth = Buffer.from(`${textOf("username")}:${textOf("password")}`).toString("base64");
  const login = jsonObject([
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
