import type { ResolvedKey } from "./key-state.ts";

/**
 * The user whose shares of a server the requests of a key count for; `username` is whom it acts as.
 * A key of a team that a member has made for it counts as the member, who could else have the
 * shares of a user for each group. No other key counts as its requester: one deployer requests the
 * keys of all tenants.
 */
export function personOf(
  { key, requester, parentKey, config }: ResolvedKey,
  username: string,
): string {
  const { user, team } = key.spec;
  if (user !== undefined || team === undefined || requester.kind === "unknown") return username;
  if (!requester.groups.includes(config.prefixes.team + team)) return username;
  const isMadeWithKey = parentKey !== undefined && parentKey !== "gone";
  return isMadeWithKey ? personOf(parentKey, requester.name) : requester.name;
}
