import * as names from "../../api/names.ts";
import { keyOf } from "../../api/object.ts";
import { listAt, recordAt, stringAt } from "../../api/parse.ts";
import { quoted } from "../report-object.ts";
import { contestedReason, type FailedRequest } from "./failed-request.ts";
import { refOfWrite, type StoredWrite } from "./repairs.ts";

/** Who has changed an object, and what of it (Kubernetes API reference, ManagedFieldsEntry). */
export interface Manager {
  /** What it calls itself. */
  readonly name: string;
  /** When it last changed the object, as RFC 3339. */
  readonly time: string;
  /** Such as `data`, without the names of entries. */
  readonly parts: readonly string[];
}

/** The managers of an object as the API server returns it. */
export function managersOf(raw: unknown): readonly Manager[] {
  return listAt(recordAt(raw, "metadata"), "managedFields").map((entry) => ({
    name: stringAt(entry, "manager") ?? "",
    time: stringAt(entry, "time") ?? "",
    parts: partsOf(recordAt(entry, "fieldsV1")),
  }));
}

/** The names of parts are those of the schema, so nobody makes them up. */
function partsOf(fields: Readonly<Record<string, unknown>>): readonly string[] {
  const within = { ...fields, ...recordAt(fields, "f:metadata") };
  return knownParts.filter((part) => Object.hasOwn(within, `f:${part}`));
}

const knownParts = [
  ...["data", "immutable", "type", "roleRef", "rules", "subjects", "spec", "status"],
  ...["labels", "annotations", "finalizers", "ownerReferences"],
];

/** What the API server says about an object whose repair waits. */
type FoundObject =
  | { readonly kind: "there"; readonly managers: readonly Manager[] }
  | { readonly kind: "gone" }
  | { readonly kind: "unknown" };

/** Why a write does not stay; contains no value. */
export function contestedCause(found: FoundObject): string {
  if (found.kind === "gone") return "it is deleted again and again";
  if (found.kind === "unknown") return "it is changed or deleted again and again";
  const [last] = found.managers
    .filter(({ name }) => !ownManagers.includes(name))
    .toSorted((one, other) => other.time.localeCompare(one.time));
  if (last === undefined)
    return "a mutating policy, a webhook or another process of Latchkey changes it";
  const what = last.parts.length === 0 ? "it" : `its ${last.parts.join(", ")}`;
  return `a manager that calls itself ${quoted(last.name)} changes ${what}`;
}

const ownManagers: readonly string[] = [
  ...[names.fieldManager, names.webhookFieldManager, names.gatewayFieldManager],
  ...[names.agentFieldManager, names.directFieldManager, names.authorizerFieldManager],
];

/** A write that waits because it does not stay, as the request that failed. */
export function contestedRequest(write: StoredWrite, cause: string): FailedRequest {
  const object = `${write.resource.kind} ${keyOf(refOfWrite(write))}`;
  const message = `${object} does not stay as it is written: ${cause}`;
  return {
    code: contestedReason,
    reason: contestedReason,
    message,
    requestMessage: message,
    isRefusal: false,
    isRejection: false,
    isTooLarge: false,
    isNamespaceGone: false,
    isWrite: true,
  };
}
