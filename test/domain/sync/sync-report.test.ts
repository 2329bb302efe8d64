import { expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { copyItem } from "../../../src/domain/sync/sync-report.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const copyOf = { [annotations.copyOf]: "team/db -> pay/db" };
const field = (name: string): string => `metadata.annotations["${name}"]`;

test.for<[string, Readonly<Record<string, string>>, string, string | undefined]>([
  ["CopyFound", copyOf, "is a copy of SharedSecret", undefined],
  [
    "NotCurrent",
    { ...copyOf, [annotations.syncError]: "Forbidden: no" },
    "is not current: Forbidden: no.",
    field(annotations.syncError),
  ],
  [
    "CopyPaused",
    { ...copyOf, [annotations.disableSync]: "true" },
    "so it is not changed",
    field(annotations.disableSync),
  ],
  ["NotManaged", {}, "is not managed by Latchkey", field(annotations.copyOf)],
  [
    "NotManaged",
    { [annotations.copyOf]: "team/db -> elsewhere/db" },
    "is not managed by Latchkey",
    field(annotations.copyOf),
  ],
])("a Secret says of itself that it is: %s", ([reason, given, text, decides]) => {
  const metadata = observedMetadata({ name: "db", annotations: given });
  const explained = copyItem({ ...metadata, namespace: "pay" });
  expect(explained.reason).toBe(reason);
  expect(explained.state).toBe(decides === undefined ? "unknown" : "problem");
  expect(explained.message).toContain(text);
  expect(explained.causes.map((cause) => cause.field)).toEqual(
    decides === undefined ? [] : [decides],
  );
});
