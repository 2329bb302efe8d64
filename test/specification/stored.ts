import type { Raw, Texts } from "./raw.ts";

/** What an API server has stored, as a value. */
export interface Stored {
  /** By `<plural>/<namespace>/<name>`. */
  readonly objects: ReadonlyMap<string, Raw>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The objects of a kind in the API server. */
export function objectsOf({ objects }: Stored, plural: string): readonly Raw[] {
  return [...objects].filter(([id]) => id.startsWith(`${plural}/`)).map(([, object]) => object);
}

/** Whether a policy of the platform masks the values of every Secret that is written. */
export function hasFilter({ objects }: Stored): boolean {
  return objects.has("mutatingadmissionpolicies/filter");
}

/** The data of a Secret as that policy stores it. */
export function masked<T extends Texts | undefined>(data: T): T | Texts {
  return data && Object.fromEntries(Object.keys(data).map((key) => [key, "bWFza2Vk"]));
}
