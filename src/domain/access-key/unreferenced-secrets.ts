/**
 * A Secret of connector data that this replica wrote; `writtenAt` in milliseconds since the epoch.
 */
export interface WrittenSecret {
  readonly name: string;
  readonly user: string;
  readonly writtenAt: number;
}

/**
 * Maximum number of unreferenced Secrets of one replica, in total and for each user: three
 * replicas, as in a rolling update, stay below 100. A Secret counts for longer than the controller
 * needs to delete it: two minutes, and at most 45 s until its cache of keys is known to be current.
 */
export const unreferencedLimits = {
  all: 32,
  perUser: 16,
  forgottenAfterMs: 3 * 60 * 1000,
} as const;

/**
 * The Secrets that count at `now`: written less than three minutes ago and referenced by no key.
 */
export function unreferencedSecrets(
  written: readonly WrittenSecret[],
  isReferenced: (name: string) => boolean,
  now: number,
): readonly WrittenSecret[] {
  return written.filter(
    ({ name, writtenAt }) =>
      now < writtenAt + unreferencedLimits.forgottenAfterMs && !isReferenced(name),
  );
}

/** Why this user must not write another Secret now; undefined if the user may. */
export function unreferencedProblem(
  unreferenced: readonly WrittenSecret[],
  user: string,
): string | undefined {
  const own = unreferenced.filter((secret) => secret.user === user).length;
  const { all, perUser } = unreferencedLimits;
  if (own < perUser && unreferenced.length < all) return undefined;
  const count = own >= perUser ? `${own} requests of this user` : `${unreferenced.length} requests`;
  return `spec.identity.connectorData: ${count} with connector data were not stored in the last 3 minutes; correct them and retry later`;
}
