import { annotationPrefixes, annotations, labels, outboxSecretType } from "../../api/names.ts";
import { recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { syncList } from "../sync/option-items.ts";
import { isSourceUid, outboxName } from "./outbox-names.ts";
import { outboxFormat, passedOptions, sourceOfOutbox } from "./outbox-secret.ts";

/** What an outbox says of one source to an agent; another administrator writes it. */
type OutboxEntry =
  /**
   * The source, as if it were a SharedSecret of the central cluster; `unsupported` names what this
   * version does not know, so that its copies stay as they are.
   */
  | { readonly kind: "source"; readonly sharedSecret: unknown; readonly unsupported?: string }
  /** Everything that was made of the source is to be removed: a SharedSecret that names nothing. */
  | { readonly kind: "withdrawn"; readonly sharedSecret: unknown; readonly uid: string };

/**
 * Reads a Secret of an outbox as an agent: a SharedSecret with the namespace, name and uid of the
 * source, and the resourceVersion of the Secret. Undefined for a Secret that is no valid entry,
 * which means nothing: one that names no project, too, because only `withdrawn` takes copies away.
 */
export function outboxEntryOf(raw: unknown): OutboxEntry | undefined {
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
    return withdrawn === uid
      ? { kind: "withdrawn", uid, sharedSecret: { metadata: common, spec: { data: {} } } }
      : undefined;
  if (isOfFormat && namesNoProject(given)) return undefined;
  const options = Object.entries(given).filter(([key]) => isOption(key));
  const unsupported = isOfFormat
    ? options.find(([key]) => !isKnown(key))?.[0]
    : annotations.outboxFormat;
  return {
    kind: "source",
    sharedSecret: {
      metadata: { ...common, annotations: Object.fromEntries(options) },
      spec: { data: recordAt(raw, "data") },
    },
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
