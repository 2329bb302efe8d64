import type { ObjectRef } from "../api/object.ts";
import { type Resource, resources } from "../api/resources.ts";
import { grantableVerbs } from "../domain/shared-secret/access-rules.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { canExist } from "../kube/client/paths.ts";

/** A right to objects. */
export interface Right {
  readonly verb: string;
  readonly resource: Pick<Resource, "group" | "plural" | "namespaced">;
  /** All namespaces without it, if the resource is namespaced. */
  readonly namespace?: string;
  readonly name?: string;
}

/** A right that the user does not have, so that objects could not be read. */
export interface MissingRight extends Right {
  readonly verb: "get" | "list" | "create";
  readonly resource: Resource;
}

/** What was read, and the rights without which the rest could not be read. */
export interface Readable<T> {
  readonly found: T;
  readonly missing: readonly MissingRight[];
}

/** Reads with a right; `otherwise` is the result without that right. */
export async function readWith<T>(
  right: MissingRight,
  read: () => Promise<T>,
  otherwise: T,
): Promise<Readable<T>> {
  try {
    return { found: await read(), missing: [] };
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return { found: otherwise, missing: [right] };
    throw error;
  }
}

/**
 * Reads one object with a method of a cluster, such as `get`; undefined if the object does not
 * exist, or if the right to read it is missing.
 */
export async function readObject(
  resource: Resource,
  ref: ObjectRef,
  read: (resource: Resource, ref: ObjectRef) => Promise<unknown>,
): Promise<Readable<unknown>> {
  // An annotation of a Secret or a role can name it.
  if (!canExist(ref)) return { found: undefined, missing: [] };
  const { namespace, name } = ref;
  const right = {
    verb: "get",
    resource,
    ...(namespace === undefined ? {} : { namespace }),
    name,
  } as const;
  return readWith<unknown>(right, () => existing(() => read(resource, ref)), undefined);
}

/** The result of a read; undefined if there is no such object. */
export async function existing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Whether an object may exist although it was not found, because it could not be read. */
export function isHidden(
  missing: readonly MissingRight[],
  resource: Resource,
  ref: ObjectRef,
): boolean {
  return missing.some(
    (right) =>
      right.resource === resource && right.name === ref.name && right.namespace === ref.namespace,
  );
}

/** Each right once. */
export function distinctRights(missing: readonly MissingRight[]): readonly MissingRight[] {
  return [...new Map(missing.map((right) => [rightText(right), right])).values()];
}

/** A right as `kubectl auth can-i` takes it, such as `get secrets/database in namespace web`. */
export function rightText({ verb, resource, namespace, name }: Right): string {
  const group = resource.group === "" ? "" : `.${resource.group}`;
  const object = name === undefined ? "" : `/${name}`;
  const all = resource.namespaced && namespace === undefined ? " in all namespaces" : "";
  const place = namespace === undefined ? all : ` in namespace ${namespace}`;
  return `${verb} ${resource.plural}${group}${object}${place}`;
}

/** The messages of RBAC for a denied request (k8s.io/apiserver, responsewriters). */
const denied = new RegExp(
  String.raw`^(?:\S+ (?:"(?<name>[^"]*)" )?is )?forbidden: User "[^"]*" cannot ` +
    String.raw`(?<verb>[a-z:-]+) resource "(?<plural>[^"]+)" in API group "(?<group>[^"]*)"` +
    String.raw`(?: in the namespace "(?<namespace>[^"]+)")?`,
  "i",
);

/** The message of the gateway and of the webhook for a request that a scope does not allow. */
const scoped = /the scope of this credential does not allow /;

/** Which right a 403 says is missing, and who may grant it; undefined for another message. */
export function rightHint(message: string): string | undefined {
  if (scoped.test(message))
    return (
      "the scope of the key does not cover this request; " +
      "use a key with a wider scope, which needs a credential that has it"
    );
  const found = denied.exec(message)?.groups;
  const { verb, plural, group = "" } = found ?? {};
  if (verb === undefined || plural === undefined) return undefined;
  const known = Object.values(resources).find(
    (resource) => resource.plural === plural && resource.group === group,
  );
  const { namespace, name } = found ?? {};
  const right = rightText({
    verb,
    resource: { group, plural, namespaced: known?.namespaced ?? false },
    ...(namespace === undefined ? {} : { namespace }),
    ...(name ? { name } : {}),
  });
  return `you do not have the right ${right}; ${granter({ verb, plural, group, namespace, name })}`;
}

interface Denied {
  readonly verb: string;
  readonly plural: string;
  readonly group: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** Who may grant a right, as an instruction. */
function granter({ verb, plural, group, namespace, name }: Denied): string {
  const { sharedSecrets, ownedAccessKeys, endpointTokens } = resources;
  if (group !== sharedSecrets.group || verb.startsWith("impersonate")) return role(namespace);
  const isShared = plural === sharedSecrets.plural && Boolean(name);
  if (isShared && grantableVerbs.some((grantable) => grantable === verb))
    return (
      "a user who may update the SharedSecret can add you to its spec.access, " +
      `or ${role(namespace)}`
    );
  const isOwn = plural === ownedAccessKeys.plural || plural === endpointTokens.plural;
  return isOwn && verb === "create"
    ? "an administrator of the cluster can bind the ClusterRole latchkey-requester to you"
    : role(namespace);
}

function role(namespace: string | undefined): string {
  return namespace === undefined
    ? "an administrator of the cluster can grant it with a ClusterRole"
    : "an administrator of the namespace can grant it with a Role";
}
