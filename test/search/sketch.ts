import type { Given, UserObject } from "./server.ts";
import type { SearchWorld, UserAction } from "./world.ts";

type Marks = Readonly<Record<string, string | null>>;

/** Labels or annotations of Latchkey's group. */
function marks(given: Marks): Marks {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [`management.service/${name}`, value]),
  );
}

/** Labels, annotations and other fields of an object. */
export interface Fields {
  readonly labels?: Marks;
  readonly annotations?: Marks;
  readonly created?: string;
  readonly finalizers?: readonly string[];
  readonly [field: string]: unknown;
}

/** An object `<namespace>/<name>` or `<name>` with these fields; without a kind, a change of it. */
function made(
  at: string,
  { labels = {}, annotations = {}, finalizers, created, ...fields }: Fields,
  kind?: Kind,
): UserObject {
  return {
    ...(kind && { kind }),
    metadata: {
      ...refOf(at),
      ...(created && { creationTimestamp: created }),
      labels: marks(labels),
      annotations: marks(annotations),
      ...(finalizers && { finalizers }),
    },
    ...fields,
  };
}

function refOf(at: string): { readonly namespace?: string; readonly name: string } {
  const [first = "", name] = at.split("/");
  return name === undefined ? { name: first } : { namespace: first, name };
}

const plurals = {
  Namespace: "namespaces",
  SharedSecret: "sharedsecrets",
  Secret: "secrets",
  Role: "roles",
  ResourceQuota: "resourcequotas",
  ConfigMap: "configmaps",
  MutatingAdmissionPolicy: "mutatingadmissionpolicies",
  OwnedAccessKey: "ownedaccesskeys",
  DirectClusterEndpointToken: "directclusterendpointtokens",
} as const;
type Kind = keyof typeof plurals;
type ObjectAction = Exclude<UserAction, { do: "restore" }>;

/** An object that is there at the begin. */
export function given(kind: Kind, at: string, fields: Fields = {}): Given {
  return [plurals[kind], made(at, { created: "2025-12-01T00:00:00Z", ...fields }, kind)];
}

/** A user creates an object, as new as it is then. */
export function create(kind: Kind, at: string, fields: Fields = {}): ObjectAction {
  return { do: "apply", plural: plurals[kind], object: made(at, fields, kind) };
}

/** A user changes fields of an object, its labels and annotations. */
export function change(kind: Kind, at: string, fields: Fields): ObjectAction {
  return { do: "change", plural: plurals[kind], object: made(at, fields) };
}

/** A user changes annotations of an object. */
export function annotate(kind: Kind, at: string, annotations: Marks): ObjectAction {
  return change(kind, at, { annotations });
}

/** A user deletes an object. */
export function remove(kind: Kind, at: string): ObjectAction {
  return { do: "delete", plural: plurals[kind], ref: refOf(at) };
}

/** The same in the connected cluster. */
export function inEast(action: ObjectAction): ObjectAction {
  return { ...action, at: "connected" };
}

/** etcd is restored. */
export const restore: UserAction = { do: "restore" };
/** Data of a SharedSecret. */
export const value = { password: "YQ==" };
/** Other data. */
export const other = { password: "Yg==" };

/** The namespace of the sources. */
export const home = given("Namespace", "team");
/** A namespace of project web that asks for copies. */
export const web = given("Namespace", "web", {
  labels: { project: "web" },
  annotations: { sync: "enabled" },
});
/** A namespace that only takes what its Secrets ask for. */
export const quiet = given("Namespace", "web", { labels: { project: "web" } });
/** Names project web. */
export const toWeb = { "sync-to-projects": "web" };

/** A SharedSecret `team/<name>` that offers its data to project web. */
export function source(name: string, fields: Fields = {}): Given {
  const { annotations = {}, spec = { data: value } } = fields;
  return given("SharedSecret", `team/${name}`, {
    ...fields,
    spec,
    annotations: { ...toWeb, ...annotations },
  });
}

/** A user creates such a SharedSecret. */
export function recreate(
  name: string,
  annotations: Marks = toWeb,
  data: object = value,
): ObjectAction {
  return create("SharedSecret", `team/${name}`, { annotations, spec: { data } });
}

/** A placeholder `web/ask` for a SharedSecret `team/<name>`. */
export function asking(name: string, annotations: Marks = {}, fields: Fields = {}): Given {
  const labels = { "sharedsecret-name": name, "sharedsecret-namespace": "team" };
  return given("Secret", "web/ask", { type: "Opaque", data: {}, ...fields, labels, annotations });
}

/** A world; the rest is usual. */
export type Sketch = Pick<SearchWorld, "name" | "objects" | "menu"> & Partial<SearchWorld>;

/** A world with what is usual. */
export function world(sketch: Sketch): SearchWorld {
  return {
    userActions: 2,
    mostFaults: 1,
    faults: ["lose-request", "lose-answer", "too-many-requests", "relist", "crash"],
    queues: ["sharedSecret", "copy"],
    hasLifetimes: false,
    hasFights: false,
    begins: "at rest",
    ...sketch,
  };
}

/** The SharedSecret of most worlds. */
export const db = "team/db";
