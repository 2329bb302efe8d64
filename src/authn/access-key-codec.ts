import type { Condition } from "../api/conditions.ts";
import type { Metadata } from "../api/object.ts";
import type { ObservedAccessKey, OwnedAccessKeySpec } from "../api/owned-access-key.ts";
import { listAt, parseConditions } from "../api/parse.ts";
import type { Codec } from "../kube/informer/store.ts";

/**
 * Codec of access keys in stores: two lines of JSON, the second one with the status, which is
 * decoded on first access. 100,000 keys as objects take twice the memory, and add 0.1 s or more to
 * each full garbage collection.
 */
export const accessKeyCodec: Codec<ObservedAccessKey> = {
  encode: ({ value }) => encodeAccessKey(value),
  decode(text) {
    const value = decodeAccessKey(text);
    return { uid: value.metadata.uid, resourceVersion: value.metadata.resourceVersion, value };
  },
};

type PackedCondition = readonly [
  type: string,
  status: string,
  reason: string,
  message: string,
  observedGeneration: number,
  lastTransitionTime: string,
];

/** The fields that nearly every access to a key reads. */
interface PackedHead {
  readonly metadata: Metadata;
  readonly spec: OwnedAccessKeySpec;
  readonly digest?: string;
  readonly isUnbound?: boolean;
  readonly lastActivity?: string;
}

interface PackedStatus {
  readonly status: Readonly<Record<string, unknown>>;
  /** Replaces `status.conditions` if each condition has exactly the fields of metav1.Condition. */
  readonly conditions?: readonly PackedCondition[];
}

function encodeAccessKey({
  metadata,
  spec,
  keyDigest,
  isUnbound,
  status,
  lastActivity,
}: ObservedAccessKey): string {
  const head: PackedHead = {
    metadata,
    spec,
    ...(keyDigest === undefined ? {} : { digest: keyDigest }),
    ...(isUnbound === undefined ? {} : { isUnbound }),
    ...(lastActivity === undefined ? {} : { lastActivity }),
  };
  return `${JSON.stringify(head)}\n${JSON.stringify(packStatus(status))}`;
}

function decodeAccessKey(text: string): ObservedAccessKey {
  const end = text.indexOf("\n");
  const { metadata, spec, digest, isUnbound, lastActivity }: PackedHead = JSON.parse(
    text.slice(0, end),
  );
  let unpacked: Readonly<Record<string, unknown>> | undefined;
  const statusOf = (): Readonly<Record<string, unknown>> =>
    (unpacked ??= unpackStatus(text.slice(end + 1)));
  return {
    metadata,
    spec,
    keyDigest: digest,
    ...(isUnbound === undefined ? {} : { isUnbound }),
    get status() {
      return statusOf();
    },
    get conditions() {
      return parseConditions(statusOf());
    },
    ...(lastActivity === undefined ? {} : { lastActivity }),
  };
}

function packStatus(status: Readonly<Record<string, unknown>>): PackedStatus {
  const packed = listAt(status, "conditions").map(packCondition);
  const isOrdinary = packed.length > 0 && packed.every((condition) => condition !== undefined);
  if (!isOrdinary) return { status };
  const { conditions: _, ...rest } = status;
  return { status: rest, conditions: packed.filter((condition) => condition !== undefined) };
}

function unpackStatus(text: string): Readonly<Record<string, unknown>> {
  const { status, conditions }: PackedStatus = JSON.parse(text);
  return conditions === undefined
    ? status
    : { ...status, conditions: conditions.map(unpackCondition) };
}

const fields: readonly (keyof Condition)[] = [
  "type",
  "status",
  "reason",
  "message",
  "observedGeneration",
  "lastTransitionTime",
];

function packCondition(condition: unknown): PackedCondition | undefined {
  const [known] = parseConditions({ conditions: [condition] });
  if (known?.observedGeneration === undefined || Object.keys(known).length !== fields.length)
    return undefined;
  const { type, status, reason, message, observedGeneration, lastTransitionTime } = known;
  return [type, status, reason, message, observedGeneration, lastTransitionTime];
}

function unpackCondition([
  type,
  status,
  reason,
  message,
  observedGeneration,
  lastTransitionTime,
]: PackedCondition): Readonly<Record<string, unknown>> {
  return { type, status, reason, message, observedGeneration, lastTransitionTime };
}
