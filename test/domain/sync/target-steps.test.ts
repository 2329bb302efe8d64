import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import type { Source } from "../../../src/domain/sync/copy.ts";
import { rejectedSteps } from "../../../src/domain/sync/target-steps.ts";
import { observedCopy } from "../../support/observed-copies.ts";
import { live, older } from "../sync-situations.ts";

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

describe("a rejected write", () => {
  test("at a placeholder with the data of another source takes that data away", () => {
    const copy = filledFrom(older, live);
    const [[write] = []] = rejectedSteps({ kind: "differs", source: live, copy }, "why");
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
    ["a placeholder", filledFrom(live, live)],
    ["a copy", observedCopy(older)],
  ])("at %s keeps the data of its own source, and says why", (_, copy) => {
    expect(rejectedSteps({ kind: "differs", source: live, copy }, "why")).toMatchObject([
      [{ do: "patch", body: { metadata: { annotations: { [annotations.syncError]: "why" } } } }],
    ]);
  });
});
