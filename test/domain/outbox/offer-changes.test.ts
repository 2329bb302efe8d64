import fc from "fast-check";
import { expect, test } from "vitest";
import { type ConnectedCluster, offerTo } from "../../../src/domain/outbox/consents.ts";
import { offerChanges, sourcesByKey } from "../../../src/domain/outbox/offer-changes.ts";
import type { Source } from "../../../src/domain/sync/copy.ts";
import { observedSource } from "../../support/observed-copies.ts";
import { runs } from "../../support/property-runs.ts";

const source = (clusters: readonly string[], projects: readonly string[] = ["web"]): Source =>
  observedSource({ options: { clusters, projects } });
const invalid = observedSource({
  options: {
    clusters: [],
    clustersAreUnreadable: true,
    projects: ["web"],
    problem: { reason: "InvalidSyncOption", message: "wrong" },
  },
});
const consents = (of: Source | undefined, letIn: Readonly<Record<string, readonly string[]>>) => ({
  sources: sourcesByKey(of === undefined ? [] : [of]),
  clusters: new Map<string, ConnectedCluster>(
    Object.entries(letIn).map(([name, projects]) => [name, { name, uid: name, projects }]),
  ),
});
type Side = Parameters<typeof consents>;
const web = { east: ["web"], west: ["*"] };

test.for<[string, Side, Side, readonly string[]]>([
  ["nothing without a change", [source(["east"]), web], [source(["east"]), web], []],
  [
    "a cluster that is added to a SharedSecret",
    [source([]), web],
    [source(["east"]), web],
    ['create Cluster "east" gains SharedSecret "team/db" for its projects "web".'],
  ],
  [
    "each cluster, in the order of names, for a new SharedSecret",
    [undefined, web],
    [source(["*"], ["web", "pay"]), web],
    [
      'create Cluster "east" gains SharedSecret "team/db" for its projects "web".',
      'create Cluster "west" gains SharedSecret "team/db" for its projects "web", "pay".',
    ],
  ],
  [
    "a cluster that is removed from a SharedSecret",
    [source(["east"]), web],
    [source([]), web],
    ['delete Cluster "east" loses SharedSecret "team/db", and the copies there are removed.'],
  ],
  [
    "a project that a cluster lets in no longer",
    [source(["east"]), web],
    [source(["east"]), { ...web, east: ["pay"] }],
    ['delete Cluster "east" loses SharedSecret "team/db", and the copies there are removed.'],
  ],
  [
    "a project that a cluster lets in besides",
    [source(["east"], ["*"]), web],
    [source(["east"], ["*"]), { ...web, east: ["web", "pay"] }],
    [
      'replace Cluster "east" has SharedSecret "team/db" for its projects "web", "pay" instead of "web".',
    ],
  ],
  ["nothing where neither side names the other", [source([]), {}], [source(["north"]), {}], []],
  [
    "a SharedSecret that becomes invalid",
    [source(["east"]), web],
    [invalid, web],
    ['release Cluster "east" keeps its copies of SharedSecret "team/db", which is invalid.'],
  ],
])("a plan has %s", ([, before, after, wanted]) => {
  const found = offerChanges(consents(...before), consents(...after));
  expect(found.map(({ state, message }) => `${state} ${message}`)).toEqual(wanted);
});

test("a cluster gains or loses a SharedSecret if and only if it is offered it on one side", () => {
  const names = fc.subarray(["east", "west", "*"]);
  const projects = fc.subarray(["web", "pay", "*"]);
  const side = fc.tuple(names, projects, projects);
  fc.assert(
    fc.property(side, side, (...sides) => {
      const [before, after] = sides.map(([clusters, own, letIn]) =>
        consents(source(clusters, own), { east: letIn }),
      );
      const [was, is] = [before!, after!].map(({ sources, clusters }) => {
        const offer = offerTo(sources.get("team/db")!, clusters.get("east")!);
        return offer.kind === "offered";
      });
      const states = offerChanges(before!, after!).map(({ state }) => state);
      const wanted = was === is ? ["replace"] : [is ? "create" : "delete"];
      return states.length === 0 ? was === is : states.join() === wanted.join();
    }),
    runs(300),
  );
});
