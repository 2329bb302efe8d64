import type { Metadata } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import { isHeld, releaseWrite } from "./finalizer.ts";
import type { GrantState } from "./granted-names.ts";
import { nothingToDo, type Plan } from "./plan.ts";

/** Lets an object that is being deleted go as soon as no grant names it: a grant left over would open the next object of its name. */
export function planRelease(resource: Resource, metadata: Metadata, { named }: GrantState): Plan {
  if (named || !isHeld(metadata)) return nothingToDo;
  return { ...nothingToDo, steps: [[releaseWrite(resource, metadata)]] };
}
