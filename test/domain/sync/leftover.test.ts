import { describe, expect, test } from "vitest";
import { keepsSource, leftoverText } from "../../../src/domain/sync/leftover.ts";
import type { TargetSecret } from "../../../src/domain/sync/copy.ts";
import {
  observedCopy,
  observedSource,
  unmanagedSecret,
  type CopyChanges,
} from "../../support/observed-copies.ts";

const source = observedSource();
const refused = { reason: "Forbidden", message: "policy 'freeze' denied request" };

function kept(finalizers: readonly string[], changes: CopyChanges = {}): TargetSecret {
  const copy = observedCopy(source, changes);
  const deletionTimestamp = "2026-01-01T00:01:00Z";
  return { ...copy, metadata: { ...copy.metadata, deletionTimestamp, finalizers } };
}

describe("a Secret whose data may not stay", () => {
  const held = ["example.com/hold"];
  test.each([
    ["while it is only in progress", observedCopy(source), undefined, undefined],
    ["while its deletion is only in progress", kept([]), undefined, undefined],
    [
      "that a policy keeps",
      observedCopy(source),
      refused,
      "the data is still there; the API server rejected its removal: " +
        "Forbidden: policy 'freeze' denied request",
    ],
    [
      "that is emptied and that a policy keeps",
      observedCopy(source, { hasLeastData: true }),
      refused,
      "the data is removed, but the Secret is still there; " +
        "the API server rejected its removal: Forbidden: policy 'freeze' denied request",
    ],
    [
      "that is emptied and that finalizers keep",
      kept(held, { hasLeastData: true }),
      undefined,
      "the data is removed, but the Secret is still there; " +
        'finalizers of others keep the Secret: "example.com/hold"',
    ],
    [
      "that another controller fills again",
      kept(held),
      { reason: "Contested", message: "it does not stay" },
      "the data is still there; " +
        'finalizers of others keep the Secret: "example.com/hold"; it does not stay',
    ],
    [
      "that is immutable",
      kept(held, { immutable: true }),
      undefined,
      "the data is still there, because the Secret is immutable; " +
        'finalizers of others keep the Secret: "example.com/hold"',
    ],
    [
      "whose update is rejected, too",
      kept(["a.b/1", "a.b/2", "a.b/3", "a.b/4", "a.b/5"]),
      refused,
      "the data is still there; " +
        'finalizers of others keep the Secret: "a.b/1", "a.b/2", "a.b/3", 2 more; ' +
        "the API server rejected its removal: Forbidden: policy 'freeze' denied request",
    ],
    [
      "of which only the metadata is observed",
      unmanagedSecret(source),
      refused,
      "the data is still there; the API server rejected its removal: " +
        "Forbidden: policy 'freeze' denied request",
    ],
  ])("%s says why", (_, copy, failure, text) => {
    expect(leftoverText(copy, failure)).toBe(text);
  });

  test.each([
    ["with its data", observedCopy(source), true],
    ["without its data", observedCopy(source, { hasLeastData: true }), false],
    ["that is kept by finalizers", kept(held), true],
    ["that is immutable", observedCopy(source, { immutable: true }), true],
    ["that is immutable and kept by finalizers", kept(held, { immutable: true }), false],
    ["of which only the metadata is observed", unmanagedSecret(source), true],
    [
      "of a user",
      unmanagedSecret(source, { annotations: { "management.service/copy-of": undefined } }),
      false,
    ],
  ])("%s keeps its source: %#", (_, copy, keeps) => {
    expect(keepsSource(copy)).toBe(keeps);
  });
});
