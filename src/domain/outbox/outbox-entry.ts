import { annotationPrefixes, annotations, labels, outboxSecretType } from "../../api/names.ts";
import { recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { syncList } from "../sync/option-items.ts";
import { isSourceUid, outboxName } from "./outbox-names.ts";
import { outboxFormat, passedOptions, sourceOfOutbox } from "./outbox-secret.ts";

/** Maximum characters of the options of an entry; the central cluster reads no larger ones. */
const mostOptionText = 64 * 1024;

/**
 * Reads a Secret of an outbox, which another administrator writes, as an agent: a SharedSecret with
 * the namespace, name and uid of the source, and the resourceVersion of the Secret. Its field
 * `unsupported` names what this version does not know, so that its copies stay as they are. A
 * source that is withdrawn is a SharedSecret that names nothing. Undefined for a Secret that is no
 * valid entry, which means nothing: one that names no project, too, because only `withdrawn` takes
 * copies away.
 */
export function outboxEntryOf(raw: unknown): object | undefined {
  const metadata = recordAt(raw, "metadata");
  const given = stringMapAt(metadata, "annotations");
  const uid = stringMapAt(metadata, "labels")[labels.outboxUid] ?? "";
  const source = sourceOfOutbox({ annotations: given });
  if (source === undefined || !isSourceUid(uid)) return undefined;
  if (stringAt(raw, "type") !== outboxSecretType) return undefined;
  if (stringAt(metadata, "name") !== outboxName(source)) return undefined;
  const common = {
    ...source,
    uid,
    resourceVersion: stringAt(metadata, "resourceVersion") ?? "",
    creationTimestamp: createdAt(given) ?? stringAt(metadata, "creationTimestamp") ?? "",
    generation: 1,
  };
  const isOfFormat = given[annotations.outboxFormat] === outboxFormat;
  const withdrawn = given[annotations.withdrawn];
  if (withdrawn !== undefined && isOfFormat)
    return withdrawn === uid ? { metadata: common, spec: { data: {} } } : undefined;
  if (isOfFormat && namesNoProject(given)) return undefined;
  const options = Object.entries(given).filter(([key]) => isOption(key));
  const size = options.reduce((sum, pair) => sum + pair.join("").length, 0);
  if (size > mostOptionText) return undefined;
  const unsupported = isOfFormat
    ? options.find(([key]) => !isKnown(key))?.[0]
    : annotations.outboxFormat;
  return {
    metadata: { ...common, annotations: Object.fromEntries(options) },
    spec: { data: recordAt(raw, "data") },
    ...(unsupported === undefined ? {} : { unsupported }),
  };
}

function namesNoProject(given: Readonly<Record<string, string>>): boolean {
  const list = syncList(given[annotations.syncToProjects]);
  return list.kind === "entries" && list.entries.length === 0;
}

/** When the source was created, in RFC 3339: the older of two sources has a target. */
function createdAt(given: Readonly<Record<string, string>>): string | undefined {
  const text = given[annotations.createdAt] ?? "";
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) ? text : undefined;
}

function isOption(key: string): boolean {
  return (
    isKnown(key) ||
    key.startsWith(annotationPrefixes.sync) ||
    key.startsWith(annotationPrefixes.copy)
  );
}

function isKnown(key: string): boolean {
  return key === annotations.syncToProjects || passedOptions.includes(key);
}
