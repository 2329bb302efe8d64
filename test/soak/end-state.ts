import { annotations } from "../../src/api/names.ts";
import {
  listAt,
  numberAt,
  parseConditions,
  recordAt,
  stringAt,
  stringsAt,
} from "../../src/api/parse.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import { placeholdersOf } from "./placeholders-end.ts";
import { accessOf, copiesOf, statusesOf } from "./secrets-end.ts";
import {
  type Json,
  nameOf,
  noteOf,
  see,
  type Seen,
  type Sentences,
  specOf,
  uidOf,
} from "./seen.ts";

/**
 * Differences from what follows from the existing SharedSecrets, namespaces, keys and tokens;
 * computed without the controller's code.
 */
export function differencesIn(seen: Seen): readonly string[] {
  return [copiesOf, placeholdersOf, accessOf, statusesOf, keysOf, tokensOf, grantsOf].flatMap(
    (judge) => difference(judge(seen)),
  );
}

/** The differences in a cluster, read as the administrator. */
export async function differences(cluster: ProxiedCluster): Promise<readonly string[]> {
  return differencesIn(await see(cluster));
}

function difference([expected, found]: Sentences): readonly string[] {
  const wanted = new Set(expected);
  const standing = new Set(found);
  return [
    ...[...wanted].filter((one) => !standing.has(one)).map((one) => `missing: ${one}`),
    ...[...standing].filter((one) => !wanted.has(one)).map((one) => `too much: ${one}`),
  ];
}

const longLife = 3_600;

function reasonOf(object: Json): string {
  const isGoing = stringAt(recordAt(object, "metadata"), "deletionTimestamp") !== undefined;
  return `${nameOf(object)} is ${isGoing ? "going" : (parseConditions(recordAt(object, "status")).find(({ type }) => type === "Ready")?.reason ?? "new")}`;
}

const ttlOf = (object: Json): number => numberAt(specOf(object), "ttl") ?? longLife;

/**
 * Only keys with a long lifetime are left; of two keys with the same value the older one is active.
 */
function keysOf({ keys }: Seen): Sentences {
  const left = keys.filter((key) => ttlOf(key) >= longLife);
  const age = (key: Json): string =>
    `${stringAt(recordAt(key, "metadata"), "creationTimestamp")} ${uidOf(key)}`;
  const expected = left.map((key) => {
    const holders = keys.filter(
      (other) => stringAt(specOf(other), "key") === stringAt(specOf(key), "key"),
    );
    if (holders.some((other) => age(other) < age(key))) return `${nameOf(key)} is DuplicateKey`;
    return `${nameOf(key)} is ${specOf(key).disabled === true ? "Disabled" : "Active"}`;
  });
  return [expected, keys.map(reasonOf)];
}

/** Only tokens with a long lifetime are left, each issued. */
function tokensOf({ tokens }: Seen): Sentences {
  const left = tokens.filter((token) => ttlOf(token) >= longLife);
  const found = tokens.map(
    (token) =>
      `${reasonOf(token)}${stringAt(recordAt(token, "status"), "token") === undefined ? "" : " with a token"}`,
  );
  return [left.map((token) => `${nameOf(token)} is Minted with a token`), found];
}

/** The grants of keys and tokens: each to the user who created the object. */
function grantsOf({ keys, tokens, grants, grantBindings }: Seen): Sentences {
  const sentence = (user: string | undefined, plural: string, name: string): string =>
    `${user} is granted ${plural} ${name}`;
  const expected = [
    ...keys.map((key) => [key, "ownedaccesskeys"] as const),
    ...tokens.map((token) => [token, "directclusterendpointtokens"] as const),
  ].map(([object, plural]) =>
    sentence(noteOf(object, annotations.requester), plural, nameOf(object)),
  );
  const found = grantBindings.flatMap((binding) => {
    const role = grants.find(
      (one) => nameOf(one) === stringAt(recordAt(binding, "roleRef"), "name"),
    );
    const subjects = listAt(binding, "subjects").map((subject) => stringAt(subject, "name"));
    return listAt(role, "rules").flatMap((rule) =>
      subjects.flatMap((user) =>
        stringsAt(rule, "resources").flatMap((plural) =>
          stringsAt(rule, "resourceNames").map((name) => sentence(user, plural, name)),
        ),
      ),
    );
  });
  return [expected, found];
}
