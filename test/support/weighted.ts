import fc from "fast-check";

/** One of these values, each as often as its weight says. */
export function weighted<Ts extends unknown[]>(
  ...choices: { [K in keyof Ts]: readonly [weight: number, arbitrary: fc.Arbitrary<Ts[K]>] }
): fc.Arbitrary<Ts[number]> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}
