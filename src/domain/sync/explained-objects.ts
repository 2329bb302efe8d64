import type { ObjectRef } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { type NamedObject, nameOf } from "../cause.ts";
import type { Explanation } from "./explain.ts";

/** The SharedSecret of an explanation. */
export function sourceOf({ sourceRef }: Explanation): NamedObject {
  return { kind: resources.sharedSecrets.kind, ...refOf(sourceRef) };
}

/** The source that wins the target. */
export function winnerOf({ sourceRef, other = sourceRef }: Explanation): NamedObject {
  return { kind: resources.sharedSecrets.kind, ...refOf(other) };
}

/** The Secret at its target. */
export function secretOf({ target }: Explanation): NamedObject {
  return { kind: resources.secrets.kind, ...target };
}

/** The namespace of its target. */
export function namespaceOf({ target }: Explanation): NamedObject {
  return { kind: resources.namespaces.kind, name: target.namespace };
}

/** The kind and name of {@link sourceOf}. */
export function sourceName(explanation: Explanation): string {
  return nameOf(sourceOf(explanation));
}

/** The kind and name of {@link secretOf}. */
export function secretName(explanation: Explanation): string {
  return nameOf(secretOf(explanation));
}

/** The kind and name of {@link namespaceOf}. */
export function namespaceName(explanation: Explanation): string {
  return nameOf(namespaceOf(explanation));
}

/** The reference alone, without other fields of an object. */
export function refOf({ namespace, name }: ObjectRef): ObjectRef {
  return { ...(namespace === undefined ? {} : { namespace }), name };
}
