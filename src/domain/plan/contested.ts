import * as names from "../../api/names.ts";
import { keyOf } from "../../api/object.ts";
import type { Manager } from "../../api/managed-fields.ts";
import { quoted } from "../report-object.ts";
import { contestedReason, type FailedRequest } from "./failed-request.ts";
import { refOfWrite, type StoredWrite } from "./repairs.ts";

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
