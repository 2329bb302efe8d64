import type { EndpointToken } from "../../api/endpoint-token.ts";
import type { Metadata } from "../../api/object.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import type { ReportItem } from "../../api/report.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { resources } from "../../api/resources.ts";
import { quoted, reportObject } from "../report-object.ts";
import { identityOf, type Prefixes, teamUsername } from "./key-identity.ts";

/** A user of whom nothing that Latchkey accepts should be left. */
interface RevokedUser {
  /** The username, as in RBAC. */
  readonly name: string;
  /** See {@link groupsOf}. */
  readonly groups: readonly string[];
  readonly prefixes: Prefixes;
}

/** The keys and tokens of a cluster, as far as they can be read. */
export interface Credentials {
  readonly keys: readonly Pick<ObservedAccessKey, "metadata" | "spec">[];
  readonly tokens: readonly Pick<EndpointToken, "metadata">[];
  /** The uid of the access key that revokes; undefined if another credential does. */
  readonly ownKeyId?: string | undefined;
}

/** The groups that a user had when it requested one of these, each once. */
export function groupsOf(name: string, { keys, tokens }: Credentials): readonly string[] {
  const made = [...keys, ...tokens].flatMap(({ metadata }) => {
    const requester = requesterAnnotationsOf(metadata);
    return requester?.name === name ? requester.groups : [];
  });
  return [...new Set(made)];
}

/** What becomes of a key or token, and why; undefined if it is nothing to the user. */
type Access = Pick<ReportItem, "state" | "reason" | "message"> | undefined;

/**
 * The keys and tokens of a user, in the order in which they are to be ended: with state `disable`
 * the keys that act as the user or that it requested, so that it may know them; with `delete` its
 * tokens, which a key could make meanwhile. The key that revokes and those that it was made with
 * come last, because nothing can be done without them. With `info` those of its teams, which others
 * use, and those that end together with one of the former.
 */
export function userAccess(user: RevokedUser, credentials: Credentials): readonly ReportItem[] {
  const { keys, tokens, ownKeyId } = credentials;
  const byUid = new Map(keys.map(({ metadata }) => [metadata.uid, metadata] as const));
  const ofKeys = new Map(keys.map((key) => [key.metadata.uid, keyAccess(key, user)] as const));
  const endsWith = ({ annotations: given }: Metadata): Access => {
    const ended = ancestry(requesterAnnotationsOf({ annotations: given })?.keyId, byUid).find(
      ({ uid }) => (ofKeys.get(uid) ?? ofTeam("")).reason !== "ActsAsTeam",
    );
    if (ended === undefined) return undefined;
    const message = `It was made with OwnedAccessKey ${quoted(ended.name)}, and ends with that.`;
    return { state: "info", reason: "MadeWithKey", message };
  };
  const own = ancestry(ownKeyId, byUid).map(({ uid }) => uid);
  const rankOf = (uid: string): number => (uid === ownKeyId ? 3 : own.includes(uid) ? 2 : 0);
  const { ownedAccessKeys, endpointTokens } = resources;
  return [
    ...keys.map(({ metadata }) => ({
      kind: ownedAccessKeys.kind,
      metadata,
      rank: rankOf(metadata.uid),
      access: ofKeys.get(metadata.uid),
    })),
    ...tokens.map(({ metadata }) => ({
      kind: endpointTokens.kind,
      metadata,
      rank: 1,
      access: tokenAccess(metadata, user),
    })),
  ]
    .toSorted((one, other) => one.rank - other.rank)
    .flatMap(({ kind, metadata, access }) => {
      const isDecided = access !== undefined && access.reason !== "ActsAsTeam";
      const said = isDecided ? access : (endsWith(metadata) ?? access);
      return said === undefined
        ? []
        : [{ object: reportObject(kind, metadata), ...said, causes: [] }];
    });
}

/** A key and those that it was made with; a key of another cluster may name itself. */
function ancestry(
  uid: string | undefined,
  keys: ReadonlyMap<string, Metadata>,
): readonly Metadata[] {
  const found = new Set<Metadata>();
  let metadata = keys.get(uid ?? "");
  while (metadata !== undefined && !found.has(metadata)) {
    found.add(metadata);
    metadata = keys.get(requesterAnnotationsOf(metadata)?.keyId ?? "");
  }
  return [...found];
}

function keyAccess({ metadata, spec }: Credentials["keys"][number], user: RevokedUser): Access {
  const { name, groups, prefixes } = user;
  const identity = identityOf(spec, prefixes);
  const username = identity.kind === "valid" ? identity.username : undefined;
  const isRequested = requesterAnnotationsOf(metadata)?.name === name;
  if (username !== name && !isRequested) {
    const { team } = spec;
    const isOfTeam = team !== undefined && groups.includes(prefixes.team + team);
    return isOfTeam ? ofTeam(team) : undefined;
  }
  const who = quoted(name);
  if (metadata.deletionTimestamp !== undefined) return terminating;
  if (spec.disabled)
    return { state: "ok", reason: "Disabled", message: `The key of ${who} is disabled.` };
  if (username === name)
    return { state: "disable", reason: "ActsAsUser", message: `It acts as ${who}.` };
  const whom = username === undefined ? "" : `, and acts as ${quoted(username)}`;
  return {
    state: "disable",
    reason: "RequestedByUser",
    message: `It was requested by ${who}, who may know it${whom}.`,
  };
}

function tokenAccess(metadata: Metadata, { name, groups, prefixes }: RevokedUser): Access {
  const requester = requesterAnnotationsOf(metadata)?.name;
  if (requester === name)
    return metadata.deletionTimestamp === undefined
      ? { state: "delete", reason: "RequestedByUser", message: `It acts as ${quoted(name)}.` }
      : terminating;
  const { team: prefix } = prefixes;
  const teams = groups.flatMap((one) => (one.startsWith(prefix) ? one.slice(prefix.length) : []));
  const team = teams.find((one) => teamUsername(one) === requester);
  return team === undefined ? undefined : ofTeam(team);
}

const terminating = {
  state: "info",
  reason: "Terminating",
  message: "It is being deleted.",
} as const;

function ofTeam(team: string): NonNullable<Access> {
  return {
    state: "info",
    reason: "ActsAsTeam",
    message: `It acts as team ${quoted(team)} of the user, and others use it; it stays.`,
  };
}
