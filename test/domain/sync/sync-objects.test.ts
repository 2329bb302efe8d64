import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { labels } from "../../../src/api/names.ts";
import { keyOf } from "../../../src/api/object.ts";
import { copiedSource } from "../../../src/domain/sync/copy.ts";
import {
  existingAt,
  observeInstead,
  observeTarget,
} from "../../../src/domain/sync/observed-target.ts";
import { effectOf, targetSteps } from "../../../src/domain/sync/state-table.ts";
import { syncObjectsOf, withChanges } from "../../../src/domain/sync/sync-objects.ts";
import { targetState } from "../../../src/domain/sync/target-state.ts";
import { observedCopy, observedSource, target } from "../../support/observed-copies.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { runs } from "../../support/property-runs.ts";
import { live } from "../sync-situations.ts";
import { snapshots } from "../sync-world.ts";

const former = observedSource({ metadata: { name: "former", uid: "uid-former" } });
const pay = observedMetadata({ name: "pay", labels: { [labels.project]: "web" } });
const snapshot = { sharedSecrets: [live], namespaces: [pay], secrets: [observedCopy(former)] };

describe("objects among which a source may be missing", () => {
  const objects = syncObjectsOf({ ...snapshot, keepsUnknown: true });
  const kindIn = (seen: ReturnType<typeof syncObjectsOf>) =>
    targetState(observeTarget(target, seen)).kind;

  test("leave its copies alone, and others take them away", () => {
    expect(kindIn(objects)).toBe("unknown-source");
    expect(kindIn(syncObjectsOf(snapshot))).toBe("orphaned");
  });

  test("are the same after a change", () => {
    const changed = withChanges(objects, { namespaces: new Map([["web", pay]]) });
    expect(kindIn(changed)).toBe("unknown-source");
    const other = { [labels.project]: "pay" };
    const secret = observedCopy(former, { labels: other });
    expect(targetState(observeInstead(target, secret, objects)).kind).toBe("unknown-source");
    expect(withChanges(syncObjectsOf(snapshot), {})).not.toHaveProperty("keepsUnknown");
  });

  test("take its copies away once the source is known to be withdrawn", () => {
    const withdrawn = observedSource({
      metadata: former.secret.metadata,
      options: { projects: [] },
    });
    const changes = { sharedSecrets: new Map([[keyOf(former.secret.metadata), withdrawn]]) };
    expect(kindIn(withChanges(objects, changes))).toBe("withdrawn");
  });
});

test("only a copy of a source that is missing differs where sources may be missing, and it is never written", () => {
  fc.assert(
    fc.property(snapshots, (some) => {
      const [certain, uncertain] = [
        syncObjectsOf(some),
        syncObjectsOf({ ...some, keepsUnknown: true }),
      ];
      for (const { metadata } of some.secrets) {
        const observed = observeTarget(metadata, uncertain);
        const state = targetState(observed);
        const source = copiedSource(metadata);
        const isUnknown =
          source !== undefined && certain.sharedSecrets.get(keyOf(source)) === undefined;
        const isLeft = isUnknown && !observed.isTerminating;
        expect(state.kind === "unknown-source").toBe(isLeft);
        expect(isLeft ? targetSteps(metadata, state) : []).toEqual([]);
        expect(isLeft ? effectOf(state) : "leave").toBe("leave");
        expect(existingAt(observed)?.metadata).toBe(metadata);
        const { kind } = targetState(observeTarget(metadata, certain));
        expect(isLeft || kind === state.kind).toBe(true);
      }
    }),
    runs(300),
  );
});
