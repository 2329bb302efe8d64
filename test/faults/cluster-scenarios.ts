import { annotations, components, labels, ownObjects } from "../../src/api/names.ts";
import {
  type ClusterReport,
  emptyReport,
  reportKey,
  reportText,
} from "../../src/domain/outbox/cluster-report.ts";
import { reportName, reportNumberOf } from "../../src/domain/outbox/outbox-names.ts";
import { type Action, gone, merge, remove } from "../support/actions.ts";
import { patchTypes } from "../support/cluster-connection.ts";
import type { View } from "../support/visible-objects.ts";
import type { Scenario, WithObject } from "./scenario.ts";
import {
  clusterName,
  clusterSecret,
  connect,
  data,
  db,
  entry,
  home,
  makeOutbox,
  outbox,
  sharedSecret,
  takeOutbox,
  to,
} from "./scenario-objects.ts";

const namespaces = "/api/v1/namespaces";
const projects = ({ prefix }: View) => `${prefix}web,${prefix}pay`;

/** Clusters that let both projects in, and the namespace of the SharedSecrets. */
const connected =
  (...clusters: readonly string[]): Scenario["grounds"] =>
  (view) => [
    ...home(view),
    ...clusters.flatMap((cluster) => [
      connect(view, cluster, projects(view)),
      makeOutbox(view, cluster),
    ]),
  ];

const letIn = (view: View, cluster: string, list: string | null) =>
  merge(clusterSecret(view, cluster), {
    metadata: { annotations: { [annotations.projects]: list } },
  });
const toClusters = (view: View, clusters: readonly string[], list = projects(view)) =>
  to(list, clusters.map((cluster) => clusterName(view, cluster)).join(","));

/** Writes an object of an agent, which has no other fields. */
const write = (collection: string, { name, component, ...rest }: Written): Action => ({
  method: "PATCH",
  path: `${collection}/${name}?fieldManager=agent&force=true`,
  type: patchTypes.apply,
  until: [200, 201],
  body: { metadata: { name, labels: { [labels.component]: component } }, ...rest },
});
interface Written {
  readonly name: string;
  readonly component: string;
  readonly [field: string]: unknown;
}
const report = (
  view: View,
  cluster: string,
  said: Partial<ClusterReport> & { readonly uid: string },
) =>
  write(`${namespaces}/${outbox(view, cluster)}/configmaps`, {
    apiVersion: "v1",
    kind: "ConfigMap",
    component: components.clusterReport,
    name: reportName(reportNumberOf(said.uid)),
    data: { [reportKey]: reportText({ ...emptyReport, ...said }) },
  });
/** The agent reports that its cluster has what an entry offers, or nothing of it any more. */
const act = (view: View, cluster: string, name?: string): WithObject => ({
  withObject: entry(view, cluster, name),
  step({ labels: given = {}, annotations: marks = {}, resourceVersion: seen = "" }) {
    const uid = given[labels.outboxUid] ?? "";
    const copied = { seen, desired: 1, synced: 1, conflicts: 0, failed: 0 };
    const said =
      marks[annotations.withdrawn] === undefined
        ? { sources: new Map([[uid, copied]]) }
        : { done: new Map([[uid, seen]]) };
    return [report(view, cluster, { uid, ...said })];
  },
});
/** The agent reports copies of a SharedSecret that no entry is about. */
const knowsNot = (view: View, cluster: string, { uid, name }: { uid: string; name: string }) =>
  report(view, cluster, { uid, unknown: new Map([[uid, `${view.prefix}home/${name}`]]) });
/** A uid in another report than this one, so that neither replaces what the other says. */
const notReportedWith = (uid: unknown): string =>
  reportNumberOf(String(uid)) === reportNumberOf("lost") ? "gone" : "lost";
/** A heartbeat by a clock that is ahead, so that it is fresh when a controller first observes it. */
const beat = (view: View, cluster: string) => {
  const apiVersion = "coordination.k8s.io/v1";
  return write(`/apis/${apiVersion}/namespaces/${outbox(view, cluster)}/leases`, {
    apiVersion,
    kind: "Lease",
    component: components.clusterAgent,
    name: ownObjects.agentLease,
    spec: { renewTime: "2100-01-01T00:00:00.000000Z" },
  });
};

/** More than half of what an outbox may have in a run. */
const large = data("x".repeat(150));

/** The ways in which users and administrators use connected clusters, one at a time. */
export const ofClusters: readonly Scenario[] = [
  {
    name: "cluster: offered, changed, and withdrawn by either consent",
    grounds: connected("east", "west"),
    changes: (view) => [
      [sharedSecret(view, data("first"), toClusters(view, ["east", "west"]))],
      [merge(db(view), { spec: data("second") })],
      act(view, "east"),
      [merge(db(view), { metadata: toClusters(view, ["east"]) }), letIn(view, "east", null)],
      act(view, "west"),
      act(view, "east"),
      [gone(entry(view, "west")), letIn(view, "east", `${view.prefix}web`)],
      // The agent has not acted upon this withdrawal yet, only upon the former one.
      [letIn(view, "east", null)],
      act(view, "east"),
      [gone(entry(view, "east"))],
    ],
  },
  {
    name: "cluster: a SharedSecret is deleted, and created again",
    grounds: connected("east", "west"),
    changes: (view) => [
      [sharedSecret(view, data("first"), toClusters(view, ["east", "west"]))],
      // The finalizer waits for the one that is heard, and not for the other.
      [beat(view, "east"), remove(db(view))],
      act(view, "east"),
      [gone(db(view))],
      [gone(entry(view, "east"))],
      [sharedSecret(view, data("second"), toClusters(view, ["west"]))],
    ],
  },
  {
    name: "cluster: its outbox is deleted by hand, and made again",
    grounds: connected("east"),
    changes: (view) => {
      const path = `${namespaces}/${outbox(view, "east")}`;
      return [
        [sharedSecret(view, data("first"), toClusters(view, ["east"]))],
        [remove(entry(view, "east"))],
        [remove(path)],
        // There is no controller manager; without their namespace, they could not be deleted.
        [remove(`${path}/secrets`)],
        [finalize(view, "east")],
        makeOutbox(view, "east"),
      ];
    },
  },
  {
    name: "cluster: disconnected, and connected anew",
    grounds: connected("east"),
    changes: (view) => [
      [sharedSecret(view, data("first"), toClusters(view, ["east"]))],
      [remove(clusterSecret(view, "east"))],
      [gone(entry(view, "east")), connect(view, "east", projects(view))],
      takeOutbox(view, "east"),
    ],
  },
  {
    name: "cluster: has copies of what is not offered",
    grounds: connected("east"),
    changes: (view) => [
      [sharedSecret(view, data("first"), to(projects(view)))],
      {
        withObject: db(view),
        step: ({ uid }) => [knowsNot(view, "east", { uid: notReportedWith(uid), name: "lost" })],
      },
      act(view, "east", "lost"),
      {
        withObject: db(view),
        step: ({ uid }) => [knowsNot(view, "east", { uid: String(uid), name: "db" })],
      },
      act(view, "east"),
      [
        ...["db", "lost"].map((name) => gone(entry(view, "east", name))),
        merge(db(view), { metadata: toClusters(view, ["east"]) }),
      ],
    ],
  },
  {
    name: "cluster: its outbox is full for a while",
    grounds: connected("east"),
    changes: (view) => [
      [
        sharedSecret(view, data("first"), toClusters(view, ["east"])),
        sharedSecret(view, large, { name: "other", ...toClusters(view, ["east"]) }),
      ],
      [merge(db(view), { spec: large })],
      [merge(db(view), { metadata: toClusters(view, ["east"], `${view.prefix}web`) })],
      [merge(db(view, "other"), { spec: data("small") })],
      // It is looked at again while it is full.
      { passMs: 20_000 },
    ],
  },
];

/** Ends the deletion of the namespace of an outbox. */
function finalize(view: View, cluster: string): Action {
  const name = outbox(view, cluster);
  return {
    method: "PUT",
    path: `${namespaces}/${name}/finalize`,
    until: [200],
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: [] } },
  };
}
