import { isRecord, recordAt } from "../../src/api/parse.ts";
import type { Metadata } from "../../src/api/object.ts";
import type { Plan } from "../../src/domain/plan/plan.ts";

/** The status patch of a plan; an empty one if it writes none. */
export function statusPatch(plan: Plan): Readonly<Record<string, unknown>> {
  const write = plan.steps
    .flat()
    .find((entry) => entry.do === "patch" && entry.subresource === "status");
  return write?.do === "patch" ? recordAt(write.body, "status") : {};
}

/** The status after the plan: its merge patch (RFC 7386) applied. */
export function applyStatus(
  status: Readonly<Record<string, unknown>>,
  plan: Plan,
): Readonly<Record<string, unknown>> {
  const after: Record<string, unknown> = { ...status };
  for (const [field, value] of Object.entries(statusPatch(plan))) {
    if (isRecord(value)) throw new Error(`the model does not merge ${field}`);
    if (value === null) delete after[field];
    else after[field] = value;
  }
  return after;
}

/** The metadata after the plan: its merge patches of annotations applied. */
export function applyAnnotations(metadata: Metadata, plan: Plan): Metadata {
  const patches = plan.steps
    .flat()
    .flatMap((write) =>
      write.do === "patch" && write.subresource === undefined
        ? [recordAt(write.body.metadata, "annotations")]
        : [],
    );
  const merged = Object.entries(Object.assign({}, metadata.annotations, ...patches)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return { ...metadata, annotations: Object.fromEntries(merged) };
}

/** Type, reason and deduplicationKey of the Events of a plan. */
export function notesOf(plan: Plan): readonly string[] {
  return plan.steps
    .flat()
    .flatMap((write) =>
      write.do === "record-event"
        ? [`${write.event.type} ${write.event.reason} ${write.event.deduplicationKey}`]
        : [],
    );
}
