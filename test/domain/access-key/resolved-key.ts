import type { ObservedAccessKey } from "../../../src/api/owned-access-key.ts";
import type { ResolvedKey } from "../../../src/domain/access-key/key-state.ts";
import { resolvedKeyWith } from "../../support/review-fixture.ts";

/** The fields in which a key of these tests may differ. */
export interface KeyChanges extends Omit<Partial<ResolvedKey>, "key"> {
  readonly key?: Partial<ObservedAccessKey>;
  readonly spec?: Partial<ObservedAccessKey["spec"]>;
  /** The owner of the key; alice by default. */
  readonly owner?: { readonly user?: string; readonly team?: string; readonly subject?: string };
}

/** A valid key, with these changes. */
export function resolvedKey({
  key,
  spec,
  owner = { user: "alice" },
  ...others
}: KeyChanges = {}): ResolvedKey {
  const { key: valid, ...rest } = resolvedKeyWith();
  const { user: _, ...terms } = valid.spec;
  return { ...rest, key: { ...valid, spec: { ...terms, ...owner, ...spec }, ...key }, ...others };
}
