import { lastAppliedAnnotation } from "../../api/names.ts";
import { isRecord, recordAt } from "../../api/parse.ts";

const hiddenSpec = ["data", "key", "oidcLogin"];

/**
 * An object of Latchkey without what is secret in it: the data of a SharedSecret, the key and login
 * of an OwnedAccessKey and the token in a status. It cannot be applied.
 */
export function shownObject(object: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(object)) return {};
  const { metadata, spec, status } = object;
  return {
    ...object,
    ...(isRecord(metadata) ? { metadata: shownMetadata(metadata) } : {}),
    ...(isRecord(spec) ? { spec: shownSpec(spec) } : {}),
    ...(isRecord(status) ? { status: without(status, ["token"]) } : {}),
  };
}

function shownSpec(spec: Readonly<Record<string, unknown>>) {
  const kept = without(spec, hiddenSpec);
  return isRecord(spec["identity"])
    ? { ...kept, identity: without(spec["identity"], ["connectorData"]) }
    : kept;
}

function shownMetadata(metadata: Readonly<Record<string, unknown>>) {
  const annotations = without(recordAt(metadata, "annotations"), [lastAppliedAnnotation]);
  return {
    ...without(metadata, ["managedFields", "annotations"]),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

function without(
  record: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}
