/**
 * A place for one object of a bounded population: what is believed to stand there, until an answer
 * says otherwise.
 */
export interface Slot {
  /** A request about it is on its way. */
  isBusy: boolean;
  isThere: boolean;
  name: string;
}

/** A SharedSecret that comes and goes. */
export interface SecretSlot extends Slot {
  readonly namespace: string;
  projects: string | undefined;
}

/** A key or a token that comes and goes, each time under a new name. */
export interface OwnSlot extends Slot {
  readonly user: string;
  /** When it is over and removed, in seconds of the soak; never when it does not end in time. */
  endsAt: number;
}

/** A namespace that joins projects and leaves them. */
export interface TargetSlot {
  isBusy: boolean;
  readonly name: string;
  project: string | undefined;
  isOpen: boolean;
}

/** One of the items by chance. */
export function pick<T>(items: readonly [T, ...T[]], random: () => number): T;
export function pick<T>(items: readonly T[], random: () => number): T | undefined;
export function pick<T>(items: readonly T[], random: () => number): T | undefined {
  return items[Math.floor(random() * items.length)];
}

/** A name of the table by its weight. */
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
