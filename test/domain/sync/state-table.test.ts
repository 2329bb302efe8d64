import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import type { ObservedCopy, Source } from "../../../src/domain/sync/copy.ts";
import { placeholderRequestOf } from "../../../src/domain/sync/placeholder.ts";
import { targetState } from "../../../src/domain/sync/target-state.ts";
import { rejectedSteps, targetSteps } from "../../../src/domain/sync/state-table.ts";
import { observedCopy, target } from "../../support/observed-copies.ts";
import { live, older, retyped } from "../sync-situations.ts";

/** A placeholder with the data of a source that asks for another one, or for the same. */
function filledFrom(source: Source, { secret: { metadata } }: Source) {
  return observedCopy(source, {
    type: "kubernetes.io/tls",
    labels: {
      [labels.sharedSecretName]: metadata.name,
      [labels.sharedSecretNamespace]: metadata.namespace ?? "",
    },
    annotations: { [annotations.filled]: "true" },
  });
}

/** The state of a target with this copy or placeholder of `owner`, and these permitted sources. */
function stateOf(copy: ObservedCopy, owner: Source, candidates: readonly Source[]) {
  const request = placeholderRequestOf(copy.metadata);
  return targetState({
    candidates,
    copy,
    owner,
    isTerminating: false,
    ...(request && { request }),
  });
}

test("a placeholder that is filled after an error gets an Event after the write, and no other Secret does", () => {
  const stepsOf = (copy: ObservedCopy) =>
    targetSteps(target, stateOf(copy, live, [live]), { a: new SecretText("bmV3") });
  const [error, old] = [{ [annotations.syncError]: "why" }, { digest: "old" }];
  const asking = filledFrom(live, live).metadata.labels;
  const steps = stepsOf(observedCopy(live, { ...old, labels: asking, annotations: error }));
  expect(steps).toMatchObject([
    [{ do: "replace" }],
    [
      {
        do: "record-event",
        event: {
          type: "Normal",
          reason: "Synced",
          subject: { uid: "uid-copy" },
          note: 'Secret is filled from SharedSecret "team/db"',
        },
      },
    ],
  ]);
  expect(stepsOf(observedCopy(live, { ...old, labels: asking }))).toMatchObject([
    [{ do: "replace" }],
  ]);
  expect(stepsOf(observedCopy(live, { ...old, annotations: error }))).toMatchObject([
    [{ do: "replace" }],
  ]);
});

describe("a rejected write", () => {
  test("at a placeholder with the data of another source takes that data away", () => {
    const copy = filledFrom(older, live);
    const state = stateOf(copy, older, [live]);
    expect(state).toMatchObject({ kind: "differs", hasWithdrawnData: true });
    const [[write] = []] = rejectedSteps(state, "why");
    expect(write).toMatchObject({
      do: "replace",
      object: {
        type: "kubernetes.io/tls",
        metadata: { uid: copy.metadata.uid, annotations: { [annotations.syncError]: "why" } },
      },
    });
    expect(write).not.toHaveProperty(["object", "metadata", "labels", labels.sourceUid]);
    expect(write).not.toHaveProperty(["object", "metadata", "annotations", annotations.copyOf]);
  });

  test.each([
    ["in place", "differs", live],
    ["that is of another type", "to-recreate", retyped],
  ])(
    "of a copy %s deletes it if its former source may not sync here any more",
    (_, kind, source) => {
      const copy = observedCopy(older);
      const state = stateOf(copy, older, [source]);
      expect(state).toMatchObject({ kind, hasWithdrawnData: true });
      expect(rejectedSteps(state, "why")).toMatchObject([
        [{ do: "delete", uid: copy.metadata.uid, resourceVersion: copy.metadata.resourceVersion }],
      ]);
    },
  );

  test.each([
    ["a placeholder", filledFrom(live, live), live, [live]],
    ["a copy of the same source", observedCopy(live), live, [live]],
    ["a copy of a source that may sync here, too", observedCopy(older), older, [live, older]],
  ])("at %s keeps the data, and says why", (_, copy, owner, candidates) => {
    const state = stateOf({ ...copy, digest: "former" }, owner, candidates);
    expect(state).toMatchObject({ kind: "differs" });
    expect(rejectedSteps(state, "why")).toMatchObject([
      [{ do: "patch", body: { metadata: { annotations: { [annotations.syncError]: "why" } } } }],
    ]);
  });
});
