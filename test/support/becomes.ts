import { expect } from "vitest";
import { eventually } from "./eventually.ts";
import { api } from "./policy-request.ts";

/**
 * Waits until the observed value matches: objects by the expected fields, other values by equality.
 */
export async function becomes(
  what: string,
  see: () => Promise<unknown>,
  expected: unknown,
): Promise<void> {
  if (typeof expected !== "object" || expected === null) return becomesExactly(what, see, expected);
  const matches = async () => {
    expect(await see()).toMatchObject(expected);
    return true;
  };
  await eventually(matches, { what });
}

/** Waits until the observed value is equal to this one. */
export async function becomesExactly(
  what: string,
  see: () => Promise<unknown>,
  expected: unknown,
): Promise<void> {
  const equals = async () => {
    expect(await see()).toEqual(expected);
    return true;
  };
  await eventually(equals, { what });
}

/** Waits until a GET of the path returns 404. */
export function becomesGone(path: string): Promise<void> {
  return becomes(`${path} to be gone`, () => api.find(path), { code: 404 });
}
