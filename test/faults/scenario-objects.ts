import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { clustersNamespace } from "../../src/domain/gateway/connected-cluster.ts";
import { outboxName, outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import {
  clusterSecretObject,
  type OutboxObject,
  outboxNamespaceObject,
} from "../../src/domain/outbox/outbox-objects.ts";
import { collectionPath } from "../../src/kube/client/paths.ts";
import { type Action, create, merge, type Step } from "../support/actions.ts";
import type { View } from "../support/visible-objects.ts";
import type { WithObject } from "./scenario.ts";

/** The path of Latchkey's API group. */
export const api = `/apis/${apiVersion}`;

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** The data of a SharedSecret, with this password. */
export const data = (text: string) => ({
  data: { password: base64(text), user: base64("somebody") },
});

/** The metadata of a SharedSecret that syncs to projects, here and in connected clusters. */
export const to = (projects: string, clusters?: string) => ({
  annotations: {
    [annotations.syncToProjects]: projects,
    ...(clusters === undefined ? {} : { [annotations.syncToClusters]: clusters }),
  },
});

/** Creates a namespace that asks for copies, if it has a project. */
export const namespace = ({ prefix }: View, name: string, project?: string): Action =>
  create("/api/v1/namespaces", {
    metadata: {
      name: `${prefix}${name}`,
      annotations: { [annotations.sync]: "enabled" },
      ...(project === undefined ? {} : { labels: { [labels.project]: `${prefix}${project}` } }),
    },
  });

/** Creates the namespace of the SharedSecrets. */
export const home = (view: View): Step => [namespace(view, "home")];

const collection = ({ prefix }: View) => `${api}/namespaces/${prefix}home/sharedsecrets`;

/** The path of a SharedSecret, `db` by default. */
export const db = (view: View, name = "db") => `${collection(view)}/${name}`;

/** Creates a SharedSecret, `db` by default. */
export const sharedSecret = (view: View, spec: object, metadata: object = {}): Action =>
  create(collection(view), {
    apiVersion,
    kind: "SharedSecret",
    metadata: { name: "db", ...metadata },
    spec,
  });

/** Moves a namespace into a project, or out of all. */
export const inProject = ({ prefix }: View, name: string, project: string | null) =>
  merge(`/api/v1/namespaces/${prefix}${name}`, {
    metadata: { labels: { [labels.project]: project === null ? null : `${prefix}${project}` } },
  });

/** The path of the copy of `db` in a namespace. */
export const copy = ({ prefix }: View, name: string) =>
  `/api/v1/namespaces/${prefix}${name}/secrets/db`;

/** The path of a placeholder in a namespace. */
export const asking = ({ prefix }: View, name: string) =>
  `/api/v1/namespaces/${prefix}${name}/secrets/asking`;

/** Creates a placeholder for `db`. */
export const placeholder = ({ prefix }: View, name: string, home = `${prefix}home`) =>
  create(`/api/v1/namespaces/${prefix}${name}/secrets`, {
    metadata: {
      name: "asking",
      labels: {
        [labels.sharedSecretName]: "db",
        [labels.sharedSecretNamespace]: home,
      },
    },
  });

/** The name of a connected cluster. */
export const clusterName = ({ prefix }: View, cluster: string): string => `${prefix}${cluster}`;

/** The path of the Secret that connects a cluster. */
export const clusterSecret = (view: View, cluster: string) =>
  `/api/v1/namespaces/${clustersNamespace}/secrets/${clusterName(view, cluster)}`;

/** Creates an object that connects a cluster. */
export const posted = ({ resource, manifest }: OutboxObject): Action =>
  create(collectionPath(resource, manifest.metadata.namespace), manifest);

/** Connects a cluster, and lets projects in. */
export const connect = (view: View, cluster: string, projects: string): Action =>
  posted(clusterSecretObject(clusterName(view, cluster), projects));

/** The namespace with the outbox of a cluster. */
export const outbox = (view: View, cluster: string) => outboxNamespace(clusterName(view, cluster));

/** Makes that namespace. */
export const makeOutbox = (view: View, cluster: string): WithObject => ({
  withObject: clusterSecret(view, cluster),
  step: ({ uid }) => [
    posted(outboxNamespaceObject({ name: clusterName(view, cluster), uid: String(uid) })),
  ],
});

/** Gives the outbox of a former cluster to the one that is connected now. */
export const takeOutbox = (view: View, cluster: string): WithObject => ({
  withObject: clusterSecret(view, cluster),
  step: ({ uid }) => [
    merge(`/api/v1/namespaces/${outbox(view, cluster)}`, {
      metadata: { annotations: { [annotations.clusterUid]: uid } },
    }),
  ],
});

/** The path of what an outbox has of `db`, or of another SharedSecret. */
export const entry = (view: View, cluster: string, name = "db") =>
  `/api/v1/namespaces/${outbox(view, cluster)}/secrets/${outboxName({ namespace: `${view.prefix}home`, name })}`;
