import { outboxName, reportName, reportNumberOf } from "../../src/domain/outbox/outbox-names.ts";
import type { Copies } from "./cluster-agent.ts";
import { followed, follower, supplied, supply } from "./followed-worlds.ts";
import { type Given, uidOf } from "./server.ts";
import {
  annotate,
  change,
  create,
  db,
  given,
  home,
  inEast,
  other,
  recreate,
  remove,
  restore,
  type Sketch,
  source,
  toWeb,
  value,
  web,
} from "./sketch.ts";

const entryName = outboxName({ namespace: "team", name: "db" });

/** The Secret of the SharedSecret team/db in the outbox of a cluster. */
function entryOf(cluster: string): string {
  return `latchkey-cluster-${cluster}/${entryName}`;
}

/** The reports that say something of the first two SharedSecrets of the name. */
const reports = [1, 2].map((count) =>
  reportName(reportNumberOf(uidOf(`sharedsecrets/${db}`, count))),
);

/** A connected cluster that lets project web in, with its outbox. */
function connected(cluster: string): readonly Given[] {
  const namespace = `latchkey-cluster-${cluster}`;
  return [
    given("Secret", `latchkey-clusters/${cluster}`, {
      type: "Opaque",
      labels: { cluster },
      annotations: { projects: "web" },
    }),
    given("Namespace", namespace, {
      annotations: { "cluster-uid": uidOf(`secrets/latchkey-clusters/${cluster}`, 1) },
    }),
    ...[...new Set(reports)].map((name) => report(`${namespace}/${name}`)),
  ];
}

function report(at: string): Given {
  return given("ConfigMap", at, { labels: { component: "cluster-report" }, data: {} });
}

/** The agent of a cluster, which has read nothing yet, and has these copies. */
function agent(cluster: string, copies?: Copies): Given {
  const metadata = { name: `latchkey-cluster-${cluster}` };
  const had = copies === undefined ? {} : { [entryName]: copies };
  return ["agents", { kind: "Agent", metadata, data: { seen: "{}", copies: JSON.stringify(had) } }];
}

const clusters = given("Namespace", "latchkey-clusters");
const [toEast, toBoth] = [{ "sync-to-clusters": "east" }, { "sync-to-clusters": "east, west" }];
const east = [home, clusters, ...connected("east"), agent("east")];
const letIn = (cluster: string, projects: string | null) =>
  annotate("Secret", `latchkey-clusters/${cluster}`, { projects });

const sketches: readonly Sketch[] = [
  {
    name: "consents for a connected cluster",
    objects: [...east, source("db", { annotations: toEast })],
    menu: {
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
      "name it again": annotate("SharedSecret", db, toEast),
      "name another project": annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      misspell: annotate("SharedSecret", db, { "sync-to-projects": "web pay" }),
      "let no project in": letIn("east", null),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
    },
  },
  {
    name: "a followed Secret and a connected cluster",
    objects: [...east, followed, follower({ annotations: toEast })],
    menu: {
      ...supplied,
      "create it again": supply({ data: other }),
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
      "let no project in": letIn("east", null),
    },
  },
  {
    name: "a platform that marks Secrets of an outbox",
    objects: [
      ...east,
      source("db", { annotations: toEast }),
      given("MutatingAdmissionPolicy", "platform"),
    ],
    menu: {
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
      "name another project": annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
      "stop it": remove("MutatingAdmissionPolicy", "platform"),
    },
  },
  {
    name: "a withdrawal that is repeated",
    objects: [...east, source("db", { annotations: toEast })],
    menu: {
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
      "name it again": annotate("SharedSecret", db, toEast),
      "let no project in": letIn("east", null),
    },
    userActions: 3,
    mostFaults: 0,
  },
  {
    name: "two connected clusters",
    objects: [
      ...[...east, ...connected("west"), agent("west")],
      source("db", { annotations: toBoth }),
    ],
    menu: {
      "name one": annotate("SharedSecret", db, toEast),
      "let no project into the other": letIn("west", "pay"),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
      delete: remove("SharedSecret", db),
    },
    userActions: 1,
  },
  {
    name: "a source of a cluster that is recreated",
    objects: [...east, source("db", { annotations: toEast })],
    menu: {
      delete: remove("SharedSecret", db),
      recreate: recreate("db", { ...toWeb, ...toEast }, other),
      "recreate without consent": recreate("db", {}),
    },
  },
  {
    name: "a restore with a connected cluster",
    objects: [...east, source("db", { annotations: toEast })],
    menu: {
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
      delete: remove("SharedSecret", db),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
      "delete the entry": remove("Secret", entryOf("east")),
      restore,
    },
    mostFaults: 0,
  },
  {
    name: "a restore from before an offer",
    objects: [...east, source("db", { annotations: { "sync-to-projects": null } })],
    menu: {
      offer: annotate("SharedSecret", db, { ...toWeb, ...toEast }),
      restore,
      delete: remove("SharedSecret", db),
    },
    mostFaults: 0,
  },
  {
    name: "copies of an unknown source",
    objects: [
      ...[home, clusters, ...connected("east")],
      agent("east", { uid: uidOf(`sharedsecrets/${db}`, 1), from: db, data: value }),
      source("db"),
    ],
    menu: {
      offer: annotate("SharedSecret", db, toEast),
      delete: remove("SharedSecret", db),
      recreate: recreate("db", { ...toWeb, ...toEast }, other),
      misspell: annotate("SharedSecret", db, { "sync-to-clusters": "east west" }),
    },
    begins: "with a new leader",
  },
  {
    name: "an outbox that is lost",
    objects: [...east, source("db", { annotations: toEast })],
    menu: {
      "delete the entry": remove("Secret", entryOf("east")),
      "edit the entry": change("Secret", entryOf("east"), { data: other }),
      "seal the entry": change("Secret", entryOf("east"), { immutable: true }),
      "lose the label": change("Secret", entryOf("east"), { labels: { "outbox-uid": null } }),
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
      delete: remove("SharedSecret", db),
    },
  },
  {
    name: "a cluster that is disconnected",
    objects: [...east, source("db", { annotations: toEast })],
    menu: {
      disconnect: remove("Secret", "latchkey-clusters/east"),
      "connect anew": create("Secret", "latchkey-clusters/east", {
        type: "Opaque",
        labels: { cluster: "east" },
        annotations: { projects: "web" },
      }),
      "delete the namespace": remove("Namespace", "latchkey-cluster-east"),
      "take the outbox": annotate("Namespace", "latchkey-cluster-east", { "cluster-uid": null }),
      delete: remove("SharedSecret", db),
    },
  },
  {
    name: "Secrets of others in an outbox",
    objects: [
      ...[home, clusters, ...connected("east")],
      given("Secret", entryOf("east"), { type: "Opaque", data: value }),
      given("Secret", "latchkey-cluster-east/other", {
        type: "Opaque",
        data: value,
        labels: { "outbox-uid": "x" },
      }),
      source("db", { annotations: toEast }),
    ],
    menu: {
      "delete the foreign": remove("Secret", entryOf("east")),
      "label the foreign": change("Secret", entryOf("east"), { labels: { "outbox-uid": "x" } }),
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
      delete: remove("SharedSecret", db),
    },
  },
  {
    name: "a cluster whose agent is away",
    objects: [home, clusters, ...connected("east"), source("db", { annotations: toEast })],
    menu: {
      delete: remove("SharedSecret", db),
      recreate: recreate("db", { ...toWeb, ...toEast }, other),
      "let no project in": letIn("east", null),
      "let it in again": letIn("east", "*"),
      disconnect: remove("Secret", "latchkey-clusters/east"),
    },
  },
];

const central = [home, clusters, ...connected("east")];
const old = uidOf("sharedsecrets/team/old", 1);

/** With the agent of src, whose cluster has a server of its own. */
const ofAgents: readonly Sketch[] = [
  {
    name: "consents and the agent of a cluster",
    objects: [...central, source("db", { annotations: toEast })],
    connected: [web],
    menu: {
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
      "name it again": annotate("SharedSecret", db, toEast),
      "let no project in": letIn("east", null),
      "let it in again": letIn("east", "web"),
      "leave the project": inEast(change("Namespace", "web", { labels: { project: null } })),
      "join the project": inEast(change("Namespace", "web", { labels: { project: "web" } })),
    },
  },
  {
    name: "a followed Secret and the agent of a cluster",
    objects: [...central, followed, follower({ annotations: toEast })],
    connected: [web],
    menu: {
      ...supplied,
      "create it again": supply({ data: other }),
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
    },
    mostFaults: 0,
  },
  {
    name: "a slow withdrawal and the agent of a cluster",
    objects: [...central, source("db", { annotations: toEast })],
    connected: [web],
    menu: { "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }) },
    hasSlowAnswers: true,
    mostFaults: 0,
  },
  {
    name: "deletions with the agent of a cluster",
    objects: [...central, source("db", { annotations: toEast })],
    connected: [web],
    menu: {
      delete: remove("SharedSecret", db),
      recreate: recreate("db", { ...toWeb, ...toEast }, other),
      "delete the entry": remove("Secret", entryOf("east")),
      "edit the entry": annotate("Secret", entryOf("east"), { "sync-to-projects": "" }),
      "delete the copy": inEast(remove("Secret", "web/db")),
      "lose the label": inEast(change("Secret", "web/db", { labels: { "outbox-uid": null } })),
    },
  },
  {
    name: "two clusters, one with its agent",
    objects: [...[...central, ...connected("west")], source("db", { annotations: toBoth })],
    connected: [web],
    menu: {
      "name one": annotate("SharedSecret", db, { "sync-to-clusters": "west" }),
      "let no project in": letIn("east", "pay"),
      "leave the project": inEast(change("Namespace", "web", { labels: { project: null } })),
      delete: remove("SharedSecret", db),
    },
    userActions: 1,
    mostFaults: 0,
  },
  {
    name: "a restore with the agent of a cluster",
    objects: [...central, source("db", { annotations: { "sync-to-projects": null } })],
    connected: [web],
    menu: {
      offer: annotate("SharedSecret", db, { ...toWeb, ...toEast }),
      delete: remove("SharedSecret", db),
      "leave the project": inEast(change("Namespace", "web", { labels: { project: null } })),
      restore,
    },
    mostFaults: 0,
  },
  {
    name: "copies of unknown sources and an agent",
    objects: [
      ...[...central, source("db")],
      report(`latchkey-cluster-east/${reportName(reportNumberOf(old))}`),
    ],
    connected: [
      web,
      given("Secret", "web/db", {
        type: "Opaque",
        data: value,
        labels: { "outbox-uid": old },
        annotations: { "copy-of": "east//team/old -> web/db" },
      }),
    ],
    menu: {
      offer: annotate("SharedSecret", db, toEast),
      "offer the unknown": recreate("old", { ...toWeb, ...toEast }, other),
      "leave the project": inEast(change("Namespace", "web", { labels: { project: null } })),
    },
    begins: "with a new leader",
  },
  {
    name: "Secrets of others in the cluster of an agent",
    objects: [...central, source("db", { annotations: toEast })],
    connected: [
      web,
      given("Secret", "web/db", {
        type: "Opaque",
        data: other,
        labels: { "source-uid": "x" },
        annotations: { "copy-of": "team/db -> web/db" },
      }),
    ],
    menu: {
      "delete the foreign": inEast(remove("Secret", "web/db")),
      "take its marks": inEast(
        change("Secret", "web/db", {
          labels: { "source-uid": null },
          annotations: { "copy-of": null },
        }),
      ),
      "name no cluster": annotate("SharedSecret", db, { "sync-to-clusters": null }),
    },
  },
];

/** The worlds of connected clusters: their outboxes, and agents that read them. */
export const ofClusters: readonly Sketch[] = [...sketches, ...ofAgents].map((sketch) => ({
  ...sketch,
  queues: ["sharedSecret", "outbox", "source"],
}));
