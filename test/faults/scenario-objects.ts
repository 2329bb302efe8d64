import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { type Action, create, merge, type Step } from "../support/actions.ts";
import type { View } from "../support/visible-objects.ts";

/** The path of Latchkey's API group. */
export const api = `/apis/${apiVersion}`;

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** The data of a SharedSecret, with this password. */
export const data = (text: string) => ({
  data: { password: base64(text), user: base64("somebody") },
});

/** The metadata of a SharedSecret that syncs to projects. */
export const to = (projects: string) => ({
  annotations: { [annotations.syncToProjects]: projects },
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
