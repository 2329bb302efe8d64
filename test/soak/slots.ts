/**
 * A place for one object of a bounded population, with its assumed state until a response corrects
 * it.
 */
export interface Slot {
  /** A request for the object is pending. */
  isBusy: boolean;
  isThere: boolean;
  name: string;
}

/** A SharedSecret that is created and deleted. */
export interface SecretSlot extends Slot {
  readonly namespace: string;
  projects: string | undefined;
}

/** A key or a token that is created and deleted, each time with a new name. */
export interface OwnSlot extends Slot {
  readonly user: string;
  /**
   * When the object has expired and is removed, in seconds of the soak; undefined if it does not
   * expire during the soak.
   */
  endsAt: number;
}

/** A namespace that joins and leaves projects. */
export interface TargetSlot {
  isBusy: boolean;
  readonly name: string;
  project: string | undefined;
  isOpen: boolean;
}

/** A Secret that asks for a SharedSecret, or does not. */
export interface PlaceholderSlot {
  isBusy: boolean;
  readonly namespace: string;
  readonly name: string;
}

/** A random item. */
export function pick<T>(items: readonly [T, ...T[]], random: () => number): T;
export function pick<T>(items: readonly T[], random: () => number): T | undefined;
export function pick<T>(items: readonly T[], random: () => number): T | undefined {
  return items[Math.floor(random() * items.length)];
}

/** A random name of the table, by its weight. */
export function weighted<T extends string>(
  weights: readonly (readonly [T, number])[],
  random: () => number,
): T {
  const [first] = weights;
  if (first === undefined) throw new Error("nothing to choose from");
  let rest = random() * weights.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of weights) {
    rest -= weight;
    if (rest < 0) return name;
  }
  return first[0];
}
