import { annotations } from "../../api/names.ts";
import { isDataKey, isSecretKey } from "../names.ts";
import { optionItems, quoted } from "./option-items.ts";

/** How the data of copies is derived from the data of the SharedSecret. */
export interface SyncFormat {
  readonly kind: SyncFormatKind;
  /** The only data key of the copies. */
  readonly key: string;
  /** Names in the derived text, with their data keys; empty for the default names. */
  readonly from: readonly FormatName[];
}

/** The forms of `sync-format`. */
export type SyncFormatKind = keyof typeof forms;

/** A name in the derived text, and the data key of its value. */
export interface FormatName {
  readonly name: string;
  readonly dataKey: string;
}

/** The options of the form, or why one of them is invalid. */
type SyncFormatOption =
  | { readonly kind: "format"; readonly format?: SyncFormat }
  | { readonly kind: "refused"; readonly why: string };

/** The type of a Secret with credentials of image registries (Kubernetes, "Secret types"). */
const registryType = "kubernetes.io/dockerconfigjson";
const registryKey = ".dockerconfigjson";

/** For each form: the default key, the type of copies, and the names that it can have. */
const forms = {
  dotenv: {
    key: ".env",
    type: "Opaque",
    name: /^[A-Za-z_][A-Za-z0-9_]*$/,
    names: "must be the name of a variable: letters, digits and '_', and no digit first",
  },
  dockerconfigjson: {
    key: registryKey,
    type: registryType,
    name: /^(?:server|username|password|email)$/,
    names: "must be one of server, username, password and email",
  },
  json: {
    key: "data.json",
    type: "Opaque",
    name: /^[-._a-zA-Z0-9]+$/,
    names: "must consist of letters, digits, '-', '_' and '.'",
  },
} as const;

const bounds = { items: 64, bytes: 4096 };

/** The type of copies with this form, unless `sync-secret-type` sets another. */
export function typeOf(format: SyncFormat | undefined): string {
  return format === undefined ? "Opaque" : forms[format.kind].type;
}

/** Whether a text can be a name in the derived text. */
export function isName(kind: SyncFormatKind, text: string): boolean {
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
      `${annotations.syncFormat}: ${quoted(kind)} is not supported; must be one of ${Object.keys(forms).join(", ")}`,
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
    return "must have at most 253 letters, digits, '-', '_' and '.', and must not be \".\" or begin with \"..\"";
  if (type === registryType && key !== registryKey)
    return `a Secret of type ${registryType} needs the key ${JSON.stringify(registryKey)}`;
  return undefined;
}

function namesIn(
  kind: SyncFormatKind,
  text: string | undefined,
):
  | { readonly kind: "names"; readonly from: readonly FormatName[] }
  | Extract<SyncFormatOption, { kind: "refused" }> {
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
  return { kind: "names", from: from.map(({ name, dataKey: key }) => ({ name, dataKey: key })) };
}

function refused(why: string): Extract<SyncFormatOption, { kind: "refused" }> {
  return { kind: "refused", why };
}
