import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { type Resource, resources } from "../../../src/api/resources.ts";
import type { MissingRight } from "../../../src/client/missing-right.ts";
import { secretItems } from "../../../src/client/explain/why-secret.ts";
import type { Source } from "../../../src/domain/sync/copy.ts";
import {
  observedCopy,
  observedSource,
  target,
  unmanagedSecret,
} from "../../support/observed-copies.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { live } from "../../domain/sync-situations.ts";
import type { StoredSecret } from "../../domain/sync-world.ts";

interface Situation {
  readonly sources?: readonly Source[];
  readonly namespace?: "unlabelled" | "hidden";
  readonly secret?: StoredSecret;
  readonly missing?: readonly MissingRight[];
}

const asks = { [annotations.sync]: "enabled" };

function items({ sources = [live], namespace, secret, missing = [] }: Situation) {
  const marks = namespace === "unlabelled" ? {} : { [labels.project]: "web" };
  const own = observedMetadata({ name: target.namespace, labels: marks, annotations: asks });
  const hidden = namespace === "hidden" ? [right(resources.namespaces, { name: "pay" })] : [];
  return secretItems(target, {
    snapshot: {
      sharedSecrets: sources,
      namespaces: namespace === "hidden" ? [] : [own],
      secrets: secret === undefined ? [] : [secret],
    },
    missing: [...hidden, ...missing],
  }).map(({ state, reason }) => `${state} ${reason}`);
}

function right(resource: Resource, ref: { namespace?: string; name: string }): MissingRight {
  return { verb: "get", resource, ...ref };
}

function sourceOf(namespace: string, project: string): Source {
  return observedSource({
    metadata: {
      namespace,
      name: "db",
      uid: namespace,
      creationTimestamp: "2026-02-01T00:00:00Z",
      annotations: { [annotations.syncToProjects]: project },
    },
    options: { projects: [project] },
  });
}

const otherSource = sourceOf("other", "elsewhere");
const failing = {
  metadata: live.secret.metadata,
  sync: { failures: [{ ...target, reason: "NotManaged", message: "exists" }] },
};
const failed: Source = { ...live, secret: { ...live.secret, status: failing } };
const error = { [annotations.syncError]: "spec.data: too large" };
const orphan = { sources: [], secret: observedCopy(live) };
const withError = { secret: observedCopy(live, { annotations: error }) };
const unreadSource = [right(resources.sharedSecrets, { namespace: "team", name: "db" })];
const unreadSecret = [right(resources.secrets, target)];
const foreign = unmanagedSecret(live, { annotations: { [annotations.copyOf]: undefined } });

describe("the answer for a Secret", () => {
  test.for<[string, Situation, ...expected: readonly string[]]>([
    ["one source arrives", {}, "ok Arrives"],
    ["no SharedSecret has the name", { sources: [] }],
    [
      "another source is for another project",
      { sources: [live, otherSource] },
      "ok Arrives",
      "info ProjectNotNamed",
    ],
    [
      "the only source is for another project",
      { sources: [otherSource] },
      "problem ProjectNotNamed",
    ],
    [
      "a foreign Secret is there, and another source is for another project",
      { sources: [live, otherSource], secret: foreign },
      "problem NotManaged",
      "info ProjectNotNamed",
    ],
    [
      "two sources want it",
      { sources: [live, sourceOf("newer", "web")] },
      "ok Arrives",
      "problem OlderSource",
    ],
    [
      "the namespace has no project, so every source may be meant",
      { sources: [live, otherSource], namespace: "unlabelled" },
      "problem NoProject",
      "problem NoProject",
    ],
    ["the source of the copy is gone", orphan, "problem SourceNotFound"],
    [
      "the source of the copy cannot be read",
      { ...orphan, missing: unreadSource },
      "unknown CopyFound",
    ],
    [
      "the source cannot be read, and the copy has an error",
      { ...orphan, ...withError, missing: unreadSource },
      "problem NotCurrent",
    ],
    ["the namespace cannot be read", { namespace: "hidden" }, "unknown NamespaceUnknown"],
    [
      "the namespace cannot be read, and the copy has an error",
      { namespace: "hidden", ...withError },
      "problem NotCurrent",
    ],
    [
      "the namespace cannot be read, and the status reports a failure",
      { namespace: "hidden", sources: [failed] },
      "problem Reported",
    ],
    ["the Secret cannot be read", { missing: unreadSecret }, "unknown SecretUnknown"],
    [
      "the Secret cannot be read, and the status reports a failure",
      { sources: [failed], missing: unreadSecret },
      "problem Reported",
    ],
    [
      "the Secret cannot be read, and one side does not allow the sync",
      { sources: [otherSource], missing: unreadSecret },
      "problem ProjectNotNamed",
    ],
  ])("%s", ([, situation, ...expected]) => {
    expect(items(situation)).toEqual(expected);
  });
});
