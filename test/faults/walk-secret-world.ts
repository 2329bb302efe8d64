import { annotations, labels } from "../../src/api/names.ts";

/** Texts by key. */
export type Texts = Readonly<Record<string, string>>;

/** A SharedSecret, as stored in the API server. */
export interface SharedSecretState {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: string;
  readonly isDeleting: boolean;
  readonly annotations: Texts;
  readonly data: Texts;
}

/** What a namespace says to Latchkey. */
export interface NamespaceState {
  readonly project?: string;
  readonly sync?: string;
  readonly syncFrom?: string;
}

/** Everything but a Secret itself that decides about it. */
export interface World {
  readonly sharedSecrets: readonly SharedSecretState[];
  readonly namespaces: Readonly<Record<string, NamespaceState>>;
}

/** What a placeholder asks for. */
export interface Request {
  /** `namespace/name` of the SharedSecret; undefined if a label is empty or missing. */
  readonly source?: string;
  readonly syncKeys?: string;
  readonly isInvalid: boolean;
}

/** `namespace/name`. */
export function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  return `${namespace}/${name}`;
}

/** What a Secret asks for, by its labels; undefined if it does not ask. */
export function requestOf({
  labels: given,
  annotations: noted,
}: {
  readonly labels: Texts;
  readonly annotations: Texts;
}): Request | undefined {
  const name = given[labels.sharedSecretName];
  if (name === undefined) return undefined;
  const namespace = given[labels.sharedSecretNamespace] ?? "";
  if (name === "" || namespace === "") return { isInvalid: true };
  const syncKeys = noted[annotations.syncKeys];
  const source = keyOf({ namespace, name });
  return syncKeys === undefined
    ? { source, isInvalid: false }
    : { source, syncKeys, isInvalid: pickedKeys(syncKeys) === undefined };
}

/** The own data key and the data key of the source of each item; undefined if the list is invalid. */
export function pickedKeys(text: string): readonly (readonly [string, string])[] | undefined {
  const items = text
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== "");
  const keys = items.map((item) => {
    const [own = "", key = own, ...rest] = item.split("=").map((part) => part.trim());
    return [own, rest.length === 0 ? key : ""] as const;
  });
  const isRight =
    keys.length > 0 &&
    keys.length <= 64 &&
    new Set(keys.map(([own]) => own)).size === keys.length &&
    keys.flat().every((key) => /^[-._a-zA-Z0-9]+$/.test(key) && !/^(\.|\.\..*)$/.test(key));
  return isRight ? keys : undefined;
}

/** Whether the options and the data of a SharedSecret are valid. */
export function isValid({ annotations: given, data }: SharedSecretState): boolean {
  const pause = given[annotations.disableSync] ?? "false";
  const hasRightData =
    projectsOf(given).length === 0 || !Object.keys(data).some((key) => key.startsWith(".."));
  return (
    isReadable(given[annotations.syncToProjects]) &&
    /^[-a-z0-9.]+$/.test(given[annotations.syncSecretName] ?? "name") &&
    ["true", "false"].includes(pause) &&
    hasRightData
  );
}

/** Whether the SharedSecret names the project, and the namespace accepts its data. */
export function agrees(source: SharedSecretState, namespace: NamespaceState): boolean {
  return namespaceAgrees(source, namespace) && isNamed(source, namespace, { unreadable: false });
}

/** Whether a namespace is in a project, and its `sync-from` does not exclude a SharedSecret. */
export function namespaceAgrees(
  { namespace: from }: SharedSecretState,
  { project, syncFrom }: NamespaceState,
): boolean {
  if (project === undefined) return false;
  return syncFrom === undefined || (isReadable(syncFrom) && entriesOf(syncFrom).includes(from));
}

/** Whether a SharedSecret names the project; `unreadable` is the answer of an invalid list. */
export function isNamed(
  { annotations: given }: SharedSecretState,
  { project = "" }: NamespaceState,
  { unreadable }: { readonly unreadable: boolean },
): boolean {
  if (!isReadable(given[annotations.syncToProjects])) return unreadable;
  return projectsOf(given).some((glob) =>
    new RegExp(`^${glob.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(project),
  );
}

function projectsOf(given: Texts): readonly string[] {
  return entriesOf(given[annotations.syncToProjects] ?? "");
}

function entriesOf(list: string): readonly string[] {
  return list
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function isReadable(list = ""): boolean {
  return entriesOf(list).every((entry) => /^[-A-Za-z0-9_.*]+$/.test(entry));
}
