import { annotations, labels } from "../../src/api/names.ts";
import {
  listAt,
  numberAt,
  recordAt,
  stringAt,
  stringMapAt,
  stringsAt,
} from "../../src/api/parse.ts";
import { goesTo } from "./objects.ts";
import { isFilledFrom } from "./placeholders-end.ts";
import {
  type Json,
  labelOf,
  nameOf,
  noteOf,
  type Seen,
  type Sentences,
  sorted,
  specOf,
  uidOf,
} from "./seen.ts";

const sixVerbs = ["delete", "get", "list", "patch", "update", "watch"];

function wantedAt(sharedSecret: Json, namespaces: readonly Json[]): readonly string[] {
  const projects = noteOf(sharedSecret, annotations.syncToProjects);
  return namespaces
    .filter(
      (namespace) =>
        noteOf(namespace, annotations.sync) === "enabled" &&
        goesTo(projects, labelOf(namespace, labels.project)),
    )
    .map(nameOf);
}

/** Each copy with the source's uid and all its data; a difference does not print the data. */
export function copiesOf({ sharedSecrets, namespaces, copies }: Seen): Sentences {
  const byUid = new Map(sharedSecrets.map((secret) => [uidOf(secret), secret]));
  const expected = sharedSecrets.flatMap((secret) => {
    const name = stringAt(recordAt(secret, "metadata"), "name") ?? "";
    return wantedAt(secret, namespaces).map(
      (namespace) =>
        `the copy ${namespace}/${name} of ${nameOf(secret)} -> ${namespace}/${name} with its data`,
    );
  });
  const found = copies.map((copy) => {
    const source = byUid.get(labelOf(copy, labels.sourceUid) ?? "");
    const isWhole =
      sorted(stringMapAt(copy, "data")) === sorted(stringMapAt(specOf(source), "data"));
    return `the copy ${nameOf(copy)} of ${noteOf(copy, annotations.copyOf)} with ${source !== undefined && isWhole ? "its" : "other"} data`;
  });
  return [expected, found];
}

/** The verbs that each user has on each SharedSecret. */
export function accessOf({ sharedSecrets, roles, bindings }: Seen): Sentences {
  const sentence = (
    kind: string,
    subject: string,
    verb: string,
    resource: string,
    secret: string,
  ) => `${kind} ${subject} may ${verb} ${resource} ${secret}`;
  const expected = sharedSecrets.flatMap((secret) => {
    const team = stringAt(recordAt(specOf(secret), "owner"), "team");
    const owner = {
      verbs: ["*"],
      subresources: ["status"],
      teams: team === undefined ? [] : [team],
    };
    return [owner, ...listAt(specOf(secret), "access")].flatMap((rule) => {
      const verbs = stringsAt(rule, "verbs").includes("*") ? sixVerbs : stringsAt(rule, "verbs");
      const subjects = [
        ...stringsAt(rule, "users").map((name) => ["User", name] as const),
        ...stringsAt(rule, "teams").map((name) => ["Group", name] as const),
      ];
      const resources = [
        "sharedsecrets",
        ...stringsAt(rule, "subresources").map((name) => `sharedsecrets/${name}`),
      ];
      if (verbs.includes("create")) return [];
      return subjects.flatMap(([kind, subject]) =>
        verbs.flatMap((verb) =>
          resources.map((resource) => sentence(kind, subject, verb, resource, nameOf(secret))),
        ),
      );
    });
  });
  const bound = new Map(
    bindings.map((binding) => [
      `${stringAt(recordAt(binding, "metadata"), "namespace")}/${stringAt(recordAt(binding, "roleRef"), "name")}`,
      binding,
    ]),
  );
  const found = roles.flatMap((role) => {
    const binding = bound.get(nameOf(role));
    if (binding === undefined) return [`no user is bound to ${nameOf(role)}`];
    const namespace = stringAt(recordAt(role, "metadata"), "namespace");
    return listAt(binding, "subjects").flatMap((subject) =>
      listAt(role, "rules").flatMap((rule) =>
        stringsAt(rule, "verbs").flatMap((verb) =>
          stringsAt(rule, "resources").flatMap((resource) =>
            stringsAt(rule, "resourceNames").map((name) =>
              sentence(
                stringAt(subject, "kind") ?? "",
                stringAt(subject, "name") ?? "",
                verb,
                resource,
                `${namespace}/${name}`,
              ),
            ),
          ),
        ),
      ),
    );
  });
  const names = new Set(roles.map(nameOf));
  const loose = [...bound.keys()]
    .filter((role) => !names.has(role))
    .map((role) => `a binding to ${role}, which is not there`);
  return [expected, [...found, ...loose]];
}

/** Every status is of the current spec, and SharedSecrets count their copies. */
export function statusesOf(seen: Seen): Sentences {
  const { sharedSecrets, namespaces, keys, tokens, placeholders } = seen;
  const current = (object: Json): string => `the status of ${nameOf(object)} is current`;
  const isCurrent = (object: Json): boolean =>
    numberAt(recordAt(object, "status"), "observedGeneration") ===
    numberAt(recordAt(object, "metadata"), "generation");
  const all = [...sharedSecrets, ...keys, ...tokens];
  const count = (secret: Json, copies: number | undefined): string =>
    `${nameOf(secret)} counts ${copies ?? 0} copies`;
  return [
    [
      ...all.map(current),
      ...sharedSecrets.map((secret) =>
        count(
          secret,
          wantedAt(secret, namespaces).length +
            placeholders.filter((one) => isFilledFrom(secret, one, seen)).length,
        ),
      ),
    ],
    [
      ...all.filter(isCurrent).map(current),
      ...sharedSecrets.map((secret) =>
        count(secret, numberAt(recordAt(recordAt(secret, "status"), "sync"), "synced")),
      ),
    ],
  ];
}
