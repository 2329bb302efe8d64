/**
 * How often a property is checked: this often in `make test`, and PROPERTY_RUNS times as often in
 * `make verify`.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env.PROPERTY_RUNS || 1)) };
}

/** This often in `make test`, and `inVerify` times in `make verify`. */
export function runsAtLength(count: number, inVerify: number): { readonly numRuns: number } {
  return { numRuns: process.env.PROPERTY_RUNS ? inVerify : count };
}
