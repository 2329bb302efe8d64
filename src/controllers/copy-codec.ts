import { annotations, labels } from "../api/names.ts";
import type { ObjectRef } from "../api/object.ts";
import { type ObservedCopy, copiedSource, copyOfText } from "../domain/sync/copy.ts";

/** The fields in which copies differ that are as Latchkey writes them. */
type Ordinary = readonly [
  uid: string,
  resourceVersion: string,
  creationTimestamp: string,
  sourceUid: string,
  sourceNamespace: string,
  sourceName: string,
  type: string,
  digest: string,
];

/**
 * A copy as one text, because a hundred thousand copies as objects cost three times the memory, and
 * each full garbage collection the time to walk through them. A copy that Latchkey wrote and nobody
 * changed becomes a JSON array of what is its own; any other the JSON of all that was seen.
 */
export function encodeCopy(copy: ObservedCopy): string {
  const ordinary = ordinaryOf(copy);
  return JSON.stringify(ordinary ?? copy);
}

/** The copy that was packed; `target` is its namespace and name. */
export function decodeCopy(text: string, target: ObjectRef): ObservedCopy {
  const packed: ObservedCopy | Ordinary = JSON.parse(text);
  return isOrdinary(packed) ? fromOrdinary(packed, target) : packed;
}

function ordinaryOf(copy: ObservedCopy): Ordinary | undefined {
  const { metadata, type, digest } = copy;
  const sourceUid = metadata.labels[labels.sourceUid];
  const source = copiedSource(metadata);
  if (sourceUid === undefined || source?.namespace === undefined) return undefined;
  const isPlain =
    Object.keys(metadata.labels).length === 1 &&
    Object.keys(metadata.annotations).length === 1 &&
    metadata.finalizers.length === 0 &&
    metadata.generation === 0 &&
    metadata.deletionTimestamp === undefined &&
    copy.ownerReferences.length === 0 &&
    !copy.immutable;
  if (!isPlain) return undefined;
  return [
    metadata.uid,
    metadata.resourceVersion,
    metadata.creationTimestamp,
    sourceUid,
    source.namespace,
    source.name,
    type,
    digest,
  ];
}

function fromOrdinary(packed: Ordinary, target: ObjectRef): ObservedCopy {
  const [uid, resourceVersion, creationTimestamp, sourceUid, namespace, name, type, digest] =
    packed;
  return {
    metadata: {
      ...target,
      uid,
      resourceVersion,
      generation: 0,
      creationTimestamp,
      labels: { [labels.sourceUid]: sourceUid },
      annotations: { [annotations.copyOf]: copyOfText({ namespace, name }, target) },
      finalizers: [],
    },
    ownerReferences: [],
    type,
    immutable: false,
    digest,
  };
}

function isOrdinary(packed: ObservedCopy | Ordinary): packed is Ordinary {
  return Array.isArray(packed);
}
