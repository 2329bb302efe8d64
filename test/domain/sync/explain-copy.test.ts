import { expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { explainCopy } from "../../../src/domain/sync/explain-copy.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const copyOf = { [annotations.copyOf]: "team/db -> pay/db" };
const field = (name: string): string => `metadata.annotations["${name}"]`;

test.for<[string, Readonly<Record<string, string>>, string, string | undefined]>([
  ["copy", copyOf, "is a copy of SharedSecret", undefined],
  [
    "failed",
    { ...copyOf, [annotations.syncError]: "Forbidden: no" },
    "is not current: Forbidden: no.",
    field(annotations.syncError),
  ],
  [
    "paused",
    { ...copyOf, [annotations.disableSync]: "true" },
    "so it is not changed",
    field(annotations.disableSync),
  ],
  ["not-managed", {}, "is not managed by Latchkey", field(annotations.copyOf)],
  [
    "not-managed",
    { [annotations.copyOf]: "team/db -> elsewhere/db" },
    "is not managed by Latchkey",
    field(annotations.copyOf),
  ],
])("a Secret says of itself that it is: %s", ([kind, given, text, decides]) => {
  const metadata = observedMetadata({ name: "db", annotations: given });
  const explained = explainCopy({ ...metadata, namespace: "pay" });
  expect(explained.kind).toBe(kind);
  expect(explained.sentence).toContain(text);
  expect(explained.causes.map((cause) => cause.field)).toEqual(
    decides === undefined ? [] : [decides],
  );
});
