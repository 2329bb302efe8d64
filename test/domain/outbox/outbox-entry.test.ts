import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { parseSharedSecret } from "../../../src/api/shared-secret.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import { outboxEntryOf } from "../../../src/domain/outbox/outbox-entry.ts";
import { outboxName } from "../../../src/domain/outbox/outbox-names.ts";
import { outboxManifest, tombstoneManifest } from "../../../src/domain/outbox/outbox-secret.ts";
import { syncOptionsOf } from "../../../src/domain/sync/sync-options.ts";
import { offeredOf, revisedAt, sharedWith } from "../../support/observed-outbox.ts";
import { runs } from "../../support/property-runs.ts";

const offered = {
  [annotations.outboxFormat]: "1",
  [annotations.source]: "team/db",
  [annotations.revision]: "uid-db.3",
  [annotations.revisedAt]: revisedAt,
  [annotations.createdAt]: "2026-01-01T00:00:00Z",
  [annotations.syncToProjects]: "web",
};
const withdrawing = {
  [annotations.outboxFormat]: "1",
  [annotations.source]: "team/db",
  [annotations.withdrawn]: "uid-db",
};

type Marks = Readonly<Record<string, unknown>>;

/** A Secret of the outbox as the API server returns it, with other annotations or fields. */
function raw(marks: Marks = offered, changes: Marks = {}): Readonly<Record<string, unknown>> {
  return {
    metadata: {
      namespace: "latchkey-cluster-east",
      name: outboxName({ namespace: "team", name: "db" }),
      uid: "uid-secret",
      resourceVersion: "42",
      creationTimestamp: "2026-03-01T00:00:00Z",
      labels: { [labels.outboxUid]: "uid-db" },
      annotations: marks,
      ...changes,
    },
    type: "management.service/outbox",
    data: { password: "bmV3" },
  };
}

/** The SharedSecret of an entry, as the agent parses it. */
function parsed(entry: ReturnType<typeof outboxEntryOf>) {
  if (entry === undefined) throw new Error("no entry");
  return parseSharedSecret(entry);
}

describe("a Secret of an outbox is a SharedSecret for an agent", () => {
  test("with the names of the source, its data, and the version of the Secret", () => {
    const entry = outboxEntryOf(raw());
    expect(entry).not.toHaveProperty("unsupported");
    const { metadata, data } = parsed(entry);
    expect(metadata).toMatchObject({
      namespace: "team",
      name: "db",
      uid: "uid-db",
      resourceVersion: "42",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: { [annotations.syncToProjects]: "web" },
    });
    expect(data).toEqual({ password: new SecretText("bmV3") });
  });

  test("with every option that the central cluster passes on", () => {
    const options = {
      [annotations.copyAnnotations]: "a=b",
      [annotations.copyLabels]: "c=d",
      [annotations.disableSync]: "true",
      [annotations.refreshNow]: "now",
      [annotations.syncFormat]: "env",
      [annotations.syncFormatFrom]: "x",
      [annotations.syncFormatKey]: "y",
      [annotations.syncSecretName]: "other",
      [annotations.syncSecretType]: "kubernetes.io/tls",
    };
    const source = sharedWith({ metadata: { annotations: options } });
    const manifest = outboxManifest({ ...offeredOf(source, ["w*"]), data: {} }, revisedAt);
    const entry = outboxEntryOf(manifest);
    expect(entry).not.toHaveProperty("unsupported");
    expect(
      parsed(outboxEntryOf({ ...raw(), metadata: { ...manifest.metadata, resourceVersion: "1" } }))
        .metadata.annotations,
    ).toEqual({
      ...options,
      [annotations.syncToProjects]: "w*",
    });
  });

  test.for<[string, Marks, string]>([
    ["a newer format", { ...offered, [annotations.outboxFormat]: "2" }, annotations.outboxFormat],
    ["no format", { ...offered, [annotations.outboxFormat]: undefined }, annotations.outboxFormat],
    [
      "an option of sync that it does not know",
      { ...offered, "management.service/sync-new": "x" },
      "management.service/sync-new",
    ],
    [
      "an option of copies that it does not know",
      { ...offered, "management.service/copy-new": "x" },
      "management.service/copy-new",
    ],
    [
      "a tombstone of a newer format",
      { ...withdrawing, [annotations.outboxFormat]: "2" },
      annotations.outboxFormat,
    ],
  ])("of which copies stay for %s", ([, marks, unsupported]) => {
    expect(outboxEntryOf(raw(marks))).toMatchObject({ unsupported });
  });

  test("without annotations of which it knows nothing", () => {
    const entry = outboxEntryOf(raw({ ...offered, note: "x", "management.service/new": "x" }));
    expect(entry).not.toHaveProperty("unsupported");
    expect(Object.keys(parsed(entry).metadata.annotations)).toEqual([annotations.syncToProjects]);
  });

  test.for<[string, unknown]>([
    ["no time", undefined],
    ["a text", "yesterday"],
    ["no RFC 3339 time", "2026-01-01"],
    ["a number", 7],
  ])("that was created with the Secret if the source says %s", ([, time]) => {
    const entry = outboxEntryOf(raw({ ...offered, [annotations.createdAt]: time }));
    expect(parsed(entry).metadata.creationTimestamp).toBe("2026-03-01T00:00:00Z");
  });
});

describe("a tombstone", () => {
  test("is a SharedSecret that names no project and has no data", () => {
    const withdrawn = { cluster: "east", source: { namespace: "team", name: "db" }, uid: "uid-db" };
    const manifest = tombstoneManifest(withdrawn, revisedAt);
    const { metadata } = manifest;
    for (const secret of [
      raw(withdrawing),
      { ...manifest, metadata: { ...metadata, resourceVersion: "1" } },
    ]) {
      const entry = outboxEntryOf(secret);
      const shared = parsed(entry);
      expect(shared.metadata.uid).toBe("uid-db");
      expect(shared.data).toEqual({});
      expect(syncOptionsOf(shared)).toMatchObject({ projects: [] });
    }
  });

  test("that withdraws another source than that of its label means nothing", () => {
    expect(
      outboxEntryOf(raw({ ...withdrawing, [annotations.withdrawn]: "uid-x" })),
    ).toBeUndefined();
  });
});

describe("means nothing to an agent:", () => {
  const longUid = { labels: { [labels.outboxUid]: "u".repeat(64) } };
  test.for<[string, unknown]>([
    ...[undefined, null, 7, "text", [], {}].map(
      (value) => [`${JSON.stringify(value)}`, value] as [string, unknown],
    ),
    ["a Secret of another type", { ...raw(), type: "Opaque" }],
    ["a type that is no text", { ...raw(), type: ["management.service/outbox"] }],
    ["a Secret of another name", raw(offered, { name: "db" })],
    ["a Secret without its label", raw(offered, { labels: {} })],
    ["labels that are no object", raw(offered, { labels: "x" })],
    ["a uid that is no label value", raw(offered, longUid)],
    ["a uid that is no text", raw(offered, { labels: { [labels.outboxUid]: 7 } })],
    ["a source without a namespace", raw({ ...offered, [annotations.source]: "db" })],
    ["a source that is no name", raw({ ...offered, [annotations.source]: "team/d b" })],
    ["a source of another Secret", raw({ ...offered, [annotations.source]: "team/other" })],
    ["a source that names no project", raw({ ...offered, [annotations.syncToProjects]: " ," })],
    ["a source without projects", raw({ ...offered, [annotations.syncToProjects]: undefined })],
    ["inherited fields", Object.create(raw())],
  ])("%s", ([, value]) => {
    expect(outboxEntryOf(value)).toBeUndefined();
  });

  test("a list of projects that is invalid is not one of those: its copies stay", () => {
    const entry = outboxEntryOf(raw({ ...offered, [annotations.syncToProjects]: "w!" }));
    expect(syncOptionsOf(parsed(entry))).toMatchObject({ projectsAreUnreadable: true });
  });
});

test("whatever a Secret says, an agent reads names that Kubernetes accepts, or nothing", () => {
  const texts = fc.oneof(fc.constantFrom("team/db", "1", "uid-db", "web", "2"), fc.anything());
  const keys = fc.constantFrom(
    ...Object.values(annotations),
    "__proto__",
    "constructor",
    "toString",
  );
  const secrets = fc.tuple(
    fc.dictionary(keys, texts),
    fc.dictionary(fc.constantFrom("labels", "name", "uid", "__proto__"), fc.anything()),
  );
  fc.assert(
    fc.property(secrets, ([marks, changes]) => {
      const entry = outboxEntryOf(raw({ ...offered, ...marks }, changes));
      if (entry === undefined) return;
      const { namespace, name, uid } = parsed(entry).metadata;
      expect([namespace, name, uid]).toEqual([
        "team",
        "db",
        expect.stringMatching(/^[-\w.]{1,63}$/),
      ]);
      expect(Object.getPrototypeOf(parsed(entry).metadata.annotations)).toBe(Object.prototype);
    }),
    runs(300),
  );
  expect(Object.hasOwn(Object.prototype, "labels")).toBe(false);
});
