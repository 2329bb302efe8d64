import fc from "fast-check";
import { annotations, labels } from "../../src/api/names.ts";
import { type Key, keyOf, type Manifest, type Metadata, refOf } from "../../src/api/object.ts";
import { isRecord, recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import { parseSharedSecret } from "../../src/api/shared-secret.ts";
import {
  copyOfText,
  type ObservedCopy,
  type Source,
  type UnmanagedSecret,
  sourceOf,
} from "../../src/domain/sync/copy.ts";
import { pick, placeholderRequestOf } from "../../src/domain/sync/placeholder.ts";
import type { Write } from "../../src/domain/plan/plan.ts";
import { targetState } from "../../src/domain/sync/target-state.ts";
import { writtenSource, targetSteps } from "../../src/domain/sync/state-table.ts";
import { observeTarget, targetsOf } from "../../src/domain/sync/observed-target.ts";
import {
  type SyncObjects,
  type SyncSnapshot,
  syncObjectsOf,
} from "../../src/domain/sync/sync-objects.ts";
import { type NamespaceOptions, readNamespace } from "../../src/domain/sync/obstacles.ts";
import { observedMetadata } from "../support/observed-objects.ts";

/** A Secret as the informers store it. */
export type StoredSecret = ObservedCopy | UnmanagedSecret;

const slots = ["team-a/db", "team-a/other", "team-b/db", "team-b/web"] as const;
const places = ["one", "two"].flatMap((namespace) =>
  ["db", "other", "web"].map((name) => `${namespace}/${name}`),
);

const optional = <T>(...values: readonly T[]) => fc.constantFrom(undefined, ...values);

/** A SharedSecret with random sync annotations and data. */
const sourceTerms = fc.record({
  projects: fc.constantFrom("web", "web, pay", "*", "pay-*, w*", "pay", "", "web!", undefined),
  secretName: optional("db", "db", "other", "No Name"),
  secretType: optional("example.com/one", "helm.sh/release.v1"),
  disableSync: optional("true", "false", "maybe"),
  copyLabels: optional("tier=gold", "tier=gold,example.com/team=web", "kubernetes.io/a=b"),
  bornAt: fc.integer({ min: 0, max: 3 }),
  data: fc.constantFrom("first", "second", "bad-key", "large"),
  life: fc.constantFrom(...["uid", "uid", "uid", "again", "deleting"]),
});

/** A namespace with a random project and random annotations. */
const namespaceTerms = fc.record({
  project: fc.constantFrom("web", "web", "pay", undefined),
  sync: fc.constantFrom("enabled", "enabled", "enabled", "true", undefined),
  from: optional("team-a", "team-b, team-a", "", "team!"),
  allows: optional("tier", "example.com/*"),
  isTerminating: fc.constantFrom(false, false, false, true),
});

/** A Secret with random marks of Latchkey. */
const secretTerms = fc.record({
  source: fc.constantFrom(...slots),
  marks: fc.constantFrom("copy", "copy", "copy", "label", "annotation", "pasted", "none"),
  data: fc.constantFrom("first", "second", "own"),
  type: fc.constantFrom("Opaque", "Opaque", "example.com/one"),
  isImmutable: fc.boolean(),
  asksFor: optional(...slots, ...slots, "team-a/none", "/"),
  isFilled: fc.boolean(),
  keys: optional("password", "PASS=password", "PASS=other", ""),
  isPaused: fc.constantFrom(false, false, false, true),
});

type SourceTerms = typeof sourceTerms extends fc.Arbitrary<infer T> ? T : never;
type NamespaceTerms = typeof namespaceTerms extends fc.Arbitrary<infer T> ? T : never;
type SecretTerms = typeof secretTerms extends fc.Arbitrary<infer T> ? T : never;

const largeData = "A".repeat(1_400_000);

function sourceIn(slot: string, terms: SourceTerms): Source {
  const { projects, secretName, secretType, disableSync, copyLabels, ...rest } = terms;
  const { bornAt, data, life } = rest;
  const values = {
    first: { password: "Zmlyc3Q=" },
    second: { password: "c2Vjb25k" },
    "bad-key": { "..": "Zmlyc3Q=" },
    large: { password: largeData },
  };
  return sourceOf(
    parseSharedSecret({
      metadata: {
        ...observedMetadata({
          ...refOf(slot),
          uid: uidOf(slot, life),
          creationTimestamp: `2026-01-0${bornAt + 1}T00:00:00Z`,
        }),
        ...(life === "deleting" && { deletionTimestamp: "2026-02-01T00:00:00Z" }),
        annotations: defined({
          [annotations.syncToProjects]: projects,
          [annotations.syncSecretName]: secretName,
          [annotations.syncSecretType]: secretType,
          [annotations.disableSync]: disableSync,
          [annotations.copyLabels]: copyLabels,
        }),
      },
      spec: { data: values[data] },
    }),
    { digest: data, values: { password: data } },
  );
}

function uidOf(slot: string, life = "uid"): string {
  return `${life === "again" ? "again" : "uid"}-${slot}`;
}

function namespaceNamed(name: string, terms: NamespaceTerms, options: NamespaceOptions): Metadata {
  const { project, sync, from, allows, isTerminating } = terms;
  const metadata = observedMetadata({
    name,
    uid: `uid-${name}`,
    labels: defined({ [labels.project]: project }),
    annotations: defined({
      [annotations.sync]: sync,
      [annotations.syncFrom]: from,
      [annotations.allowCopyKeys]: allows,
    }),
    ...(isTerminating && { deletionTimestamp: "2026-02-01T00:00:00Z" }),
  });
  return readNamespace(metadata, options);
}

function secretAt(place: string, terms: SecretTerms): StoredSecret {
  const { source, marks, data, type, isImmutable, isPaused, asksFor, isFilled, keys } = terms;
  const hasLabel = marks === "copy" || marks === "label" || marks === "pasted";
  const copyOf = copyOfText(refOf(source), marks === "pasted" ? { name: "x" } : refOf(place));
  const metadata = observedMetadata({
    ...refOf(place),
    uid: `uid-of-${place}`,
    finalizers: [],
    labels: {
      ...(hasLabel && { [labels.sourceUid]: uidOf(source) }),
      ...(asksFor !== undefined && requestLabels(asksFor)),
    },
    annotations: defined({
      [annotations.copyOf]: marks === "label" || marks === "none" ? undefined : copyOf,
      [annotations.disableSync]: isPaused ? "true" : undefined,
      [annotations.filled]: isFilled ? "true" : undefined,
      [annotations.syncKeys]: asksFor === undefined ? undefined : keys,
    }),
  });
  if (!hasLabel && asksFor === undefined) return { metadata };
  const name = keys === "PASS=password" ? "PASS" : "password";
  return {
    metadata,
    ownerReferences: [],
    type,
    immutable: isImmutable,
    digest: data,
    ...(asksFor === undefined || keys === undefined ? {} : { values: { [name]: data } }),
  };
}

function requestLabels(source: string): Readonly<Record<string, string>> {
  const { namespace = "", name } = refOf(source);
  return { [labels.sharedSecretName]: name, [labels.sharedSecretNamespace]: namespace };
}

function defined(
  entries: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(entries).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

const sources = fc
  .record(Object.fromEntries(slots.map((slot) => [slot, fc.option(sourceTerms)])))
  .map((given) =>
    Object.entries(given).flatMap(([slot, terms]) =>
      terms === null || terms.life === "again" ? [] : [sourceIn(slot, terms)],
    ),
  );
const secrets = fc
  .record(Object.fromEntries(places.map((place) => [place, fc.option(secretTerms)])))
  .map((given) =>
    Object.entries(given).flatMap(([place, terms]) =>
      terms === null ? [] : [secretAt(place, terms)],
    ),
  );

/**
 * Random live objects. A SharedSecret that was created again is only in {@link changes}: no change
 * of it is related to the copies of the former one.
 */
export const snapshots: fc.Arbitrary<SyncSnapshot> = fc
  .record({
    sharedSecrets: sources,
    secrets,
    namespaces: fc.tuple(namespaceTerms, namespaceTerms),
    options: fc.record({
      requireSyncFrom: fc.constantFrom(false, false, true),
      copyKeys: fc.constantFrom([], [], ["tier"]),
    }),
  })
  .map(({ namespaces: [one, two], options, ...rest }) => ({
    ...rest,
    namespaces: [namespaceNamed("one", one, options), namespaceNamed("two", two, options)],
  }));

const unrestricted: NamespaceOptions = { requireSyncFrom: false, copyKeys: [] };

/** Random changes of one object. */
export const changes = fc.oneof(
  fc.tuple(fc.constantFrom(...slots), fc.option(sourceTerms)).map(([key, terms]) => ({
    kind: "SharedSecret" as const,
    key,
    ...(terms === null ? {} : { after: sourceIn(key, terms) }),
  })),
  fc.tuple(fc.constantFrom("one", "two"), fc.option(namespaceTerms)).map(([key, terms]) => ({
    kind: "Namespace" as const,
    key,
    ...(terms === null ? {} : { after: namespaceNamed(key, terms, unrestricted) }),
  })),
  fc.tuple(fc.constantFrom(...places), fc.option(secretTerms)).map(([key, terms]) => ({
    kind: "Secret" as const,
    key,
    ...(terms === null ? {} : { after: secretAt(key, terms) }),
  })),
);

/** The Secrets of a snapshot, by key. */
export function secretsOf({ secrets: given }: SyncSnapshot): Map<Key, StoredSecret> {
  return new Map(given.map((secret) => [keyOf(secret.metadata), secret]));
}

/** Lets the controller's plans for copies take effect until no write is left. */
export function settle(snapshot: SyncSnapshot): SyncSnapshot {
  let settled = snapshot;
  for (let reconcile = 0; reconcile < 10; reconcile++) {
    const objects = syncObjectsOf(settled);
    const stored = secretsOf(settled);
    const writes = targetWrites(stored, settled, objects);
    if (writes.length === 0) return settled;
    for (const write of writes) applyWrite(write, stored, settled);
    settled = { ...settled, secrets: [...stored.values()] };
  }
  throw new Error("the controller does not come to rest");
}

function targetWrites(
  stored: ReadonlyMap<Key, StoredSecret>,
  { sharedSecrets }: SyncSnapshot,
  objects: SyncObjects,
): readonly Write[] {
  const keys = new Set([
    ...stored.keys(),
    ...sharedSecrets.flatMap((source) => targetsOf(source, objects).map(keyOf)),
  ]);
  return [...keys].flatMap((key) => {
    const state = targetState(observeTarget(refOf(key), objects));
    const data = writtenSource(state)?.data ?? {};
    return targetSteps(refOf(key), state, data).flat();
  });
}

function applyWrite(
  write: Write,
  stored: Map<Key, StoredSecret>,
  { sharedSecrets }: SyncSnapshot,
): void {
  switch (write.do) {
    case "create":
    case "replace": {
      const key = keyOf(write.object.metadata);
      const { labels: given = {}, annotations: marks = {} } = write.object.metadata;
      const uid = given[labels.sourceUid];
      const source = sharedSecrets.find(({ secret }) => secret.metadata.uid === uid);
      stored.set(key, {
        metadata: observedMetadata({
          ...refOf(key),
          uid: write.object.metadata.uid ?? `created-${key}`,
          finalizers: [],
          labels: given,
          annotations: marks,
        }),
        ownerReferences: [],
        type: stringAt(write.object, "type") ?? "",
        immutable: recordAt({ write }, "write").immutable === true,
        ...contentOf(write.object, source),
      });
      return;
    }
    case "patch": {
      const key = keyOf(write.ref);
      const before = stored.get(key);
      if (before === undefined) return;
      const metadata = {
        ...before.metadata,
        labels: { ...before.metadata.labels, ...stringMapAt(write.body.metadata, "labels") },
        annotations: {
          ...before.metadata.annotations,
          ...stringMapAt(write.body.metadata, "annotations"),
        },
      };
      const content = { ownerReferences: [], type: "Opaque", immutable: false, digest: "own" };
      const isLabelled =
        isRecord(metadata.labels) && metadata.labels[labels.sourceUid] !== undefined;
      stored.set(key, isLabelled ? { ...content, ...before, metadata } : { ...before, metadata });
      return;
    }
    case "delete":
      stored.delete(keyOf(write.ref));
      return;
    case "dry-run-create":
    case "record-event":
      return;
  }
}

/** What a written Secret has: the data of its source, or nothing once it is emptied. */
function contentOf(
  { metadata: { labels: given = {}, annotations: marks = {} } }: Manifest,
  source: Source | undefined,
): Pick<ObservedCopy, "digest" | "values"> {
  const request = placeholderRequestOf({ labels: given, annotations: marks });
  if (source === undefined) return { digest: "none", ...(request?.keys && { values: {} }) };
  if (request === undefined) return { digest: source.digest };
  const picked = pick(source.values ?? {}, request.keys);
  return {
    digest: request.keys === undefined ? source.ownDigest : "picked",
    ...(request.keys && picked.kind === "values" && { values: picked.values }),
  };
}
