import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { type Key, keyOf } from "../../../src/api/object.ts";
import { copiedSource } from "../../../src/domain/sync/copy.ts";
import {
  type ObjectChange,
  planChange,
  planChanges,
} from "../../../src/domain/sync/plan-change.ts";
import { type SyncSnapshot, syncObjectsOf } from "../../../src/domain/sync/sync-objects.ts";
import { changes, secretsOf, settle, snapshots, type StoredSecret } from "../sync-world.ts";
import { runs } from "../../support/property-runs.ts";

/** The snapshot after a change, before the controller acts. */
function changed(snapshot: SyncSnapshot, { kind, key, after }: ObjectChange): SyncSnapshot {
  const keep = <T>(objects: readonly T[], keyIn: (object: T) => Key, added: T | undefined) => [
    ...objects.filter((object) => keyIn(object) !== key),
    ...(added === undefined ? [] : [added]),
  ];
  switch (kind) {
    case "SharedSecret":
      return {
        ...snapshot,
        sharedSecrets: keep(snapshot.sharedSecrets, ({ secret }) => keyOf(secret.metadata), after),
      };
    case "Namespace":
      return { ...snapshot, namespaces: keep(snapshot.namespaces, keyOf, after) };
    case "Secret":
      return {
        ...snapshot,
        secrets: keep(snapshot.secrets, ({ metadata }) => keyOf(metadata), after),
      };
  }
}

/**
 * The settled state after a change. Before a SharedSecret is gone, or another one has its name, its
 * deletion settles.
 */
function settledAfter(before: SyncSnapshot, change: ObjectChange): SyncSnapshot {
  const former = before.sharedSecrets.find(({ secret }) => keyOf(secret.metadata) === change.key);
  if (change.kind !== "SharedSecret" || former === undefined)
    return settle(changed(before, change));
  const { metadata } = former.secret;
  if (change.after?.secret.metadata.uid === metadata.uid) return settle(changed(before, change));
  const deletionTimestamp = "2026-02-01T00:00:00Z";
  const deleting = { ...former.secret, metadata: { ...metadata, deletionTimestamp } };
  const after = { ...former, secret: deleting };
  return settle(changed(settle(changed(before, { ...change, after })), change));
}

/** What becomes of each Secret: an error annotation that is added does not count. */
function difference(before: SyncSnapshot, after: SyncSnapshot): Readonly<Record<Key, string>> {
  const [was, is] = [secretsOf(before), secretsOf(after)];
  const keys = [...new Set([...was.keys(), ...is.keys()])].sort();
  return Object.fromEntries(
    keys.flatMap((key) => {
      const [one, other] = [was.get(key), is.get(key)];
      if (one === undefined) return [[key, "create"]];
      if (other === undefined) return [[key, "delete"]];
      if (essence(one) === essence(other) && (!hasError(one) || hasError(other))) return [];
      const [had, has] = [one, other].map(({ metadata }) => copiedSource(metadata) !== undefined);
      return [[key, had === true && has === false ? "empty" : "replace"]];
    }),
  );
}

function hasError({ metadata }: StoredSecret): boolean {
  return metadata.annotations[annotations.syncError] !== undefined;
}

function essence(secret: StoredSecret): string {
  const { [annotations.syncError]: _, ...rest } = secret.metadata.annotations;
  const content = "digest" in secret ? [secret.type, secret.digest, secret.values] : [];
  return JSON.stringify([secret.metadata.labels, rest, content]);
}

function endsNothing(before: SyncSnapshot, change: ObjectChange): boolean {
  if (change.kind !== "SharedSecret") return true;
  const former = before.sharedSecrets.find(({ secret }) => keyOf(secret.metadata) === change.key);
  const { uid, deletionTimestamp } = change.after?.secret.metadata ?? {};
  const keepsUid = former === undefined || former.secret.metadata.uid === uid;
  return keepsUid && deletionTimestamp === undefined;
}

describe("the plan of a random change", () => {
  test("is the difference between the settled states before and after", () => {
    fc.assert(
      fc.property(snapshots, changes, (snapshot, change) => {
        const before = settle(snapshot);
        const plan = planChange(change, syncObjectsOf(before));
        const written = plan.filter(({ action }) => action !== "nothing" && action !== "release");
        const after = changed(before, change);
        expect(
          Object.fromEntries(written.map(({ target, action }) => [keyOf(target), action])),
        ).toEqual(difference(after, settledAfter(before, change)));
      }),
      runs(1_000),
    );
  });

  test("together with changes of other objects is the difference that they make at once", () => {
    const several = fc.uniqueArray(changes, {
      minLength: 2,
      maxLength: 4,
      selector: ({ kind, key }) => `${kind} ${key}`,
    });
    fc.assert(
      fc.property(snapshots, several, (snapshot, all) => {
        const before = settle(snapshot);
        // The end of a SharedSecret settles before another one can have its name.
        fc.pre(all.every((change) => endsNothing(before, change)));
        const plan = planChanges(all, syncObjectsOf(before));
        const written = plan.filter(({ action }) => action !== "nothing" && action !== "release");
        const after = all.reduce(changed, before);
        expect(
          Object.fromEntries(written.map(({ target, action }) => [keyOf(target), action])),
        ).toEqual(difference(after, settle(after)));
      }),
      runs(500),
    );
  });
});
