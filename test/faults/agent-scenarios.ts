import { annotations, labels } from "../../src/api/names.ts";
import { outboxObjects } from "../../src/domain/outbox/outbox-objects.ts";
import { resources } from "../../src/api/resources.ts";
import { type Action, create, gone, merge, remove } from "../support/actions.ts";
import { eastOf, type View } from "../support/visible-objects.ts";
import type { Scenario, WithObject } from "./scenario.ts";
import {
  asking,
  clusterName,
  clusterSecret,
  connect,
  copy,
  data,
  db,
  entry,
  inProject,
  makeOutbox,
  namespace,
  placeholder,
  posted,
  sharedSecret,
  takeOutbox,
  to,
} from "./scenario-objects.ts";

const programs = ["controller", "agent"] as const;
const connected = (view: View): readonly (Action | WithObject)[] => [
  connect(view, "east", "*"),
  makeOutbox(view, "east"),
  // There is no controller manager that would count for a quota.
  ...outboxObjects(clusterName(view, "east"))
    .filter(({ resource }) => resource !== resources.resourceQuotas)
    .map(posted),
];

/** Marks of a SharedSecret that is shared with projects of the connected cluster. */
const shared = (view: View, projects: readonly string[] = ["web", "pay"]) =>
  to(
    projects.map((project) => `${eastOf(view).prefix}${project}`).join(),
    clusterName(view, "east"),
  );
const foreign = (path: string, name: string, marks: object = {}) =>
  create(path.replace(/\/[^/]+$/, ""), { metadata: { name, ...marks }, ...data("foreign") });

/** What no program of Latchkey may touch is in the way of one copy, and beside another. */
const grounds = (view: View): readonly (Action | WithObject)[] => {
  const east = eastOf(view);
  return [
    ...connected(view),
    namespace(view, "home"),
    ...["web", "pay", "own"].map((name) => namespace(east, name, name === "own" ? "web" : name)),
    placeholder(east, "pay", `${view.prefix}home`),
    foreign(copy(east, "own"), "db"),
    foreign(copy(east, "web"), "other", { labels: { [labels.sourceUid]: "of-a-latchkey-there" } }),
  ];
};

/** A copy that no entry of the outbox explains, as after the restoration of the central cluster. */
const unheardOf = (view: View): Action => {
  const target = `${eastOf(view).prefix}web/unheard-of`;
  return foreign(copy(eastOf(view), "web"), "unheard-of", {
    labels: { [labels.outboxUid]: "unheard-of" },
    annotations: {
      [annotations.copyOf]: `${clusterName(view, "east")}//team/unheard-of -> ${target}`,
    },
  });
};

/** The ways in which a connected cluster gets, keeps and loses what is shared with it. */
export const ofAgents: readonly Scenario[] = [
  {
    name: "agent: create, drift, withdrawal",
    programs,
    grounds,
    changes: (view) => [
      [sharedSecret(view, data("first"), shared(view))],
      [merge(db(view), { spec: data("second") })],
      [remove(copy(eastOf(view), "web")), merge(copy(eastOf(view), "pay"), data("edited"))],
      [remove(entry(view, "east"))],
      [merge(db(view), { metadata: shared(view, ["pay"]) })],
      [merge(db(view), { metadata: { annotations: { [annotations.syncToClusters]: null } } })],
    ],
  },
  {
    name: "agent: a source that is unknown, one that is deleted",
    programs,
    // Its withdrawal is created and deleted at once, and again if the first request arrives late.
    retryAllowance: {
      of: / secrets latchkey-cluster-\S+ of team\/unheard-of$/,
      creates: 1,
      deletes: 1,
    },
    grounds,
    changes: (view) => [
      [sharedSecret(view, data("first"), shared(view)), unheardOf(view)],
      [inProject(eastOf(view), "web", null), remove(asking(eastOf(view), "pay"))],
      [remove(db(view))],
      [gone(db(view)), gone(copy(eastOf(view), "pay"))],
    ],
  },
  {
    name: "agent: its Secret is deleted and made again",
    programs,
    grounds,
    changes: (view) => [
      [sharedSecret(view, data("first"), shared(view))],
      [remove(clusterSecret(view, "east"))],
      [connect(view, "east", "*")],
      takeOutbox(view, "east"),
    ],
  },
];
