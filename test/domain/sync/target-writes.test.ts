import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { copyOfText } from "../../../src/domain/sync/copy.ts";
import type { ObservedTarget } from "../../../src/domain/sync/observed-target.ts";
import { targetState } from "../../../src/domain/sync/target-state.ts";
import { limitedSteps, type TargetWrites } from "../../../src/domain/sync/target-writes.ts";
import {
  observedCopy,
  observedSource,
  target,
  unmanagedSecret,
} from "../../support/observed-copies.ts";

const source = observedSource();
const other = observedSource({ metadata: { name: "old", uid: "uid-old" } });
const stale = observedCopy(source, { digest: "old" });
const foreign = unmanagedSecret(source, { annotations: { [annotations.copyOf]: undefined } });
const ofOther = observedCopy(source, {
  digest: "old",
  labels: { [labels.sourceUid]: "uid-old" },
  annotations: { [annotations.copyOf]: copyOfText(other.secret.metadata, target) },
});
const candidates = [source];

const cases: readonly [string, Omit<ObservedTarget, "isTerminating">, string, string][] = [
  ["a missing copy", { candidates }, "nothing", "nothing"],
  ["a stale copy", { candidates, copy: stale, owner: source }, "nothing", "delete"],
  [
    "a current copy",
    { candidates, copy: observedCopy(source), owner: source },
    "as ever",
    "delete",
  ],
  ["a withdrawn copy", { candidates: [], copy: stale, owner: source }, "as ever", "delete"],
  [
    "a copy without its label",
    { candidates, unmanaged: unmanagedSecret(source), owner: source },
    "nothing",
    "delete",
  ],
  ["a Secret of a user", { candidates, unmanaged: foreign }, "as ever", "nothing"],
  // The data of a source that is not permitted any more may not stay.
  ["data of another source", { candidates, copy: ofOther, owner: other }, "delete", "delete"],
];

describe("writes at a target", () => {
  const done = (observed: Omit<ObservedTarget, "isTerminating">, writes: TargetWrites) => {
    const seen = { ...observed, isTerminating: false };
    const steps = limitedSteps(targetState(seen), seen, writes);
    if (steps === undefined) return "as ever";
    return (
      steps
        .flat()
        .map((write) => write.do)
        .join() || "nothing"
    );
  };

  test.each(cases)("%s", (_, observed, whenRemoving, whenRemovingAll) => {
    expect(done(observed, { kind: "all" })).toBe("as ever");
    expect(done(observed, { kind: "removals", why: "x" })).toBe(whenRemoving);
    expect(done(observed, { kind: "remove-all", why: "x" })).toBe(whenRemovingAll);
  });

  test("a terminating namespace is left alone", () => {
    const seen = { candidates, copy: stale, owner: source, isTerminating: true };
    const state = targetState(seen);
    expect(state.kind).toBe("not-wanted");
    expect(limitedSteps(state, seen, { kind: "remove-all", why: "x" })).toBeUndefined();
  });
});
