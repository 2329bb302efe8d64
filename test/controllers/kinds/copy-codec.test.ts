import fc from "fast-check";
import { expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import { type ObservedCopy, copyOfText } from "../../../src/domain/sync/copy.ts";
import { encodeCopy, decodeCopy } from "../../../src/controllers/kinds/copy-codec.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { target } from "../../support/observed-copies.ts";
import { runs } from "../../support/property-runs.ts";

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const sometimes = <T>(usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });
const foreignEntries = sometimes<Readonly<Record<string, string>>>(
  {},
  fc.dictionary(fc.oneof(text, fc.constant("__proto__")), text, { maxKeys: 2 }),
);
const deletions = sometimes<Pick<Metadata, "deletionTimestamp">>(
  {},
  text.map((deletionTimestamp) => ({ deletionTimestamp })),
);
const written = copyOfText({ namespace: "team", name: "db" }, target);

const copies: fc.Arbitrary<ObservedCopy> = fc
  .record({
    metadata: fc.record({
      uid: text,
      resourceVersion: text,
      creationTimestamp: text,
      generation: sometimes(0, fc.nat()),
      finalizers: sometimes<string[]>([], fc.array(text)),
    }),
    deletion: deletions,
    sourceUid: sometimes(
      { [labels.sourceUid]: "uid-db" },
      fc.constantFrom({}, { [labels.sourceUid]: "" }),
    ),
    copyOf: sometimes(
      { [annotations.copyOf]: written },
      fc.constantFrom(
        {},
        { [annotations.copyOf]: "team/db -> pay/other" },
        { [annotations.copyOf]: "nonsense" },
        { [annotations.copyOf]: `${written} ` },
      ),
    ),
    labels: foreignEntries,
    annotations: foreignEntries,
    owners: sometimes<ObservedCopy["ownerReferences"]>(
      [],
      fc.constant([{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y", controller: true }]),
    ),
    type: sometimes("Opaque", text),
    immutable: sometimes(false, fc.boolean()),
    digest: text,
    least: sometimes<Pick<ObservedCopy, "hasLeastData" | "unknownKeys">>(
      {},
      fc.constantFrom<Pick<ObservedCopy, "hasLeastData" | "unknownKeys">>(
        { hasLeastData: true },
        { unknownKeys: [{ field: "labels", key: "management.service/colour" }] },
      ),
    ),
  })
  .map(
    ({
      metadata,
      deletion,
      sourceUid,
      copyOf,
      labels: moreLabels,
      annotations: moreAnnotations,
      owners,
      least,
      ...rest
    }) => ({
      ...rest,
      ...least,
      metadata: observedMetadata({
        ...target,
        ...metadata,
        ...deletion,
        labels: { ...moreLabels, ...sourceUid },
        annotations: { ...moreAnnotations, ...copyOf },
      }),
      ownerReferences: owners,
    }),
  );

test("decoding returns the encoded copy, with any edits by users", () => {
  fc.assert(
    fc.property(copies, (copy) => {
      expect(decodeCopy(encodeCopy(copy), target)).toStrictEqual(copy);
    }),
    runs(2_000),
  );
});

test("the encoding of an unchanged copy contains only the fields that vary", () => {
  const labelled = { [labels.sourceUid]: "uid-db" };
  const metadata = observedMetadata({
    ...target,
    uid: "u",
    resourceVersion: "7",
    generation: 0,
    finalizers: [],
    labels: labelled,
    annotations: { [annotations.copyOf]: written },
  });
  const copy = { metadata, ownerReferences: [], type: "Opaque", immutable: false, digest: "d" };
  expect(encodeCopy(copy)).toBe(
    JSON.stringify(["u", "7", metadata.creationTimestamp, "uid-db", "team", "db", "Opaque", "d"]),
  );
});
