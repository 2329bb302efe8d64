import { createHash } from "node:crypto";
import { isEqual, nameOf, type Raw, type Texts } from "./raw.ts";

/*
 * What sync means, over objects as the API server stores them: from docs/shared-secret.md and the
 * decisions about copies and placeholders. Calls no code of src.
 */

const group = "management.service/";

/** The label or annotation of Latchkey's group with this name. */
export function mark(
  object: Raw | undefined,
  name: string,
  from: "labels" | "annotations" = "annotations",
): string | undefined {
  return object?.metadata[from]?.[`${group}${name}`];
}

/** Whether Latchkey's finalizer is on an object. */
export function hasFinalizer({ metadata }: Raw): boolean {
  return metadata.finalizers?.includes(`${group}cleanup`) === true;
}

/** Whether an object is being deleted. */
export function isDeleting({ metadata }: Raw): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Whether a Secret has nothing but the empty values that its type requires. */
export function isEmpty({ data = {} }: Raw): boolean {
  return Object.values(data).every((value) => ["", "e30=", "IA=="].includes(value));
}

/** Whether nobody but others can take the data of a Secret: immutable, and kept by finalizers. */
export function isSealed(secret: Raw): boolean {
  return secret.immutable === true && isDeleting(secret);
}

/** SharedSecrets, namespaces and Secrets, as a cache or the API server has them. */
export interface Sides {
  readonly sources: readonly Raw[];
  readonly namespaces: readonly Raw[];
  readonly secrets: readonly Raw[];
  /** Whether a policy of the platform masks what is written. */
  readonly isFiltered?: boolean;
}

/** The object with this key. */
export function byName(objects: readonly Raw[], key: string | undefined): Raw | undefined {
  return objects.find(({ metadata }) => nameOf(metadata) === key);
}

/** The SharedSecret that a Secret says it is a copy of, if the annotation names this Secret. */
export function copiedFrom(secret: Raw | undefined): string | undefined {
  const [from, to] = mark(secret, "copy-of")?.split(" -> ") ?? [];
  return secret !== undefined && to === nameOf(secret.metadata) ? from : undefined;
}

/** The SharedSecret that a placeholder asks for; undefined if the Secret is none. */
export function requestOf(secret: Raw | undefined): string | undefined {
  const [name, namespace] = ["name", "namespace"].map((part) =>
    mark(secret, `sharedsecret-${part}`, "labels"),
  );
  return name === undefined ? undefined : `${namespace ?? ""}/${name}`;
}

/** Whether `disable-sync` is set. */
export function isPaused(object: Raw | undefined): boolean {
  return mark(object, "disable-sync") === "true";
}

/** The projects that a SharedSecret names; undefined if the list cannot be read. */
export function projectsOf(source: Raw): readonly string[] | undefined {
  const items = (mark(source, "sync-to-projects") ?? "")
    .split(/[,\n\r]/)
    .map((item) => item.trim());
  const named = items.filter((item) => item !== "");
  return named.every((item) => /^[-A-Za-z0-9_.*]+$/.test(item)) ? named : undefined;
}

/** The clusters that a SharedSecret names; undefined if the list cannot be read. */
export function clustersOf(source: Raw): readonly string[] | undefined {
  const items = (mark(source, "sync-to-clusters") ?? "")
    .split(/[,\n\r]/)
    .map((item) => item.trim());
  const named = items.filter((item) => item !== "");
  return named.every((item) => /^(?:[-a-z0-9.]+|\*)$/.test(item)) ? named : undefined;
}

/** Whether a SharedSecret is valid, and has data, its own or that of the Secret that it follows. */
export function isValid(source: Raw): boolean {
  return hasValidOptions(source) && source.followed?.state !== "kept";
}

/** Whether the annotations and the data keys of a SharedSecret are valid. */
export function hasValidOptions(source: Raw): boolean {
  const isRead = projectsOf(source) !== undefined && clustersOf(source) !== undefined;
  const names = ["data-from", "data-from-keys"].map((name) => mark(source, name));
  const isFollowed = names.every((name) => name === undefined) || source.followed !== undefined;
  const hasRightKeys = !Object.keys(source.spec?.data ?? {}).some((key) => key.startsWith(".."));
  return (
    isRead &&
    isFollowed &&
    !typeOf(source).startsWith("helm.sh/") &&
    /^[-a-z0-9.]+$/.test(copyName(source)) &&
    ["true", "false"].includes(mark(source, "disable-sync") ?? "false") &&
    (hasRightKeys || !isOffered(source))
  );
}

/** Whether a SharedSecret asks to be synced, and the Secret that it follows lets it. */
export function isOffered(source: Raw): boolean {
  return projectsOf(source)?.length !== 0 && source.followed?.state !== "withdrawn";
}

/** The name of the copies of a SharedSecret. */
export function copyName(source: Raw): string {
  return mark(source, "sync-secret-name") ?? source.metadata.name;
}

/** The type of the copies of a SharedSecret. */
export function typeOf(source: Raw): string {
  const followed = source.followed?.state === "data" ? source.followed.type : undefined;
  return mark(source, "sync-secret-type") ?? followed ?? "Opaque";
}

/**
 * Whether both sides agree that data of a SharedSecret is in a namespace; "unread" if everything but
 * the list of projects, which is invalid, says so.
 */
export function consent(
  source: Raw | undefined,
  namespace: Raw | undefined,
  way: "copy" | "placeholder",
): "given" | "unread" | "withheld" {
  if (source === undefined || namespace === undefined) return "withheld";
  if (isDeleting(source) || isDeleting(namespace)) return "withheld";
  if (source.followed?.state === "withdrawn") return "withheld";
  const project = mark(namespace, "project", "labels");
  const from = mark(namespace, "sync-from");
  const froms = from?.split(/[,\n\r]/).map((name) => name.trim());
  if (froms?.some((name) => !/^[-A-Za-z0-9_.*]*$/.test(name)) === true) return "withheld";
  if (project === undefined) return "withheld";
  if (way === "copy" && mark(namespace, "sync") !== "enabled") return "withheld";
  if (froms?.includes(source.metadata.namespace ?? "") === false) return "withheld";
  const projects = projectsOf(source);
  if (projects === undefined) return "unread";
  return projects.some((glob) => fits(project, glob)) ? "given" : "withheld";
}

/** Whether a glob matches the name of a project. */
export function fits(project: string, glob: string): boolean {
  return new RegExp(`^${glob.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(project);
}

/** The key of the Secret that a SharedSecret follows, if it follows one. */
export function followedKey(source: Raw): string | undefined {
  if (source.followed === undefined) return undefined;
  return nameOf({ ...source.metadata, name: mark(source, "data-from") ?? "" });
}

/** The key of the copy for those who may get a SharedSecret that follows a Secret. */
export function readersKey({ metadata, followed }: Raw): string | undefined {
  if (followed === undefined) return undefined;
  const hash = createHash("sha256")
    .update(JSON.stringify([metadata.uid]))
    .digest("hex");
  return nameOf({ ...metadata, name: `latchkey-data-${hash.slice(0, 16)}` });
}

/** Whether the copy for readers may stay. */
export function mayHaveReadersCopy(source: Raw): boolean {
  const { owner, access = [] } = source.spec ?? {};
  const isRead = access.some(
    ({ verbs = [], users = [], teams = [] }) =>
      verbs.some((verb) => verb === "get" || verb === "*") && users.length + teams.length > 0,
  );
  const hasReaders = isRead || owner?.user !== undefined || owner?.team !== undefined;
  const isLive = source.metadata.deletionTimestamp === undefined;
  return hasReaders && isLive && ["data", "kept"].includes(source.followed?.state ?? "");
}

/** A SharedSecret as the source of its copy for readers, which is of no type. */
export function asForReaders(source: Raw): Raw {
  const { [`${group}sync-secret-type`]: _, ...annotations } = source.metadata.annotations ?? {};
  const followed = { state: "data", type: "Opaque" } as const;
  return { ...source, metadata: { ...source.metadata, annotations }, followed };
}

/** Whether a SharedSecret may write to a namespace. */
export function maySync(
  source: Raw,
  namespace: Raw | undefined,
  way: "copy" | "placeholder",
): boolean {
  return isValid(source) && consent(source, namespace, way) === "given";
}

/** Whether the data of a Secret of Latchkey may stay in it, however it is paused. */
export function mayStay(secret: Raw, { sources, namespaces }: Sides): boolean {
  const from = copiedFrom(secret);
  const request = requestOf(secret);
  if (from === undefined) return true;
  if (request !== undefined && request !== from) return false;
  const source = byName(sources, from);
  const way = request === undefined ? "copy" : "placeholder";
  if (request === undefined && mark(secret, "filled") === "true") return false;
  if (source === undefined) return false;
  if (readersKey(source) === nameOf(secret.metadata)) return mayHaveReadersCopy(source);
  const given = consent(source, byName(namespaces, secret.metadata.namespace), way);
  // What is merely invalid keeps its copies, of any name: it does not say which name it wants.
  if (!isValid(source)) return given !== "withheld";
  return given === "given" && (way === "placeholder" || copyName(source) === secret.metadata.name);
}

/** The SharedSecret whose data a Secret of this name should have, if any. */
export function wantedAt(
  key: string,
  { sources, namespaces, secrets }: Sides,
): { readonly source: Raw | undefined; readonly rivals: readonly Raw[] } {
  const [namespaceName, name] = key.split("/");
  const namespace = byName(namespaces, namespaceName);
  const secret = byName(secrets, key);
  const request = requestOf(secret);
  const readers = request === undefined && sources.find((one) => readersKey(one) === key);
  if (readers && readers.followed?.state === "data" && mayHaveReadersCopy(readers))
    return { source: asForReaders(readers), rivals: [readers] };
  const way = request === undefined ? "copy" : "placeholder";
  const rivals = sources
    .filter((source) => maySync(source, namespace, way))
    .filter((source) =>
      request === undefined ? copyName(source) === name : nameOf(source.metadata) === request,
    )
    .sort((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1));
  // An older SharedSecret that is merely invalid keeps its copies.
  const owner = byName(sources, copiedFrom(secret));
  const isKept =
    secret !== undefined &&
    owner !== undefined &&
    !isValid(owner) &&
    mayStay(secret, { sources, namespaces, secrets });
  const [source] = rivals;
  if (isTakenBySource(key, { sources, namespaces, secrets })) return { source: undefined, rivals };
  if (source === undefined || (isKept && request === undefined && ageOf(owner) < ageOf(source)))
    return { source: undefined, rivals };
  return { source, rivals };
}

/** Whether a SharedSecret follows the Secret of this name, and it is none of Latchkey's, or missing. */
export function isTakenBySource(key: string, { sources, secrets }: Sides): boolean {
  if (!sources.some((source) => followedKey(source) === key)) return false;
  const existing = byName(secrets, key);
  return existing === undefined || !isManaged(existing, sources);
}

function ageOf({ metadata }: Raw): string {
  return `${metadata.creationTimestamp} ${metadata.uid}`;
}

/** The own data key and that of the source of each item; undefined if the list is invalid. */
function pickedKeys(text: string): readonly (readonly [string, string])[] | undefined {
  const items = text.split(/[,\n]/).map((item) => item.trim());
  const keys = items
    .filter((item) => item !== "")
    .map((item) => {
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

/** The data that a placeholder picks, or all data; undefined if it cannot be picked. */
export function dataFor(source: Raw, secret: Raw | undefined): Texts | undefined {
  const all = source.spec?.data ?? {};
  const list = requestOf(secret) === undefined ? undefined : mark(secret, "sync-keys");
  if (list === undefined) return all;
  if (Object.keys(all).length > 256) return undefined;
  const picked = (pickedKeys(list) ?? [["", ""]]).map(([own, key]) => [own, all[key]] as const);
  const found = picked.flatMap(([own, value]) =>
    value === undefined ? [] : [[own, value] as const],
  );
  return found.length === picked.length ? Object.fromEntries(found) : undefined;
}

/** Whether a placeholder can have the data that it asks for. */
export function canFill(secret: Raw, source: Raw): boolean {
  const data = dataFor(source, secret);
  if (data === undefined || secret.type?.startsWith("helm.sh/") === true) return false;
  return secret.immutable !== true || isEqual(secret.data ?? {}, data);
}

/** Whether the API server accepts the data of a SharedSecret in a Secret (ValidateSecret). */
export function isAccepted(secret: Raw | undefined, source: Raw): boolean {
  const data = dataFor(source, secret) ?? {};
  const isJson = (value = ""): boolean => Buffer.from(value, "base64").toString().startsWith("{");
  switch (requestOf(secret) === undefined ? typeOf(source) : (secret?.type ?? "")) {
    case "kubernetes.io/tls":
      return data["tls.crt"] !== undefined && data["tls.key"] !== undefined;
    case "kubernetes.io/basic-auth":
      return data["username"] !== undefined || data["password"] !== undefined;
    case "kubernetes.io/ssh-auth":
      return (data["ssh-privatekey"] ?? "") !== "";
    case "kubernetes.io/dockerconfigjson":
      return isJson(data[".dockerconfigjson"]);
    default:
      return true;
  }
}

/**
 * Whether Latchkey may write the data of a SharedSecret into a Secret: nothing is recreated because
 * of its label alone.
 */
export function mayTake(secret: Raw, source: Raw): boolean {
  if (!isManaged(secret, [source])) return false;
  const isSealed =
    secret.immutable === true && !isEqual(secret.data ?? {}, dataFor(source, secret));
  const isKnown = copiedFrom(secret) !== undefined || requestOf(secret) !== undefined;
  return isKnown || (!isSealed && secret.type === typeOf(source));
}

/** Whether Latchkey manages a Secret: by its annotation, or by the label of a source alone. */
export function isManaged(secret: Raw, sources: readonly Raw[]): boolean {
  if (copiedFrom(secret) !== undefined || requestOf(secret) !== undefined) return true;
  const uid = mark(secret, "source-uid", "labels");
  return (
    mark(secret, "copy-of") === undefined && sources.some(({ metadata }) => metadata.uid === uid)
  );
}
