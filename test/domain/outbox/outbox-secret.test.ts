import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations, cleanupFinalizer, labels } from "../../../src/api/names.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import {
  isOfferCurrent,
  isTombstoneOf,
  marksPatch,
  outboxManifest,
  sourceOfOutbox,
  tombstoneManifest,
  withdrawnUid,
} from "../../../src/domain/outbox/outbox-secret.ts";
import {
  observedOf,
  offeredOf,
  offeredSecret,
  revisedAt,
  sharedWith,
  tombstoneFor,
} from "../../support/observed-outbox.ts";
import { runs } from "../../support/property-runs.ts";

const data = { password: new SecretText("bmV3") };
const source = sharedWith({
  metadata: {
    labels: { team: "blue" },
    annotations: {
      [annotations.syncFormat]: "env",
      [annotations.disableSync]: "false",
      [annotations.syncToProjects]: "web, ops",
      [annotations.syncToClusters]: "east",
      [annotations.requester]: "jane",
      note: "of the user",
    },
  },
});
const offered = offeredOf(source);
const withdrawn = { cluster: "east", source: { namespace: "team", name: "db" }, uid: "uid-db" };

describe("the Secret of a source in an outbox", () => {
  const manifest = outboxManifest({ ...offered, data }, revisedAt);

  test("has the data and the options of the source, the projects that are let in, and no other mark", () => {
    expect(manifest).toEqual({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        namespace: "latchkey-cluster-east",
        name: expect.stringMatching(/^[0-9a-f]{32}$/),
        labels: { [labels.outboxUid]: "uid-db" },
        annotations: {
          [annotations.syncFormat]: "env",
          [annotations.disableSync]: "false",
          [annotations.outboxFormat]: "1",
          [annotations.source]: "team/db",
          [annotations.revision]: "uid-db.3",
          [annotations.createdAt]: "2026-01-01T00:00:00Z",
          [annotations.syncToProjects]: "web",
          [annotations.revisedAt]: revisedAt,
        },
      },
      type: "management.service/outbox",
      data,
    });
  });

  test("names every project that is let in", () => {
    const { metadata } = outboxManifest({ ...offeredOf(source, ["web", "p*"]), data }, revisedAt);
    expect(metadata.annotations?.[annotations.syncToProjects]).toBe("web,p*");
  });

  test("replaces exactly the Secret that was observed, and keeps its finalizers", () => {
    const over = observedOf(manifest, { marks: { finalizers: [cleanupFinalizer] } });
    expect(outboxManifest({ ...offered, data }, revisedAt, over).metadata).toMatchObject({
      uid: "uid-outbox",
      resourceVersion: "7",
      finalizers: [cleanupFinalizer],
    });
    expect(tombstoneManifest(withdrawn, revisedAt, over).metadata).toMatchObject({
      uid: "uid-outbox",
      resourceVersion: "7",
      finalizers: [cleanupFinalizer],
    });
  });

  test("says of which source it is", () => {
    expect(sourceOfOutbox(observedOf(manifest).metadata)).toEqual(withdrawn.source);
    expect(withdrawnUid(observedOf(manifest))).toBeUndefined();
    expect(sourceOfOutbox({ annotations: {} })).toBeUndefined();
    expect(sourceOfOutbox({ annotations: { [annotations.source]: "a/b/c" } })).toBeUndefined();
  });
});

describe("a tombstone", () => {
  const manifest = tombstoneManifest(withdrawn, revisedAt);

  test("has no data, and says what it withdraws", () => {
    expect(manifest).toMatchObject({
      metadata: {
        namespace: "latchkey-cluster-east",
        name: outboxManifest({ ...offered, data }, revisedAt).metadata.name,
        labels: { [labels.outboxUid]: "uid-db" },
        annotations: {
          [annotations.outboxFormat]: "1",
          [annotations.source]: "team/db",
          [annotations.withdrawn]: "uid-db",
          [annotations.revisedAt]: revisedAt,
        },
      },
      type: "management.service/outbox",
      data: {},
    });
    expect(withdrawnUid(observedOf(manifest))).toBe("uid-db");
  });

  test.for<[string, Parameters<typeof observedOf>[1], boolean]>([
    ["as it was written", {}, true],
    ["with data", { size: 1 }, false],
    ["with the label of another source", { marks: { labels: { [labels.outboxUid]: "x" } } }, false],
    [
      "with another annotation of Latchkey",
      {
        marks: { annotations: { ...manifest.metadata.annotations, [annotations.copyLabels]: "a" } },
      },
      false,
    ],
    [
      "with an annotation of a platform, too",
      { marks: { annotations: { ...manifest.metadata.annotations, "example.com/a": "b" } } },
      true,
    ],
    ["without its annotations", { marks: { annotations: {} } }, false],
  ])("withdraws its source only %s", ([, changes, wanted]) => {
    expect(isTombstoneOf(observedOf(manifest, changes), withdrawn)).toBe(wanted);
  });
});

/** The annotations of the Secret with these changes. */
function marks(changes: Readonly<Record<string, string | undefined>>) {
  const given = Object.entries({ ...offeredSecret(offered).metadata.annotations, ...changes });
  return Object.fromEntries(
    given.filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

describe("an offer is current", () => {
  test.for<[string, Parameters<typeof offeredSecret>[1], boolean]>([
    ["as it was written", {}, true],
    ["at another time", { marks: { annotations: marks({ [annotations.revisedAt]: "x" }) } }, true],
    [
      "with a mark of a platform",
      { marks: { annotations: marks({ "example.com/a": "b" }) } },
      true,
    ],
    ["not with other data", { digest: "old" }, false],
    [
      "not with the label of another source",
      { marks: { labels: { [labels.outboxUid]: "x" } } },
      false,
    ],
    ["not without its label", { marks: { labels: {} } }, false],
    [
      "not with other projects",
      { marks: { annotations: marks({ [annotations.syncToProjects]: "*" }) } },
      false,
    ],
    [
      "not with an option that the source does not have",
      { marks: { annotations: marks({ [annotations.copyLabels]: "a=b" }) } },
      false,
    ],
    [
      "not without an option of the source",
      { marks: { annotations: marks({ [annotations.syncFormat]: undefined }) } },
      false,
    ],
    [
      "not if it says that it is withdrawn",
      { marks: { annotations: marks({ [annotations.withdrawn]: "uid-db" }) } },
      false,
    ],
  ])("%s", ([, changes, wanted]) => {
    expect(isOfferCurrent(offeredSecret(offered, changes), offered)).toBe(wanted);
  });

  test("for what was written of any source, and not for another generation, project or digest", () => {
    const options = fc.dictionary(
      fc.constantFrom(annotations.copyLabels, annotations.refreshNow, "__proto__", "constructor"),
      fc.string(),
    );
    fc.assert(
      fc.property(options, fc.array(fc.constantFrom("web", "p*", "*")), (given, projects) => {
        const one = sharedWith({ metadata: { annotations: given } });
        const secret = offeredSecret(offeredOf(one, projects));
        expect(isOfferCurrent(secret, offeredOf(one, projects))).toBe(true);
        expect(isOfferCurrent(secret, offeredOf(one, [...projects, "x"]))).toBe(false);
        const later = { annotations: given, generation: 4 };
        expect(isOfferCurrent(secret, offeredOf(sharedWith({ metadata: later }), projects))).toBe(
          false,
        );
        const other = sharedWith({ metadata: { annotations: given }, data: "other" });
        expect(isOfferCurrent(secret, offeredOf(other, projects))).toBe(false);
      }),
      runs(100),
    );
  });
});

describe("the marks of a Secret whose data stays", () => {
  const narrowed = sharedWith({
    metadata: { annotations: { [annotations.disableSync]: "true" }, generation: 4 },
  });

  test("become those that are offered now, without the revision of data that it does not have", () => {
    expect(marksPatch(offeredSecret(offered), offeredOf(narrowed, ["pay"]))).toEqual({
      [annotations.syncToProjects]: "pay",
      [annotations.disableSync]: "true",
      [annotations.syncFormat]: null,
    });
  });

  test("stay if they are those", () => {
    expect(marksPatch(offeredSecret(offered), offered)).toBeUndefined();
    const later = offeredOf(sharedWith({ metadata: { ...source.secret.metadata, generation: 9 } }));
    expect(marksPatch(offeredSecret(offered), later)).toBeUndefined();
  });

  test("of a tombstone stay, because it has no data", () => {
    expect(marksPatch(tombstoneFor(source), offered)).toBeUndefined();
  });
});
