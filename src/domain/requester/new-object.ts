import type { AdmissionRequest } from "../../api/admission-review.ts";
import { annotations, cleanupFinalizer } from "../../api/names.ts";
import { isRecord, recordAt, stringMapAt } from "../../api/parse.ts";
import { instantOf } from "../lifetime.ts";
import { timestamp } from "../plan/conditions.ts";

/**
 * Adds to a new key or token what the controller would otherwise write after its creation: the
 * finalizer, and the start of its lifetime at `now` in milliseconds since the epoch. An earlier
 * start, of a restored object, is kept. On an update, the object is returned unchanged.
 */
export function asNewObject(
  { object, oldObject }: Pick<AdmissionRequest, "object" | "oldObject">,
  now: number,
): AdmissionRequest["object"] {
  if (oldObject !== undefined) return object;
  const metadata = recordAt(object, "metadata");
  const sent = instantOf(stringMapAt(metadata, "annotations")[annotations.createdAt]);
  const start =
    sent !== undefined && sent <= now ? {} : { [annotations.createdAt]: timestamp(now) };
  const { finalizers } = metadata;
  const others: readonly unknown[] = Array.isArray(finalizers) ? finalizers : [];
  return {
    ...object,
    metadata: {
      ...metadata,
      annotations: {
        ...(isRecord(metadata["annotations"]) ? metadata["annotations"] : {}),
        ...start,
      },
      finalizers: others.includes(cleanupFinalizer) ? others : [...others, cleanupFinalizer],
    },
  };
}
