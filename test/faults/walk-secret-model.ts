import { annotations, labels } from "../../src/api/names.ts";
import {
  agrees,
  isNamed,
  isValid,
  type SharedSecretState,
  type World,
  keyOf,
  namespaceAgrees,
  pickedKeys,
  requestOf,
  type Request,
  type Texts,
} from "./walk-secret-world.ts";

/** A Secret in a project namespace, as stored in the API server. */
export interface SecretState {
  readonly namespace: string;
  readonly name: string;
  /** Undefined if Latchkey has created it since the last look. */
  readonly uid?: string;
  /** Undefined if Latchkey has written it since the last look. */
  readonly resourceVersion?: string;
  readonly type: string;
  readonly immutable: boolean;
  readonly data: Texts;
  readonly labels: Texts;
  /** Without the reason of Latchkey. */
  readonly annotations: Texts;
  /** Whether the Secret says why it is not filled, or stale. */
  readonly hasReason: boolean;
}

/** The place of a Secret. */
export type Place = Pick<SecretState, "namespace" | "name">;

/**
 * The Secret after the next write of Latchkey, undefined if there is none; the same state if
 * Latchkey leaves it alone. From docs/shared-secret.md and docs/decisions/placeholders.md, without
 * Latchkey's code.
 */
export function stepped(
  secret: SecretState | undefined,
  place: Place,
  world: World,
): SecretState | undefined {
  if (secret === undefined) return newCopy(place, world);
  const request = requestOf(secret);
  if (request !== undefined) return placeholder(secret, request, world);
  return isFilled(secret) && copiedFrom(secret) !== undefined
    ? emptied(secret)
    : copy(secret, world);
}

/** The Secret when Latchkey has nothing left to write. */
export function settled(
  secret: SecretState | undefined,
  place: Place,
  world: World,
): SecretState | undefined {
  let state = secret;
  for (let steps = 0; steps < 10; steps += 1) {
    const next = stepped(state, place, world);
    if (next === state) return state;
    state = next;
  }
  throw new Error(`the model never rests at ${place.namespace}/${place.name}`);
}

function placeholder(secret: SecretState, request: Request, world: World): SecretState | undefined {
  const namespace = world.namespaces[secret.namespace];
  const source = sourceNamed(request.source, world);
  const from = copiedFrom(secret);
  const hasOther = from !== undefined && from !== request.source;
  if (namespace !== undefined && source !== undefined && isValid(source)) {
    if (agrees(source, namespace)) return answered(secret, source, { request, hasOther });
  }
  if (from === undefined) return withReason(secret);
  const mayBeAgreed =
    namespace !== undefined &&
    source !== undefined &&
    !isValid(source) &&
    namespaceAgrees(source, namespace) &&
    isNamed(source, namespace, { unreadable: true });
  return hasOther || !mayBeAgreed ? emptied(secret, "with its reason") : withReason(secret);
}

/** A placeholder whose SharedSecret is permitted. */
function answered(
  secret: SecretState,
  source: SharedSecretState,
  { request, hasOther }: { readonly request: Request; readonly hasOther: boolean },
): SecretState | undefined {
  const isPaused = [source, secret].some(
    ({ annotations: given }) => given[annotations.disableSync] === "true",
  );
  const data = request.isInvalid ? undefined : pickedData(source, request);
  const canBeFilled =
    data !== undefined &&
    !isRefused(secret.type) &&
    isAccepted(secret.type, data) &&
    (!secret.immutable || haveSame(secret.data, data));
  if (isPaused || !canBeFilled) {
    if (hasOther) return emptied(secret, "with its reason");
    return isPaused ? secret : withReason(secret);
  }
  return written(secret, source, data);
}

/** Data with the marks of a filled placeholder, or of a copy. */
function written(
  secret: SecretState,
  source: SharedSecretState,
  data: Texts,
  filled = true,
): SecretState {
  const { [annotations.filled]: _, ...others } = secret.annotations;
  const next: SecretState = {
    ...withoutVersion(secret),
    data,
    labels: { ...secret.labels, [labels.sourceUid]: source.uid },
    annotations: {
      ...others,
      [annotations.copyOf]: `${keyOf(source)} -> ${keyOf(secret)}`,
      ...(filled ? { [annotations.filled]: "true" } : {}),
    },
    hasReason: false,
  };
  return isSame(next, secret) ? secret : next;
}

/** Undefined if its data is immutable: then it is deleted. */
function emptied(secret: SecretState, reason?: "with its reason"): SecretState | undefined {
  if (secret.immutable) return undefined;
  const { [labels.sourceUid]: _, ...marked } = secret.labels;
  const { [annotations.copyOf]: __, [annotations.filled]: ___, ...noted } = secret.annotations;
  return {
    ...withoutVersion(secret),
    data: leastData[secret.type] ?? {},
    labels: marked,
    annotations: noted,
    hasReason: reason !== undefined,
  };
}

/** A text of the reason may be written again, for another reason. */
function withReason(secret: SecretState): SecretState {
  if (isRefused(secret.type)) return secret;
  const { resourceVersion, ...rest } = secret;
  if (resourceVersion === undefined && secret.hasReason) return secret;
  return { ...rest, hasReason: true };
}

function newCopy({ namespace, name }: Place, world: World): SecretState | undefined {
  const source = copiedTo({ namespace, name }, world);
  if (source === undefined || source.annotations[annotations.disableSync] === "true")
    return undefined;
  const bare = {
    namespace,
    name,
    type: "Opaque",
    immutable: false,
    labels: {},
    annotations: {},
    hasReason: false,
  };
  return written({ ...bare, data: {} }, source, source.data, false);
}

/** A Secret that neither asks nor was filled: a copy, or one that Latchkey does not manage. */
function copy(secret: SecretState, world: World): SecretState | undefined {
  const source = copiedTo(secret, world);
  const owner = ownerOf(secret, world);
  const from = copiedFrom(secret);
  const namespace = world.namespaces[secret.namespace];
  const isKept =
    from !== undefined &&
    owner !== undefined &&
    namespace !== undefined &&
    !isValid(owner) &&
    namespaceAgrees(owner, namespace) &&
    namespace.sync === "enabled" &&
    isNamed(owner, namespace, { unreadable: true });
  if (isKept && (source === undefined || isOlder(owner, source)))
    return secret.labels[labels.sourceUid] === undefined
      ? relabelled(secret, owner)
      : withReason(secret);
  if (source === undefined) return from === undefined ? secret : undefined;
  const isPaused = [source, secret].some(
    ({ annotations: given }) => given[annotations.disableSync] === "true",
  );
  const isManaged =
    from !== undefined || (!isPasted(secret) && secret.labels[labels.sourceUid] === source.uid);
  if (!isManaged) return secret;
  if (isPaused) return isWithdrawn(secret, world) ? undefined : secret;
  if (from !== undefined && secret.labels[labels.sourceUid] === undefined)
    return relabelled(secret, source);
  if (secret.type !== "Opaque" || (secret.immutable && !haveSame(secret.data, source.data)))
    return from === undefined ? secret : newCopy(secret, world);
  return written(secret, source, source.data, false);
}

/**
 * Whether the SharedSecret whose data a copy has does not exist, or may not sync there: one with an
 * invalid annotation may, if the namespace agrees.
 */
function isWithdrawn(secret: SecretState, world: World): boolean {
  const owner = ownerOf(secret, world);
  const namespace = world.namespaces[secret.namespace];
  if (owner === undefined || namespace?.sync !== "enabled") return true;
  if (!isValid(owner))
    return !namespaceAgrees(owner, namespace) || !isNamed(owner, namespace, { unreadable: true });
  const name = owner.annotations[annotations.syncSecretName] ?? owner.name;
  return !agrees(owner, namespace) || name !== secret.name;
}

function relabelled(secret: SecretState, { uid }: SharedSecretState): SecretState {
  return { ...withoutVersion(secret), labels: { ...secret.labels, [labels.sourceUid]: uid } };
}

/** The oldest SharedSecret with a copy at a place. */
function copiedTo({ namespace: at, name }: Place, world: World): SharedSecretState | undefined {
  const namespace = world.namespaces[at];
  if (namespace?.sync !== "enabled") return undefined;
  return world.sharedSecrets
    .filter((source) => !source.isDeleting && isValid(source) && agrees(source, namespace))
    .filter((source) => (source.annotations[annotations.syncSecretName] ?? source.name) === name)
    .toSorted((one, other) => (isOlder(one, other) ? -1 : 1))[0];
}

function ownerOf(secret: SecretState, world: World): SharedSecretState | undefined {
  const from = copiedFrom(secret);
  if (from !== undefined) return sourceNamed(from, world);
  const uid = secret.labels[labels.sourceUid];
  return world.sharedSecrets.find((source) => source.uid === uid && !source.isDeleting);
}

function isOlder(one: SharedSecretState, other: SharedSecretState): boolean {
  return `${one.createdAt} ${one.uid}` < `${other.createdAt} ${other.uid}`;
}

function sourceNamed(named: string | undefined, world: World): SharedSecretState | undefined {
  return world.sharedSecrets.find((source) => keyOf(source) === named && !source.isDeleting);
}

/** The SharedSecret whose data Latchkey has written into a Secret, by its annotation. */
export function copiedFrom(secret: SecretState): string | undefined {
  const [from, to] = secret.annotations[annotations.copyOf]?.split(" -> ") ?? [];
  return to === keyOf(secret) ? from : undefined;
}

function isPasted(secret: SecretState): boolean {
  return secret.annotations[annotations.copyOf] !== undefined && copiedFrom(secret) === undefined;
}

function isFilled(secret: SecretState): boolean {
  return secret.annotations[annotations.filled] === "true";
}

function pickedData(source: SharedSecretState, request: Request): Texts | undefined {
  const text = request.syncKeys;
  if (text === undefined) return source.data;
  if (Object.keys(source.data).length > 256) return undefined;
  const picked = (pickedKeys(text) ?? []).map(([own, key]) => [own, source.data[key]] as const);
  return picked.some(([, value]) => value === undefined)
    ? undefined
    : Object.fromEntries(picked.map(([own, value]) => [own, value ?? ""]));
}

/** What a type keeps when its Secret is emptied: docs/decisions/placeholders.md. */
const leastData: Readonly<Record<string, Texts>> = {
  "kubernetes.io/tls": { "tls.crt": "", "tls.key": "" },
  "kubernetes.io/basic-auth": { username: "" },
  "kubernetes.io/ssh-auth": { "ssh-privatekey": "IA==" },
  "kubernetes.io/dockerconfigjson": { ".dockerconfigjson": "e30=" },
};

function isRefused(type: string): boolean {
  return type.startsWith("helm.sh/");
}

/** Whether the API server takes this data for a type (Kubernetes, ValidateSecret). */
function isAccepted(type: string, data: Texts): boolean {
  switch (type) {
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

function isJson(value: string | undefined): boolean {
  return value !== undefined && Buffer.from(value, "base64").toString().startsWith("{");
}

function withoutVersion(secret: SecretState): SecretState {
  const { resourceVersion: _, ...rest } = secret;
  return rest;
}

function isSame(one: SecretState, other: SecretState): boolean {
  return (
    haveSame(one.data, other.data) &&
    haveSame(one.labels, other.labels) &&
    haveSame(one.annotations, other.annotations) &&
    one.hasReason === other.hasReason
  );
}

/** Whether two maps have the same entries. */
export function haveSame(one: Texts, other: Texts): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
