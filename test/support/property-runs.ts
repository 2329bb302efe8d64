/**
 * How often a property is checked: this often in `make test`, and PROPERTY_RUNS times as often in
 * `make verify`.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env.PROPERTY_RUNS || 1)) };
}
