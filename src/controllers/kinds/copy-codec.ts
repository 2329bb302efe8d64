import { annotations, labels } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import { type ObservedCopy, copiedSource, copyOfText } from "../../domain/sync/copy.ts";

/**
 * The fields of an unchanged copy that differ from those of other copies; the last two only if it
 * has labels or annotations besides the label and the annotation of every copy.
 */
type Ordinary = readonly [
  uid: string,
  resourceVersion: string,
  creationTimestamp: string,
  sourceUid: string,
  sourceNamespace: string,
  sourceName: string,
  type: string,
  digest: string,
  labels?: Texts,
  annotations?: Texts,
];

type Texts = Readonly<Record<string, string>>;

/**
 * Encodes a copy as one string: a hundred thousand copies as objects take three times the memory,
 * and each full garbage collection has to traverse them. A copy that has not changed since Latchkey
 * wrote it becomes a JSON array of the fields that differ between copies; any other copy becomes
 * the JSON of all observed fields.
 */
export function encodeCopy(copy: ObservedCopy): string {
  const ordinary = ordinaryOf(copy);
  return JSON.stringify(ordinary ?? copy);
}

/** Decodes a copy; `target` is its namespace and name. */
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
    metadata.finalizers.length === 0 &&
    metadata.generation === 0 &&
    metadata.deletionTimestamp === undefined &&
    copy.ownerReferences.length === 0 &&
    copy.values === undefined &&
    copy.hasLeastData === undefined &&
    copy.unknownKeys === undefined &&
    !copy.immutable;
  if (!isPlain) return undefined;
  const { [labels.sourceUid]: _uid, ...otherLabels } = metadata.labels;
  const { [annotations.copyOf]: _copyOf, ...otherAnnotations } = metadata.annotations;
  const others = [otherLabels, otherAnnotations] as const;
  const hasOthers = others.some((texts) => Object.keys(texts).length > 0);
  return [
    metadata.uid,
    metadata.resourceVersion,
    metadata.creationTimestamp,
    sourceUid,
    source.namespace,
    source.name,
    type,
    digest,
    ...(hasOthers ? others : ([] as const)),
  ];
}

function fromOrdinary(packed: Ordinary, target: ObjectRef): ObservedCopy {
  const [uid, resourceVersion, creationTimestamp, sourceUid, namespace, name, type, digest] =
    packed;
  const [, , , , , , , , otherLabels, otherAnnotations] = packed;
  return {
    metadata: {
      ...target,
      uid,
      resourceVersion,
      generation: 0,
      creationTimestamp,
      labels: { ...otherLabels, [labels.sourceUid]: sourceUid },
      annotations: {
        ...otherAnnotations,
        [annotations.copyOf]: copyOfText({ namespace, name }, target),
      },
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
