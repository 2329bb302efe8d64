import type fc from "fast-check";

/** A function that reads untrusted input, and a property that holds for every input. */
export interface Target {
  readonly name: string;
  /**
   * Fails on an exception, a wrong grant or an endless loop; created for each run, because it may
   * count.
   */
  readonly property: () => fc.IRawProperty<unknown>;
}

/** Throws if Object.prototype was changed. */
export function expectNoPollution(): void {
  const inherited: object = {};
  for (const name in inherited) throw new Error(`every object inherits ${JSON.stringify(name)}`);
}
