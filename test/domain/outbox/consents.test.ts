import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ConnectedCluster,
  isWithdrawn,
  namesCluster,
  type Offer,
  offerTo,
} from "../../../src/domain/outbox/consents.ts";
import type { Source } from "../../../src/domain/sync/copy.ts";
import type { SyncOptions } from "../../../src/domain/sync/sync-options.ts";
import { east, sharedWith } from "../../support/observed-outbox.ts";
import { runs } from "../../support/property-runs.ts";

const problem = { reason: "InvalidSyncOption", message: "why" } as const;
const deletionTimestamp = "2026-01-02T00:00:00Z";

/** A source with these options. */
const having = (options: Partial<SyncOptions>): Source => sharedWith({ options });

/** The projects that are offered, or why none are. */
function said(offer: Offer): string {
  return offer.kind === "offered" ? offer.projects.join(" ") : offer.obstacle;
}

describe("a source offers a connected cluster", () => {
  test.for<[string, Partial<SyncOptions>, readonly string[], string]>([
    ["a project that both name", {}, ["web", "pay"], "web"],
    ["what the cluster lets in of a glob", { projects: ["*"] }, ["web", "pay"], "web pay"],
    ["its globs where all projects are let in", { projects: ["w*", "pay"] }, ["*"], "w* pay"],
    ["the same with all clusters", { clusters: ["*"] }, ["web"], "web"],
    ["nothing without a project let in", {}, [], "projects-not-let-in"],
    ["nothing for another project", {}, ["pay"], "projects-not-let-in"],
    ["nothing without a project", { projects: [] }, ["*"], "no-project-named"],
    ["nothing for another cluster", { clusters: ["west"] }, ["*"], "cluster-not-named"],
    ["nothing without a cluster", { clusters: [], projects: [] }, ["*"], "cluster-not-named"],
    ["nothing while it is invalid", { problem }, ["*"], "source-invalid"],
    ["what it offers while it is paused", { paused: true }, ["web"], "web"],
  ])("%s", ([, options, projects, wanted]) => {
    expect(said(offerTo(having(options), { ...east, projects }))).toBe(wanted);
  });

  test("nothing while it is being deleted", () => {
    const source = sharedWith({ metadata: { deletionTimestamp }, options: { problem } });
    expect(said(offerTo(source, east))).toBe("source-deleting");
    expect(isWithdrawn(source, east)).toBe(true);
  });
});

describe("an invalid source withdraws what a cluster has", () => {
  const unreadable = { problem, clusters: [], clustersAreUnreadable: true } as const;
  test.for<[string, Partial<SyncOptions>, boolean]>([
    ["if it names another cluster", { problem, clusters: ["west"] }, true],
    ["if it names projects that are not let in", { problem, projects: ["ops"] }, true],
    ["if it names no project", { problem, projects: [] }, true],
    ["not if only its data is invalid", { problem }, false],
    ["not if its list of clusters is invalid", unreadable, false],
    [
      "not if its list of projects is invalid",
      { problem, projects: [], projectsAreUnreadable: true },
      false,
    ],
    [
      "if its list of clusters is invalid but no project is let in",
      { ...unreadable, projects: ["ops"] },
      true,
    ],
    [
      "if its list of projects is invalid and it names another cluster",
      { problem, clusters: [], projects: [], projectsAreUnreadable: true },
      true,
    ],
  ])("%s", ([, options, wanted]) => {
    expect(isWithdrawn(having(options), east)).toBe(wanted);
  });
});

const names = fc.constantFrom("web", "pay", "ops", "w*", "*", "__proto__", "constructor");
const sources = fc
  .record({
    projects: fc.array(names, { maxLength: 3 }),
    clusters: fc.array(fc.constantFrom("east", "west", "*", "__proto__"), { maxLength: 2 }),
    isInvalid: fc.boolean(),
    isUnreadable: fc.boolean(),
  })
  .map(({ isInvalid, isUnreadable, ...options }) =>
    having({
      ...options,
      ...(isInvalid && { problem }),
      ...(isInvalid && isUnreadable && { projects: [], projectsAreUnreadable: true }),
    }),
  );
const clusters: fc.Arbitrary<ConnectedCluster> = fc.record({
  name: fc.constantFrom("east", "west", "__proto__"),
  uid: fc.constant("uid"),
  projects: fc.array(fc.constantFrom("web", "pay", "ops", "*", "__proto__"), { maxLength: 3 }),
});

test("a cluster gets no project without both consents", () => {
  fc.assert(
    fc.property(sources, clusters, (source, cluster) => {
      const offer = offerTo(source, cluster);
      if (offer.kind === "withheld") return;
      expect(namesCluster(source, cluster.name)).toBe(true);
      expect(offer.projects.length).toBeGreaterThan(0);
      for (const project of offer.projects) {
        expect(cluster.projects.some((one) => one === "*" || one === project)).toBe(true);
        const isGlob = source.options.projects.includes(project);
        const isMatched = source.options.projects.some((glob) => glob === "*" || glob === "w*");
        expect(isGlob || isMatched).toBe(true);
      }
    }),
    runs(300),
  );
});

test("nothing is offered and withdrawn at the same time, and only an invalid source is neither", () => {
  fc.assert(
    fc.property(sources, clusters, (source, cluster) => {
      const isOffered = offerTo(source, cluster).kind === "offered";
      const isGone = isWithdrawn(source, cluster);
      expect(isOffered && isGone).toBe(false);
      expect(isOffered || isGone || source.options.problem !== undefined).toBe(true);
    }),
    runs(300),
  );
});
