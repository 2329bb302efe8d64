import { revokedTokensName } from "../../src/api/names.ts";

/** The entries of the list of revoked tokens: by jti, the expiry and more. */
export type RevokedData = Readonly<Record<string, string>>;

/** How long an entry stays after the expiry of its token, in milliseconds. */
const keptMs = 300_000;

/**
 * The writes that have another reason than time: a controller removes the entries of tokens that
 * expired some minutes ago from the list of revoked tokens, also when it has nothing else to do.
 */
export function withoutSweeps(
  writes: readonly string[],
  {
    before,
    after,
    now,
  }: { readonly before: RevokedData; readonly after: RevokedData; readonly now: number },
): readonly string[] {
  if (!isSwept(before, after, now)) return writes;
  const list = new RegExp(`^PATCH /api/v1/.*/configmaps/${revokedTokensName(0)}\\?`);
  return writes.filter((write) => !list.test(write));
}

/** Whether only entries of tokens are gone that expired long enough before `now`. */
function isSwept(before: RevokedData, after: RevokedData, now: number): boolean {
  const isKept = Object.entries(after).every(([jti, entry]) => before[jti] === entry);
  const gone = Object.entries(before).filter(([jti]) => after[jti] === undefined);
  const areOver = gone.every(([, entry]) => {
    const [expiresAt = ""] = entry.split(" ");
    return Date.parse(expiresAt) + keptMs <= now;
  });
  return isKept && areOver && gone.length > 0;
}
