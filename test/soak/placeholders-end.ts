import { annotations, labels } from "../../src/api/names.ts";
import { recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import { goesTo, ownValues, placeholders as places } from "./objects.ts";
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

/** Each placeholder exists, and is filled with the data that it asks for, or has none of Latchkey's. */
export function placeholdersOf(seen: Seen): Sentences {
  const expected = seen.placeholders.map((secret) => {
    const source = seen.sharedSecrets.find((one) => isFilledFrom(one, secret, seen));
    return source === undefined ? unfilled(secret) : filled(secret, source);
  });
  const found = seen.placeholders.map((secret) => {
    const source = seen.sharedSecrets.find(
      (one) => uidOf(one) === labelOf(secret, labels.sourceUid),
    );
    if (source !== undefined && isWhole(secret, source)) return filled(secret, source);
    return isBare(secret) ? unfilled(secret) : `the placeholder ${nameOf(secret)} has other data`;
  });
  const exists = (name: string): string => `the placeholder ${name} exists`;
  return [
    [...expected, ...places.map(({ namespace, name }) => exists(`${namespace}/${name}`))],
    [...found, ...seen.placeholders.map((secret) => exists(nameOf(secret)))],
  ];
}

/** Whether a placeholder asks for a SharedSecret, and both sides agree. */
export function isFilledFrom(
  sharedSecret: Json,
  secret: Json,
  { namespaces }: Pick<Seen, "namespaces">,
): boolean {
  const asked = `${labelOf(secret, labels.sharedSecretNamespace)}/${labelOf(secret, labels.sharedSecretName)}`;
  const place = stringAt(recordAt(secret, "metadata"), "namespace");
  const namespace = namespaces.find((one) => nameOf(one) === place);
  return (
    asked === nameOf(sharedSecret) &&
    goesTo(noteOf(sharedSecret, annotations.syncToProjects), labelOf(namespace, labels.project))
  );
}

function filled(secret: Json, source: Json): string {
  return `the placeholder ${nameOf(secret)} has the data of ${nameOf(source)} that it asks for`;
}

function unfilled(secret: Json): string {
  return `the placeholder ${nameOf(secret)} has no data of Latchkey`;
}

/** Whether a placeholder has the marks of a source, and the data of it that it asks for. */
function isWhole(secret: Json, source: Json): boolean {
  const all = stringMapAt(specOf(source), "data");
  const keys = noteOf(secret, annotations.syncKeys);
  const data = keys === "PASS=password" ? { PASS: all["password"] ?? "" } : all;
  return (
    noteOf(secret, annotations.copyOf) === `${nameOf(source)} -> ${nameOf(secret)}` &&
    noteOf(secret, annotations.filled) === "true" &&
    noteOf(secret, annotations.syncError) === undefined &&
    sorted(stringMapAt(secret, "data")) === sorted(data)
  );
}

/** Whether a placeholder has no mark of a copy, and no value that its users have not written. */
function isBare(secret: Json): boolean {
  const own: readonly string[] = Object.values(ownValues);
  return (
    labelOf(secret, labels.sourceUid) === undefined &&
    noteOf(secret, annotations.copyOf) === undefined &&
    noteOf(secret, annotations.filled) === undefined &&
    Object.values(stringMapAt(secret, "data")).every((value) => own.includes(value))
  );
}
