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
} from "../../../src/domain/sync/sync-target.ts";
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

describe("a namespace takes copies", () => {
  test.for<[string, Metadata, boolean]>([
    ["when it is in a project and asks for them", namespace(willing), true],
    ["but not outside of projects", namespace({ sync: "enabled" }), false],
    ["but not unasked", namespace({ project: "web" }), false],
    ["but not when it says something else", namespace({ project: "web", sync: "true" }), false],
    ["but not while it goes away", namespace({ ...willing, going: true }), false],
  ])("%s", ([, given, expected]) => {
    expect(acceptsCopies(given)).toBe(expected);
    expect(isPermitted(observedSource(), given)).toBe(expected);
  });

  test("of the project that its label names", () => {
    expect(projectOf(namespace(willing))).toBe("web");
    expect(projectOf(namespace({}))).toBeUndefined();
  });
});

describe("both sides agree", () => {
  test.for<[string, readonly string[], string | undefined, boolean]>([
    ["when a glob of the source fits the project", ["we*"], undefined, true],
    ["but not when none does", ["pay-*", "web-*"], undefined, false],
    ["when the namespace names the source's namespace", ["web"], "other, team", true],
    ["but not when it names others", ["web"], "other", false],
    ["but not when it names nobody", ["web"], "", false],
    ["but not when its list cannot be read", ["web"], "team, other!", false],
  ])("%s", ([, projects, from, expected]) => {
    const given = namespace({ ...willing, ...(from === undefined ? {} : { from }) });
    expect(isPermitted(observedSource({ options: { projects } }), given)).toBe(expected);
  });
});

describe("where sync-from is required, a namespace", () => {
  const source = observedSource();
  test.for<[string, string | undefined, boolean]>([
    ["without it takes nothing", undefined, false],
    ["that names the source's namespace takes from there", "team", true],
    ["that names others takes nothing from there", "other", false],
  ])("%s", ([, from, expected]) => {
    const given = namespace({ ...willing, ...(from === undefined ? {} : { from }) });
    expect(isPermitted(source, readNamespace(given, { requireSyncFrom: true }))).toBe(expected);
    expect(isNotPermitted(source, readNamespace(given, { requireSyncFrom: true }))).toBe(!expected);
    expect(readNamespace(given, { requireSyncFrom: false })).toBe(given);
  });
});

describe("a copy of a source that cannot be followed is ruled out", () => {
  test.for<[string, readonly string[] | "unreadable", Metadata, boolean]>([
    ["when the namespace has left", ["web"], namespace({ sync: "enabled" }), true],
    ["when the namespace asks for none", ["web"], namespace({ project: "web" }), true],
    ["when the namespace wants others", ["web"], namespace({ ...willing, from: "other" }), true],
    ["when the source names the project no more", ["pay"], namespace(willing), true],
    ["when the source names no project", [], namespace(willing), true],
    ["but not while both agree", ["web"], namespace(willing), false],
    [
      "but not when a misspelt list may have named the project",
      "unreadable",
      namespace(willing),
      false,
    ],
  ])("%s", ([, projects, given, expected]) => {
    const options =
      projects === "unreadable"
        ? ({ projects: [], projectsAreUnreadable: true } as const)
        : { projects };
    expect(isNotPermitted(observedSource({ options }), given)).toBe(expected);
  });
});

describe("a source is offered", () => {
  test.for<[string, SourceChanges, boolean]>([
    ["when it names projects", {}, true],
    [
      "also while it pauses, so that nobody else takes its targets",
      { options: { paused: true } },
      true,
    ],
    ["but not without a project", { options: { projects: [] } }, false],
    [
      "but not when it cannot be followed",
      { options: { problem: { reason: "TooLarge", message: "" } } },
      false,
    ],
    [
      "but not while it is deleted",
      { metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } },
      false,
    ],
  ])("%s", ([, changes, expected]) => {
    expect(isEligible(observedSource(changes))).toBe(expected);
  });
});

test("a copy has the name that the source gives it", () => {
  expect(targetIn("pay", observedSource({ options: { secretName: "other" } }))).toEqual({
    namespace: "pay",
    name: "other",
  });
});
