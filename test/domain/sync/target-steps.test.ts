import { expect, test } from "vitest";
import { annotations, group, labels } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import { unknownKeySteps } from "../../../src/domain/sync/target-steps.ts";
import type { MetadataKey } from "../../../src/api/known-keys.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const metadata = observedMetadata({ namespace: "pay", name: "db", uid: "uid-db" });

test.for<[string, readonly MetadataKey[] | undefined, readonly string[]]>([
  ["has none", undefined, []],
  [
    "has a label with a typing mistake",
    [{ field: "labels", key: `${group}/sharedsecret` }],
    [
      `label ${group}/sharedsecret has no effect on Secrets; did you mean the label ` +
        `${labels.sharedSecretName}?`,
    ],
  ],
  [
    "has a label that must be an annotation, and a key that nobody means",
    [
      { field: "labels", key: annotations.syncKeys },
      { field: "annotations", key: `${group}/colour` },
    ],
    [
      `label ${annotations.syncKeys} has no effect on Secrets; set it as the annotation ` +
        annotations.syncKeys,
      `annotation ${group}/colour has no effect on Secrets; remove it; kubectl explain ` +
        "sharedsecret lists those that have one",
    ],
  ],
])("the Events about keys without effect of a Secret that %s", ([, unknownKeys, notes]) => {
  const steps = unknownKeySteps({ metadata, ...(unknownKeys && { unknownKeys }) });
  expect(steps).toMatchObject(
    notes.map((note) => [
      {
        do: "record-event",
        event: {
          ...{ resource: resources.secrets, subject: metadata, note, limit: "hints" },
          ...{ type: "Warning", reason: "UnknownAnnotation" },
        },
      },
    ]),
  );
});

test("the Event about a key is the same after another change of the Secret", () => {
  const unknownKeys = [{ field: "labels", key: `${group}/colour` }] as const;
  const changed = { ...metadata, resourceVersion: "99" };
  const keysOf = (subject: typeof metadata): readonly unknown[] =>
    unknownKeySteps({ metadata: subject, unknownKeys })
      .flat()
      .map((write) => write.do === "record-event" && write.event.deduplicationKey);
  expect(keysOf(changed)).toEqual(keysOf(metadata));
});
