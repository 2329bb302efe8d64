import { createHash } from "node:crypto";
import { annotations, cleanupFinalizer, labels } from "../../api/names.ts";
import { keyOf, type Key, type Manifest, type ObjectRef } from "../../api/object.ts";
import { recordAt, stringMapAt } from "../../api/parse.ts";
import type { Resource } from "../../api/resources.ts";
import { SecretText } from "../../api/secret-text.ts";
import type { Plan, Write } from "./plan.ts";

/**
 * The last write to an object, and how often the same was written again because it did not stay.
 */
export interface Repair {
  /** What the write wanted; see {@link intentOf}. */
  readonly intent: string;
  readonly repairs: number;
  /** When it was written last, in monotonic milliseconds. */
  readonly at: number;
  /** What undoes it, once a repair had to wait. */
  readonly why?: string;
}

/** The last write to each part of an object, by {@link slotOf}. */
export type Repairs = ReadonlyMap<string, Repair>;

/** Repairs of an object that are not delayed. */
const atOnce = 3;
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;
/** After this time without a repair, the repairs before are forgotten, in milliseconds. */
export const quietMs = 600_000;

/** Counts a write that succeeded; `now` in monotonic milliseconds. */
export function recordRepair(before: Repair | undefined, intent: string, now: number): Repair {
  const isRepeated = before?.intent === intent && now - before.at < quietMs;
  return isRepeated
    ? { ...before, repairs: before.repairs + 1, at: now }
    : { intent, repairs: 0, at: now };
}

/** How long after its last write the same may be written again, in milliseconds. */
export function pauseMs({ repairs }: Repair, firstMs = firstPauseMs, free = atOnce): number {
  return repairs < free ? 0 : Math.min(longestPauseMs, firstMs * 2 ** (repairs - free));
}

/** When a write that wants this may be sent, in monotonic milliseconds. */
export function dueAt(before: Repair | undefined, intent: string | undefined): number {
  if (before === undefined || before.intent !== intent) return -Infinity;
  return before.at + pauseMs(before);
}

/**
 * What a write wants, as a text that is the same for writes that want the same. Of labels,
 * annotations and finalizers, those that Latchkey decides count; of times, none: what undoes a
 * write may change the rest each time. An object that a user creates again is another one, by its
 * uid; what Latchkey creates again is not. Undefined for what never waits: a delete, what takes
 * back data or rights, secret data without a digest, an Event, and a dry run.
 */
export function intentOf(write: Write): string | undefined {
  switch (write.do) {
    case "create":
    case "replace": {
      const { object, dataDigest } = write;
      // Two secret texts are the same in JSON.
      if (write.isRemoval === true || (dataDigest === undefined && hasSecretData(object)))
        return undefined;
      const { metadata, ...content } = object;
      const uid = isFilled(metadata) ? metadata.uid : undefined;
      return digestOf({ ...content, uid, dataDigest, marks: decidedMarks(metadata) });
    }
    case "patch": {
      if (write.isRemoval === true) return undefined;
      const { metadata, ...content } = write.body;
      const { uid } = write.ref;
      return digestOf({ ...content, ...write.wanted, uid, marks: decidedMarks(metadata) });
    }
    case "delete":
    case "dry-run-create":
    case "record-event":
      return undefined;
  }
}

/** Whether a Secret is a placeholder, which only users create. */
function isFilled(metadata: Manifest["metadata"]): boolean {
  return stringMapAt(metadata, "annotations")[annotations.filled] !== undefined;
}

function hasSecretData(object: Manifest): boolean {
  return Object.values(recordAt(object, "data")).some((value) => value instanceof SecretText);
}

function digestOf(wanted: unknown): string {
  const text = JSON.stringify(wanted, (field, value: unknown) =>
    field === "lastTransitionTime" ? undefined : value,
  );
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** The labels, annotations and finalizers that Latchkey decides. */
function decidedMarks(metadata: Readonly<Record<string, unknown>>): unknown {
  const texts = stringMapAt(metadata, "annotations");
  const decided = (field: string, record: string | undefined): unknown => {
    const copied = record?.split(",") ?? [];
    // A patch removes one with null.
    const marks = Object.entries(recordAt(metadata, field));
    return marks.filter(([key]) => decidedKeys.has(key) || copied.includes(key));
  };
  return [
    decided("labels", texts[annotations.copiedLabels]),
    decided("annotations", texts[annotations.copiedAnnotations]),
    isHeldIn(metadata),
  ];
}

/** Latchkey's, but for a time. */
const decidedKeys: ReadonlySet<string> = new Set(
  [...Object.values(labels), ...Object.values(annotations)].filter(
    (key) => key !== annotations.revisedAt,
  ),
);

/** Whether these are finalizers with Latchkey's; undefined if finalizers are not written. */
function isHeldIn({ finalizers }: Readonly<Record<string, unknown>>): boolean | undefined {
  return Array.isArray(finalizers) ? finalizers.includes(cleanupFinalizer) : undefined;
}

/** The repairs that a plan waits for. */
export interface Held {
  /** When the first of them is due, in monotonic milliseconds. */
  readonly until: number;
  /** One of them. */
  readonly write: StoredWrite;
}

/**
 * Takes the repairs from a plan that are not due yet, and what depends on them: an object that is
 * not created again is not deleted either, and nothing is created or changed for an object that
 * does not keep the finalizer. Other objects do not wait.
 */
export function withoutHeld(
  plan: Plan,
  repairs: Repairs,
  now: number,
): { readonly plan: Plan; readonly held?: Held } {
  const dueOf = (write: StoredWrite): number => {
    const before = repairs.get(slotOf(write));
    // What a write wants is a digest of it, which most writes need not for this.
    const isPaced = before !== undefined && pauseMs(before) > 0;
    return isPaced ? dueAt(before, intentOf(write)) : -Infinity;
  };
  const waiting = plan.steps
    .flat()
    .filter(isStored)
    .filter((write) => dueOf(write) > now);
  const [write] = waiting;
  if (write === undefined) return { plan };
  const objects = new Set(waiting.map(objectOf));
  const uncreated = new Set(waiting.filter((one) => one.do === "create").map(objectOf));
  const isUnguarded = waiting.some((one) => one.do === "patch" && isHeldIn(one.body.metadata));
  const isLeft = (one: Write): boolean => {
    if (one.do === "record-event")
      return !objects.has(keyIn(one.event.resource, one.event.subject));
    if (waiting.some((other) => other === one) || uncreated.has(objectOf(one))) return false;
    const isStatus = one.do === "patch" && one.subresource !== undefined;
    return !isUnguarded || isStatus || intentOf(one) === undefined;
  };
  const steps = plan.steps.map((step) => step.filter(isLeft));
  const until = Math.min(...waiting.map(dueOf));
  return { plan: { ...plan, steps }, held: { until, write } };
}

/** Forgets the writes in a namespace that is gone: the next one of its name has none yet. */
export function forgetRepairsIn(namespace: string, repairs: Map<string, Repair>): void {
  for (const slot of repairs.keys()) if (slot.includes(`/${namespace}/`)) repairs.delete(slot);
}

/** Whether the same was written to an object again, because it did not stay. */
export function wasRepaired(resource: Resource, ref: ObjectRef, repairs: Repairs): boolean {
  return (repairs.get(slotIn("", keyIn(resource, ref)))?.repairs ?? 0) > 0;
}

/** A write to an object. */
export type StoredWrite = Exclude<Write, { readonly do: "record-event" }>;

function isStored(write: Write): write is StoredWrite {
  return write.do !== "record-event";
}

/** The part of an object that a write is for. */
export function slotOf(write: StoredWrite): string {
  return slotIn(partOf(write), objectOf(write));
}

/** The part "" is the object as a whole. */
const slotIn = (part: string, object: Key): string => `${part} ${object}`;

function partOf(write: StoredWrite): string {
  if (write.do !== "patch") return "";
  const marks = recordAt(write.body.metadata, "annotations");
  return write.subresource ?? (Object.hasOwn(marks, annotations.syncError) ? "error" : "metadata");
}

/** The part of its object that Latchkey overwrites by a write, so that it is not somebody else. */
export function overwrittenBy(write: StoredWrite): string | undefined {
  const part = partOf(write);
  if (part === "error") return slotIn("", objectOf(write));
  return part === "" ? slotIn("error", objectOf(write)) : undefined;
}

/** The object of a write. */
export function objectOf(write: StoredWrite): Key {
  return keyIn(write.resource, refOfWrite(write));
}

function keyIn({ plural }: Resource, ref: ObjectRef): Key {
  return `${plural}/${keyOf(ref)}`;
}

/** The namespace and name of the object of a write. */
export function refOfWrite(write: StoredWrite): ObjectRef {
  const { namespace, name } =
    write.do === "patch" || write.do === "delete" ? write.ref : write.object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}
