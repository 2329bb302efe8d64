/** How much is measured; all numbers count objects unless they say otherwise. */
export interface Size {
  readonly name: "small" | "full";
  /** How often a fan-out to 200 and to 1,000 namespaces is repeated; the median counts. */
  readonly rounds: Readonly<Record<FanOutWidth, number>>;
  /** Repairs, grants and revocations that are timed. */
  readonly samples: number;
  readonly newcomers: number;
  readonly many: { readonly sources: number; readonly targets: number; readonly foreign: number };
  readonly idleSeconds: number;
  readonly tokens: number;
  readonly keys: { readonly lasting: number; readonly expiring: number; readonly withinSeconds: number; readonly requesters: number };
}

/** How many namespaces the two fan-outs go to. */
type FanOutWidth = 200 | 1000;

/** Targets of the fan-out during which newcomers come. */
export const wideTargets = 5000;

/** The sizes by name. */
export const sizes: Readonly<Record<Size["name"], Size>> = {
  small: {
    name: "small",
    rounds: { 200: 5, 1000: 2 },
    samples: 100,
    newcomers: 60,
    many: { sources: 500, targets: 10, foreign: 2500 },
    idleSeconds: 30,
    tokens: 1000,
    keys: { lasting: 1950, expiring: 50, withinSeconds: 15, requesters: 10 },
  },
  full: {
    name: "full",
    rounds: { 200: 10, 1000: 5 },
    samples: 500,
    newcomers: 200,
    many: { sources: 10_000, targets: 10, foreign: 50_000 },
    idleSeconds: 30,
    tokens: 1000,
    keys: { lasting: 99_000, expiring: 1000, withinSeconds: 60, requesters: 100 },
  },
};

/** The size of that name, small without one; throws for another name. */
export function sizeNamed(name: string | undefined): Size {
  if (name === undefined || name === "" || name === "small") return sizes.small;
  if (name === "full") return sizes.full;
  throw new Error(`SIZE is "${name}": it must be small or full`);
}
