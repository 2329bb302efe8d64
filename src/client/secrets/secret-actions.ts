import { resources } from "../../api/resources.ts";
import type { Action } from "../cli.ts";
import { deleteOf, listOf } from "../objects/object-actions.ts";

/** `kubectl latchkey list`. */
export const listSharedSecrets: Action<"list"> = listOf(resources.sharedSecrets);

/** `kubectl latchkey delete`. */
export const deleteSharedSecrets: Action<"delete"> = deleteOf(resources.sharedSecrets);
