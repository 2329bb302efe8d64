import type fc from "fast-check";

/** Something that reads what strangers write, and what holds whatever they write. */
export interface Target {
  readonly name: string;
  /**
   * Fails where an exception, a wrong grant or an endless loop is; new for each run, because it may
   * count.
   */
  readonly property: () => fc.IRawProperty<unknown>;
}

/** Throws when what every object inherits was changed. */
export function expectNoPollution(): void {
  const inherited: object = {};
  for (const name in inherited) throw new Error(`every object inherits ${JSON.stringify(name)}`);
}
