/**
 * How often a property is checked: a third of this in `make test`, and PROPERTY_RUNS times as often
 * in `make verify`.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env.PROPERTY_RUNS || 1 / 3)) };
}

/** Whether a test has all its rows and its full size, as in `make verify`. */
export const isAtLength = Boolean(process.env.PROPERTY_RUNS);

/** This often in `make test`, and `inVerify` times in `make verify`. */
export function runsAtLength(count: number, inVerify: number): { readonly numRuns: number } {
  return { numRuns: isAtLength ? inVerify : count };
}
