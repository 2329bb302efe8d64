import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import {
  isEligible,
  isPermitted,
  isNotPermitted,
  projectOf,
  readNamespace,
  acceptsCopies,
  targetIn,
} from "../../../src/domain/sync/obstacles.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { observedSource, type SourceChanges } from "../../support/observed-copies.ts";

function namespace(changes: {
  readonly project?: string;
  readonly sync?: string;
  readonly from?: string;
  readonly going?: boolean;
}): Metadata {
  const { project, sync, from, going = false } = changes;
  return observedMetadata({
    name: "pay",
    labels: project === undefined ? {} : { [labels.project]: project },
    annotations: {
      ...(sync === undefined ? {} : { [annotations.sync]: sync }),
      ...(from === undefined ? {} : { [annotations.syncFrom]: from }),
    },
    ...(going ? { deletionTimestamp: "2026-01-01T00:01:00Z" } : {}),
  });
}

const willing = { project: "web", sync: "enabled" };

describe("a namespace accepts copies", () => {
  test.for<[string, Metadata, boolean]>([
    ["in a project with sync enabled", namespace(willing), true],
    ["but not outside of projects", namespace({ sync: "enabled" }), false],
    ["but not without the annotation", namespace({ project: "web" }), false],
    ["but not with another value", namespace({ project: "web", sync: "true" }), false],
    ["but not while it is terminating", namespace({ ...willing, going: true }), false],
  ])("%s", ([, given, expected]) => {
    expect(acceptsCopies(given)).toBe(expected);
    expect(isPermitted(observedSource(), given)).toBe(expected);
  });

  test("in the project of its label", () => {
    expect(projectOf(namespace(willing))).toBe("web");
    expect(projectOf(namespace({}))).toBeUndefined();
  });
});

describe("a sync is permitted", () => {
  test.for<[string, readonly string[], string | undefined, boolean]>([
    ["if a glob of the source matches the project", ["we*"], undefined, true],
    ["but not if no glob matches", ["pay-*", "web-*"], undefined, false],
    ["if the namespace lists the source's namespace", ["web"], "other, team", true],
    ["but not if it lists other namespaces", ["web"], "other", false],
    ["but not if its list is empty", ["web"], "", false],
    ["but not if its list is invalid", ["web"], "team, other!", false],
  ])("%s", ([, projects, from, expected]) => {
    const given = namespace({ ...willing, ...(from === undefined ? {} : { from }) });
    expect(isPermitted(observedSource({ options: { projects } }), given)).toBe(expected);
  });
});

describe("if sync-from is required, a namespace", () => {
  const source = observedSource();
  test.for<[string, string | undefined, boolean]>([
    ["accepts no copies without it", undefined, false],
    ["accepts copies from a listed namespace", "team", true],
    ["accepts no copies from other namespaces", "other", false],
  ])("%s", ([, from, expected]) => {
    const given = namespace({ ...willing, ...(from === undefined ? {} : { from }) });
    const read = readNamespace(given, { requireSyncFrom: true, copyKeys: [] });
    expect(isPermitted(source, read)).toBe(expected);
    expect(isNotPermitted(source, read)).toBe(!expected);
    expect(readNamespace(given, { requireSyncFrom: false, copyKeys: [] })).toBe(given);
  });
});

describe("the keys of labels and annotations that a namespace allows", () => {
  const { allowCopyKeys, syncFrom } = annotations;
  test.for<[string, object, boolean, readonly string[], object]>([
    [
      "are also those of the controller",
      { [allowCopyKeys]: "b" },
      false,
      ["a"],
      { [allowCopyKeys]: "a,b" },
    ],
    ["are only those of the controller", {}, false, ["a"], { [allowCopyKeys]: "a" }],
    ["are none if its list is too long", { [allowCopyKeys]: ",".repeat(4097) }, false, [], {}],
    [
      "are read beside sync-from",
      { [allowCopyKeys]: "b" },
      true,
      ["a"],
      { [allowCopyKeys]: "a,b", [syncFrom]: "(required)" },
    ],
  ])("%s", ([, given, requireSyncFrom, copyKeys, expected]) => {
    const metadata = observedMetadata({ annotations: { ...given } });
    expect(readNamespace(metadata, { requireSyncFrom, copyKeys })).toEqual({
      ...metadata,
      annotations: expected,
    });
  });
});

describe("the copy of an invalid source is certainly not permitted", () => {
  test.for<[string, readonly string[] | "unreadable", Metadata, boolean]>([
    ["if the namespace has no project", ["web"], namespace({ sync: "enabled" }), true],
    ["if the namespace does not enable sync", ["web"], namespace({ project: "web" }), true],
    [
      "if the namespace only lists other namespaces",
      ["web"],
      namespace({ ...willing, from: "other" }),
      true,
    ],
    ["if the source does not name the project", ["pay"], namespace(willing), true],
    ["if the source names no project", [], namespace(willing), true],
    ["unless both sides agree", ["web"], namespace(willing), false],
    ["unless an invalid list may name the project", "unreadable", namespace(willing), false],
  ])("%s", ([, projects, given, expected]) => {
    const options =
      projects === "unreadable"
        ? ({ projects: [], projectsAreUnreadable: true } as const)
        : { projects };
    expect(isNotPermitted(observedSource({ options }), given)).toBe(expected);
  });
});

describe("a source is eligible", () => {
  test.for<[string, SourceChanges, boolean]>([
    ["if it names projects", {}, true],
    [
      "also while it is paused, so that no other source gets its targets",
      { options: { paused: true } },
      true,
    ],
    ["but not without projects", { options: { projects: [] } }, false],
    [
      "but not if it is invalid",
      { options: { problem: { reason: "TooLarge", message: "" } } },
      false,
    ],
    [
      "but not while it is being deleted",
      { metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } },
      false,
    ],
  ])("%s", ([, changes, expected]) => {
    expect(isEligible(observedSource(changes))).toBe(expected);
  });
});

test("the source sets the name of its copies", () => {
  expect(targetIn("pay", observedSource({ options: { secretName: "other" } }))).toEqual({
    namespace: "pay",
    name: "other",
  });
});
