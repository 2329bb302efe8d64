import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import {
  type Action,
  create,
  gone,
  merge as mergeExisting,
  remove,
  requesters,
  type Step,
} from "./actions.ts";
import { boundDigest } from "./bound-digest.ts";
import type { Caller } from "./cluster-connection.ts";

const api = `/apis/${apiVersion}`;
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const base64 = (text: string) => Buffer.from(text).toString("base64");

/**
 * The changes of a cluster in these tests: the same each time, in namespaces and with names that
 * begin with `p`.
 */
export function scenario(p: string) {
  const alice: Caller = { user: `${p}-alice`, groups: [requesters] };
  const bob: Caller = { user: `${p}-bob`, groups: [requesters] };
  const account: Caller = { user: `system:serviceaccount:${p}-home:ci`, groups: [requesters] };
  const place = (plural: string, name: string) => `${api}/${plural}/${p}-${name}`;
  const shared = (name: string) => `${api}/namespaces/${p}-home/sharedsecrets/${name}`;
  const copy = (namespace: string, name: string) =>
    `/api/v1/namespaces/${p}-${namespace}/secrets/${name}`;
  const derived = (plural: string) => `${rbac}/namespaces/${p}-home/${plural}`;

  const namespace = (name: string, project?: string) =>
    create("/api/v1/namespaces", {
      metadata: {
        name: `${p}-${name}`,
        ...inProject(project),
        annotations: { [annotations.sync]: "enabled" },
      },
    });
  const inProject = (project: string | undefined) =>
    project === undefined ? {} : { labels: { [labels.project]: `${p}-${project}` } };
  const sharedSecret = (name: string, annotated: object, spec: object) =>
    create(`${api}/namespaces/${p}-home/sharedsecrets`, {
      apiVersion,
      kind: "SharedSecret",
      metadata: { name, annotations: annotated },
      spec,
    });
  const key = (name: string, spec: object, by = alice) =>
    create(
      `${api}/ownedaccesskeys`,
      {
        apiVersion,
        kind: "OwnedAccessKey",
        metadata: { name: `${p}-${name}` },
        spec: { subject: `${p}-ci`, ...spec },
      },
      by,
    );
  const token = (name: string, ttl: number, by = alice) =>
    create(
      `${api}/directclusterendpointtokens`,
      {
        apiVersion,
        kind: "DirectClusterEndpointToken",
        metadata: { name: `${p}-${name}` },
        spec: { ttl },
      },
      by,
    );
  const rule = (verbs: readonly string[], user: string) => ({
    name: `${user}s`,
    verbs,
    users: [`${p}-${user}`],
  });
  const readers = { name: "readers", verbs: ["get"], teams: ["devs"] };
  const to = (projects: string, others: object = {}) => ({
    [annotations.syncToProjects]: projects,
    ...others,
  });
  const data = (field: string, text: string) => ({ data: { [field]: base64(text) } });
  const plain = (name: string) => `lk.${p}.${name}.0123456789`;

  return {
    /**
     * Objects that must exist before any change: the controller must know the quota, and a token
     * must exist before it expires.
     */
    grounds: [
      [
        namespace("home"),
        namespace("web1", "web"),
        namespace("web2", "web"),
        namespace("pay1", "pay"),
        namespace("full", "web"),
        namespace("later"),
        namespace("leaves", "pay"),
      ],
      [
        create(`/api/v1/namespaces/${p}-full/resourcequotas`, {
          metadata: { name: "none" },
          spec: { hard: { "count/secrets": "0" } },
        }),
        create(`/api/v1/namespaces/${p}-web1/secrets`, {
          metadata: { name: "taken" },
          ...data("foreign", "foreign"),
        }),
        key("short", { key: plain("short"), ttl: 10 }),
        token("short", 10),
      ],
    ],
    /** The path of the quota that the controller must know before it syncs. */
    quota: `/api/v1/namespaces/${p}-full/resourcequotas/none`,
    start: [
      [
        sharedSecret("db", to(`${p}-web, ${p}-pay`), {
          ...data("password", "first"),
          owner: { team: "ops" },
          access: [readers, rule(["get", "update", "patch"], "alice")],
        }),
        sharedSecret("api", to(`${p}-*`), {
          ...data("url", "first"),
          access: [rule(["*"], "alice"), { ...readers, subresources: ["status"] }],
        }),
        sharedSecret("taken", to(`${p}-web`), data("mine", "mine")),
        sharedSecret(
          "tls",
          to(`${p}-pay`, { [annotations.syncSecretType]: "kubernetes.io/tls" }),
          data("not-a-certificate", "nothing"),
        ),
        sharedSecret("broken", to(`${p}-web`), {
          ...data("a", "a"),
          access: [rule(["create"], "bob"), readers],
        }),
        sharedSecret("doomed", to(`${p}-*`), { ...data("a", "a"), access: [readers] }),
        sharedSecret("reborn", to(`${p}-pay`), {
          ...data("a", "a"),
          access: [rule(["get"], "alice")],
        }),
      ],
      [
        key("plain", { key: plain("plain") }),
        key("digest", { key: boundDigest(plain("digest"), `subject:${p}-ci`) }, bob),
        key("long", { key: plain("long"), ttl: 3600 }, bob),
        key("paused", { key: plain("paused") }),
        key("nothing", {}),
        key("gone", { key: plain("gone") }),
        key("accounts", { key: plain("accounts") }, account),
        token("long", 3600),
        token("bobs", 600, bob),
        token("gone", 600),
        token("reborn", 600),
        token("accounts", 600, account),
      ],
    ],
    changes: [
      [
        merge(shared("db"), {
          spec: { ...data("password", "second"), access: [readers, rule(["get", "watch"], "bob")] },
        }),
      ],
      [
        merge(`/api/v1/namespaces/${p}-later`, { metadata: inProject("web") }),
        merge(`/api/v1/namespaces/${p}-leaves`, { metadata: { labels: null } }),
      ],
      [
        remove(copy("web1", "db")),
        merge(copy("web2", "api"), data("url", "edited")),
        merge(copy("pay1", "api"), { metadata: { labels: null } }),
      ],
      [
        remove(shared("doomed")),
        remove(place("ownedaccesskeys", "gone")),
        remove(place("directclusterendpointtokens", "gone")),
      ],
      [remove(shared("reborn"), "Orphan"), remove(place("directclusterendpointtokens", "reborn"))],
      [
        sharedSecret("reborn", to(`${p}-web`), {
          ...data("b", "b"),
          access: [rule(["get"], "bob")],
        }),
        token("reborn", 600, bob),
      ],
      [
        merge(place("ownedaccesskeys", "paused"), { spec: { disabled: true } }),
        key("younger", { key: plain("plain") }),
      ],
      [
        remove(`${derived("rolebindings")}?labelSelector=${labels.sourceUid}`),
        merge(shared("api"), { spec: { access: [rule(["get"], "alice")] } }),
      ],
    ],
    /** Changes that leave no trace once `end` has run. */
    stir: (round: number): readonly Step[] => [
      [
        token("passing", 600),
        merge(shared("db"), { spec: data("password", `round ${round}`) }),
        merge(shared("api"), { spec: data("url", `round ${round}`) }),
      ],
      [
        merge(`/api/v1/namespaces/${p}-later`, {
          metadata: { labels: { [labels.project]: null } },
        }),
      ],
      [
        remove(place("directclusterendpointtokens", "passing")),
        ...["web1", "web2", "pay1"].map((name) => remove(copy(name, "db"))),
      ],
      [
        merge(`/api/v1/namespaces/${p}-later`, { metadata: inProject("web") }),
        remove(`${derived("roles")}?labelSelector=${labels.sourceUid}`),
      ],
      [
        merge(shared("db"), {
          spec: { access: [readers, rule(["get", "watch"], round % 2 === 0 ? "bob" : "alice")] },
        }),
      ],
    ],
    end: [
      [
        merge(shared("db"), {
          spec: { ...data("password", "last"), access: [readers, rule(["get", "watch"], "bob")] },
        }),
        merge(shared("api"), { spec: data("url", "last") }),
      ],
      [
        gone(place("directclusterendpointtokens", "passing")),
        gone(shared("doomed")),
        gone(place("ownedaccesskeys", "gone")),
      ],
    ],
  };
}

/** An object that does not exist needs no change. */
function merge(path: string, body: unknown): Action {
  return { ...mergeExisting(path, body), until: [200, 404] };
}
