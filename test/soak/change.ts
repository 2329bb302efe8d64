import { admin, type Answer, type Ask, type Caller } from "../support/cluster-connection.ts";
import type { OwnSlot, SecretSlot } from "./slots.ts";

/** The kinds of changes, and their shares in percent. */
export const sorts = [
  ["data", 24],
  ["access", 10],
  ["projects", 8],
  ["namespace", 2],
  ["copy edited", 11],
  ["copy deleted", 9],
  ["copy unmarked", 3],
  ["placeholder asks", 4],
  ["placeholder edited", 2],
  ["bindings deleted", 1],
  ["sharedsecret", 4],
  ["key", 12],
  ["token", 10],
] as const;

/** What is changed, and how. */
export type Sort = (typeof sorts)[number][0];

/** One change of the cluster. */
export interface Change {
  readonly sort: Sort;
  readonly by: Caller;
  readonly request: Ask;
  /** Must be called with the response. */
  readonly settle: (answer: Answer) => void;
}

/** A change of an object related to a slot; other changes of the slot wait meanwhile. */
export function changeBeside(slot: { isBusy: boolean }, sort: Sort, request: Ask): Change {
  slot.isBusy = true;
  return { sort, by: admin, request, settle: () => void (slot.isBusy = false) };
}

/** A change of the object in a slot; the response shows whether the object exists. */
export function changeOf(
  slot: SecretSlot | OwnSlot,
  sort: Sort,
  request: Ask,
  by: Caller = admin,
): Change {
  slot.isBusy = true;
  const settle = ({ code, message }: Answer): void => {
    slot.isBusy = false;
    if (code === 404) slot.isThere = false;
    else if (code === 409) slot.isThere = !message.startsWith("object is being deleted");
    else if (code >= 300) slot.isThere = request.method !== "POST";
  };
  return { sort, by, request, settle };
}
