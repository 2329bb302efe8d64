import { hasFinalizer, mark, readersKey } from "./consent.ts";
import { nameOf, type Raw, type RawAccess, type RawSubject } from "./raw.ts";

/*
 * What Latchkey grants, from docs/shared-secret.md, docs/owned-access-key.md and
 * docs/direct-cluster-endpoint-token.md; a grant is a text. Calls no code of src.
 */

const verbs = ["get", "list", "watch", "update", "patch", "delete"] as const;

/** Whether a Role or RoleBinding is derived from a SharedSecret. */
export function isDerived(object: Raw): boolean {
  const isMarked =
    mark(object, "source-uid", "labels") !== undefined || mark(object, "source") !== undefined;
  return /^latchkey-.+-[0-9a-f]{16}$/.test(object.metadata.name) && isMarked;
}

/** The grants in force by Roles and ClusterRoles of Latchkey. */
export function grantsIn(objects: ReadonlyMap<string, Raw>): readonly string[] {
  return [...objects].flatMap(([id, { metadata, roleRef, subjects = [] }]) => {
    const [plural] = id.split("/", 1);
    if (roleRef === undefined || !metadata.name.startsWith("latchkey-")) return [];
    const { namespace } = metadata;
    const kind = plural === "rolebindings" ? "roles" : "clusterroles";
    const role = objects.get(`${kind}/${nameOf({ namespace, name: roleRef.name })}`);
    return (role?.rules ?? []).flatMap(
      ({ resources = [], resourceNames = [], verbs: given = [] }) =>
        subjects.flatMap((subject) =>
          resources.flatMap((resource) =>
            resourceNames.flatMap((name) =>
              given.map((verb) =>
                grant(subject, verb, `${resource} ${nameOf({ namespace, name })}`),
              ),
            ),
          ),
        ),
    );
  });
}

/** The grants that an object with Latchkey's finalizer asks for. */
export function grantsOf(object: Raw): readonly string[] {
  if (!hasFinalizer(object)) return [];
  const { metadata, kind } = object;
  if (kind === "SharedSecret")
    return rulesOf(object).flatMap((rule) => grantsOfRule(rule, nameOf(metadata)));
  const requester = mark(object, "requester");
  if (requester === undefined || requester.startsWith("system:")) return [];
  const isKey = kind === "OwnedAccessKey";
  const given = isKey
    ? ["get", "list", "watch", "patch", "delete"]
    : ["get", "list", "watch", "delete"];
  const plural = isKey ? "ownedaccesskeys" : "directclusterendpointtokens";
  const subject = { kind: "User", name: requester };
  return given.map((verb) => grant(subject, verb, `${plural} ${metadata.name}`));
}

function rulesOf({ spec = {} }: Raw): readonly RawAccess[] {
  const { user, team } = spec.owner ?? {};
  const owners = {
    users: user === undefined ? [] : [user],
    teams: team === undefined ? [] : [team],
  };
  return [...(spec.access ?? []), { verbs: ["*"], subresources: ["status"], ...owners }];
}

/**
 * The grants on the copy for readers, which come and go with it: those who may get the SharedSecret
 * may get it.
 */
export function readersGrantsOf(source: Raw): readonly string[] {
  const [key, own] = [readersKey(source), nameOf(source.metadata)];
  if (key === undefined || !hasFinalizer(source)) return [];
  const gets = rulesOf(source).flatMap((rule) => grantsOfRule(rule, own));
  return gets
    .filter((one) => one.endsWith(` get sharedsecrets ${own}`))
    .map((one) => one.replace(/sharedsecrets .*$/, `secrets ${key}`));
}

/** A rule with a verb or subresource that cannot be granted grants nothing. */
function grantsOfRule(rule: RawAccess, key: string): readonly string[] {
  const { verbs: given = [], subresources = [], users = [], teams = [] } = rule;
  const granted = given.flatMap((verb) =>
    verb === "*" ? verbs : verbs.filter((one) => one === verb),
  );
  const isValid = given.every((verb) => verb === "*" || granted.some((one) => one === verb));
  if (!isValid || subresources.some((name) => name !== "status" && name !== "*")) return [];
  const plurals = ["sharedsecrets", ...(subresources.length > 0 ? ["sharedsecrets/status"] : [])];
  const subjects = [...users.map(userOf), ...teams.map(groupOf)];
  return subjects.flatMap((subject) =>
    plurals.flatMap((plural) => granted.map((verb) => grant(subject, verb, `${plural} ${key}`))),
  );
}

function userOf(name: string): RawSubject {
  return name === "*" ? groupOf(name) : { kind: "User", name };
}

function groupOf(name: string): RawSubject {
  return { kind: "Group", name: name === "*" ? "system:authenticated" : name };
}

function grant({ kind, name }: RawSubject, verb: string, object: string): string {
  return `${kind} ${name} ${verb} ${object}`;
}
