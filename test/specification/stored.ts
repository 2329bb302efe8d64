import type { Raw } from "./raw.ts";

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
