import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keyOf } from "../../../src/api/object.ts";
import { arrives, explain, explainGone } from "../../../src/domain/sync/explain.ts";
import { targetItem } from "../../../src/domain/sync/sync-report.ts";
import { targetState } from "../../../src/domain/sync/target-state.ts";
import { observeTarget, targetsOf } from "../../../src/domain/sync/observed-target.ts";
import { type SyncSnapshot, syncObjectsOf } from "../../../src/domain/sync/sync-objects.ts";
import { targetIn } from "../../../src/domain/sync/obstacles.ts";
import { secretsOf, settle, snapshots } from "../sync-world.ts";
import { runs } from "../../support/property-runs.ts";
import { outcomeSentence } from "../../support/outcome-sentence.ts";

/** Every SharedSecret with every namespace, and one that does not exist. */
function pairs(snapshot: SyncSnapshot) {
  return snapshot.sharedSecrets.flatMap((source) =>
    [...snapshot.namespaces.map(({ name }) => name), "nowhere"].map((namespace) => ({
      source,
      namespace,
      target: targetIn(namespace, source),
    })),
  );
}

describe("for random objects, the explanation", () => {
  test("says that the data arrives exactly if the controller's plans end with a current copy", () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const objects = syncObjectsOf(snapshot);
        const settled = syncObjectsOf(settle(snapshot));
        for (const { source, namespace, target } of pairs(snapshot)) {
          const end = targetState(observeTarget(target, settled));
          const isThere =
            end.kind === "current" && end.source.secret.metadata.uid === source.secret.metadata.uid;
          expect(arrives(explain(source, { namespace }, objects))).toBe(isThere);
        }
      }),
      runs(1_000),
    );
  });

  test("finds no obstacle exactly in the namespaces that the controller chooses", () => {
    const atTarget = new Set([
      "arrives",
      "refused",
      "older-source",
      "other-request",
      "unfillable",
      "not-managed",
      "copied-by-user",
      "source-paused",
      "copy-paused",
    ]);
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        // A placeholder that is deleted, because it is immutable, is chosen until then.
        const objects = syncObjectsOf(settle(snapshot));
        for (const { source, namespace, target } of pairs(snapshot)) {
          const { kind } = explain(source, { namespace }, objects);
          const chosen = targetsOf(source, objects).map(keyOf);
          expect(chosen.includes(keyOf(target))).toBe(atTarget.has(kind));
        }
      }),
      runs(500),
    );
  });

  test("names a field, and what to change, for each case, and never the data", () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const objects = syncObjectsOf(snapshot);
        for (const { source, namespace } of pairs(snapshot)) {
          const explanation = explain(source, { namespace }, objects);
          const { causes } = targetItem(explanation);
          const [kind] = explanation.kinds;
          expect(kind).toBe(explanation.kind);
          expect(causes).toHaveLength(arrives(explanation) ? 0 : explanation.kinds.length);
          for (const { object, field, message } of causes) {
            expect(object.name).not.toBe("");
            expect(field).toMatch(/^(metadata|spec|status)\.|^(type|immutable)$/);
            expect(message).toMatch(/^[A-Z].*[^.]\.$/);
          }
          const text = JSON.stringify([outcomeSentence(explanation), causes]);
          expect(text).not.toMatch(/Zmlyc3Q|c2Vjb25k|AAAA/);
          expect(outcomeSentence(explanation)).toMatch(/[a-z"\d]\.$/);
        }
      }),
      runs(250),
    );
  });

  test("of a source that does not exist says so", () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const objects = syncObjectsOf(snapshot);
        for (const { metadata } of secretsOf(snapshot).values()) {
          const target = { namespace: metadata.namespace ?? "", name: metadata.name };
          const gone = explainGone({ namespace: "team", name: "gone" }, target, objects);
          expect(outcomeSentence(gone)).toContain('SharedSecret "team/gone" does not exist');
        }
      }),
      runs(100),
    );
  });
});
