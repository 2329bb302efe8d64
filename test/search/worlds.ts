import { encodeBody } from "../../src/kube/client/request-body.ts";
import { newSigningKeys } from "../../src/tokens/signing-keys.ts";
import { ofFollowers } from "./followed-worlds.ts";
import { ofClusters } from "./outbox-worlds.ts";
import { type Given, uidOf } from "./server.ts";
import {
  annotate,
  asking,
  change,
  create,
  db,
  type Fields,
  given,
  home,
  other,
  quiet,
  recreate,
  remove,
  restore,
  type Sketch,
  source,
  toWeb,
  value,
  web,
  world,
} from "./sketch.ts";
import type { SearchWorld, UserAction } from "./world.ts";

/** The worlds of copies and placeholders. */
const ofSync: readonly Sketch[] = [
  {
    name: "consent of a source",
    objects: [home, web, source("db")],
    menu: {
      "other data": change("SharedSecret", db, { spec: { data: other } }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      permit: annotate("SharedSecret", db, toWeb),
      misspell: annotate("SharedSecret", db, { "sync-to-projects": "web pay" }),
      rename: annotate("SharedSecret", db, { "sync-secret-name": "other" }),
    },
  },
  {
    name: "consent of a namespace",
    objects: [home, web, source("db")],
    menu: {
      "leave the project": change("Namespace", "web", { labels: { project: null } }),
      "join the project": change("Namespace", "web", { labels: { project: "web" } }),
      "accept nothing": annotate("Namespace", "web", { sync: null }),
      "accept from elsewhere": annotate("Namespace", "web", { "sync-from": "elsewhere" }),
      "delete the namespace": remove("Namespace", "web"),
    },
  },
  {
    name: "a source that is recreated",
    objects: [home, web, source("db")],
    menu: {
      delete: remove("SharedSecret", db),
      recreate: recreate("db", toWeb, other),
      "recreate without consent": recreate("db", {}),
      "edit the copy": change("Secret", "web/db", { data: other }),
    },
    userActions: 3,
    mostFaults: 0,
  },
  {
    name: "a source that moves to another Secret",
    objects: [home, web, source("db", { annotations: { "sync-secret-name": "one" } })],
    menu: {
      rename: annotate("SharedSecret", db, { "sync-secret-name": "two" }),
      "rename back": annotate("SharedSecret", db, { "sync-secret-name": "one" }),
      "change the type": annotate("SharedSecret", db, { "sync-secret-type": "example.com/x" }),
      "delete the copy": remove("Secret", "web/one"),
    },
  },
  {
    name: "two sources of a target",
    objects: [
      home,
      web,
      source("db", { created: "2025-12-01T00:00:01Z", annotations: { "sync-secret-name": "one" } }),
      source("api", { annotations: { "sync-secret-name": "one" }, spec: { data: other } }),
    ],
    menu: {
      "delete the older": remove("SharedSecret", "team/api"),
      "recreate it": recreate("api", { ...toWeb, "sync-secret-name": "one" }, other),
      "withdraw the older": annotate("SharedSecret", "team/api", { "sync-to-projects": "pay" }),
      "misspell the older": annotate("SharedSecret", "team/api", { "sync-to-projects": "web pay" }),
      "pause the younger": annotate("SharedSecret", db, { "disable-sync": "true" }),
    },
  },
  {
    name: "a pause of a source",
    objects: [home, web, source("db")],
    menu: {
      pause: annotate("SharedSecret", db, { "disable-sync": "true" }),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      delete: remove("SharedSecret", db),
      resume: annotate("SharedSecret", db, { "disable-sync": null }),
    },
  },
  {
    name: "a pause of a copy",
    objects: [home, web, source("db")],
    menu: {
      "pause the copy": annotate("Secret", "web/db", { "disable-sync": "true" }),
      "leave the project": change("Namespace", "web", { labels: { project: null } }),
      recreate: recreate("db", {}, other),
      delete: remove("SharedSecret", db),
      misspell: annotate("SharedSecret", db, { "sync-to-projects": "web pay" }),
    },
  },
  {
    name: "a placeholder",
    objects: [home, quiet, source("db"), asking("db")],
    menu: {
      "ask no more": change("Secret", "web/ask", { labels: { "sharedsecret-name": null } }),
      "ask for none": change("Secret", "web/ask", { labels: { "sharedsecret-name": "none" } }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      "delete the source": remove("SharedSecret", db),
      "leave the project": change("Namespace", "web", { labels: { project: null } }),
      edit: change("Secret", "web/ask", { data: { added: "YQ==" } }),
    },
  },
  {
    name: "a placeholder between two sources",
    objects: [home, quiet, source("db"), source("api", { spec: { data: other } }), asking("db")],
    menu: {
      "ask for the other": change("Secret", "web/ask", { labels: { "sharedsecret-name": "api" } }),
      "ask for the first": change("Secret", "web/ask", { labels: { "sharedsecret-name": "db" } }),
      "pause the other": annotate("SharedSecret", "team/api", { "disable-sync": "true" }),
      "pause it": annotate("Secret", "web/ask", { "disable-sync": "true" }),
      "withdraw the first": annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
    },
  },
  {
    name: "a placeholder that picks keys",
    objects: [home, quiet, source("db"), asking("db", { "sync-keys": "PASS=password" })],
    menu: {
      "pick another": annotate("Secret", "web/ask", { "sync-keys": "none" }),
      "pick all": annotate("Secret", "web/ask", { "sync-keys": null }),
      "other key": change("SharedSecret", db, { spec: { data: { password: null, none: "Yw==" } } }),
      "lose a mark": annotate("Secret", "web/ask", { filled: null }),
      "lose the label": change("Secret", "web/ask", { labels: { "source-uid": null } }),
    },
  },
  {
    name: "a placeholder that becomes a copy, and back",
    objects: [home, web, source("ask"), source("db", { spec: { data: other } })],
    menu: {
      ask: change("Secret", "web/ask", {
        labels: { "sharedsecret-name": "db", "sharedsecret-namespace": "team" },
      }),
      "ask no more": change("Secret", "web/ask", {
        labels: { "sharedsecret-name": null, "sharedsecret-namespace": null },
      }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
    },
  },
  {
    name: "immutable Secrets",
    objects: [home, web, source("db"), asking("db")],
    menu: {
      "seal the copy": change("Secret", "web/db", { immutable: true }),
      "seal the placeholder": change("Secret", "web/ask", { immutable: true }),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
    },
  },
  {
    name: "a type that does not fit",
    objects: [
      home,
      quiet,
      source("db", { spec: { data: { "tls.crt": "YQ==", "tls.key": "Yg==" } } }),
      source("api"),
      asking("db", {}, { type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } }),
    ],
    menu: {
      "without a key": change("SharedSecret", db, { spec: { data: { "tls.key": null } } }),
      "ask for the other": change("Secret", "web/ask", { labels: { "sharedsecret-name": "api" } }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
    },
  },
  {
    name: "edited marks of a copy",
    objects: [home, web, source("db")],
    menu: {
      "lose the label": change("Secret", "web/db", { labels: { "source-uid": null } }),
      "lose the annotation": annotate("Secret", "web/db", { "copy-of": null }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      edit: change("Secret", "web/db", { data: other }),
      seal: change("Secret", "web/db", { data: other, immutable: true }),
      delete: remove("SharedSecret", db),
    },
  },
  {
    name: "Secrets of others",
    objects: [
      home,
      web,
      source("db"),
      given("Secret", "web/db", { type: "Opaque", data: other }),
      given("Secret", "web/pasted", {
        data: other,
        labels: { "source-uid": "x" },
        annotations: { "copy-of": "team/db -> pay/db" },
      }),
    ],
    menu: {
      "delete the foreign": remove("Secret", "web/db"),
      "create it again": create("Secret", "web/db", { type: "Opaque", data: other }),
      "delete the source": remove("SharedSecret", db),
      rename: annotate("SharedSecret", db, { "sync-secret-name": "pasted" }),
    },
  },
  {
    name: "a full quota",
    objects: [
      home,
      web,
      source("db"),
      given("ResourceQuota", "web/all", { spec: { hard: { secrets: "1" } } }),
      given("Secret", "web/own", { type: "Opaque" }),
    ],
    menu: {
      "make room": remove("Secret", "web/own"),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
    },
    mostFaults: 0,
  },
  {
    name: "a refresh",
    objects: [home, web, source("db")],
    menu: {
      refresh: annotate("SharedSecret", db, { "refresh-now": "1" }),
      "refresh again": annotate("SharedSecret", db, { "refresh-now": "2" }),
      edit: change("Secret", "web/db", { data: other }),
      delete: remove("SharedSecret", db),
    },
  },
  {
    name: "a finalizer of others",
    objects: [home, web, source("db", { finalizers: ["example.com/other"] }), asking("db")],
    menu: {
      "delete the copy": remove("Secret", "web/db"),
      delete: remove("SharedSecret", db),
      "let go": change("SharedSecret", db, { finalizers: [] }),
    },
  },
  {
    name: "a copy that others keep",
    objects: [home, web, source("db")],
    menu: {
      "keep the copy": change("Secret", "web/db", { finalizers: ["example.com/other"] }),
      "let it go": change("Secret", "web/db", { finalizers: [] }),
      "keep and seal it": change("Secret", "web/db", {
        finalizers: ["example.com/other"],
        immutable: true,
      }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      permit: annotate("SharedSecret", db, toWeb),
      delete: remove("SharedSecret", db),
      "delete the namespace": remove("Namespace", "web"),
    },
    mostFaults: 1,
  },
  {
    name: "a platform that marks every Secret",
    objects: [home, web, source("db"), given("MutatingAdmissionPolicy", "platform"), asking("db")],
    menu: {
      "stop it": remove("MutatingAdmissionPolicy", "platform"),
      "start it again": create("MutatingAdmissionPolicy", "platform"),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
      edit: change("Secret", "web/db", { data: other }),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      delete: remove("SharedSecret", db),
    },
  },
  {
    name: "a platform that masks the data of every Secret",
    objects: [home, web, source("db"), asking("db")],
    menu: {
      "mask it": create("MutatingAdmissionPolicy", "filter"),
      "stop it": remove("MutatingAdmissionPolicy", "filter"),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
      edit: change("Secret", "web/db", { data: other }),
      "delete the copy": remove("Secret", "web/db"),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      delete: remove("SharedSecret", db),
    },
    userActions: 3,
    mostFaults: 1,
    hasFights: true,
  },
  {
    name: "a restore of a deleted source",
    objects: [home, web, source("db"), asking("db")],
    menu: {
      delete: remove("SharedSecret", db),
      recreate: recreate("db", {}, other),
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      restore: restore,
    },
    mostFaults: 0,
  },
  {
    name: "a restore with an old label",
    objects: [
      home,
      quiet,
      source("db", { annotations: { "sync-to-projects": null } }),
      given("Secret", "web/db", {
        type: "Opaque",
        data: other,
        labels: { "source-uid": "old" },
        annotations: { "copy-of": "team/db -> web/db" },
      }),
      asking("db"),
    ],
    menu: {
      permit: annotate("SharedSecret", db, toWeb),
      accept: annotate("Namespace", "web", { sync: "enabled" }),
      delete: remove("SharedSecret", db),
    },
    begins: "with a new leader",
  },
  {
    name: "a failover",
    objects: [home, web, source("db")],
    menu: {
      withdraw: annotate("SharedSecret", db, { "sync-to-projects": "pay" }),
      delete: remove("SharedSecret", db),
      recreate: recreate("db", toWeb, other),
      "other data": change("SharedSecret", db, { spec: { data: other } }),
    },
    faults: ["failover"],
  },
];

const devs = { verbs: ["get"], teams: ["devs"] };
const ann = { verbs: ["get", "list"], users: ["ann", "bob"] };
const all = { verbs: ["*"], users: ["ann"], subresources: ["status"] };

function granting(...access: readonly object[]): Fields {
  return { annotations: { "sync-to-projects": null }, spec: { data: value, access } };
}

function grants(...access: readonly object[]): UserAction {
  return change("SharedSecret", db, { spec: { access } });
}

/** The worlds of access rules. */
const ofAccess: readonly Sketch[] = [
  {
    name: "access rules",
    objects: [home, source("db", granting(devs))],
    menu: {
      "other verbs": grants({ ...devs, verbs: ["get", "list"] }),
      "other subjects": grants({ ...devs, teams: ["ops"] }),
      nobody: grants(),
    },
  },
  {
    name: "a subject that changes its rule",
    objects: [home, source("db", granting(ann, devs))],
    menu: {
      promote: grants(all, devs),
      "as before": grants(ann, devs),
      demote: grants({ ...ann, users: ["bob"] }, { ...devs, users: ["ann"] }),
      invalid: grants({ ...ann, verbs: ["create"] }, devs),
    },
  },
  {
    name: "a deletion with grants",
    objects: [home, source("db", granting(devs))],
    menu: {
      delete: remove("SharedSecret", db),
      recreate: create("SharedSecret", db, { spec: { data: value, access: [ann] } }),
      narrow: grants(ann),
    },
  },
  {
    name: "a slow deletion",
    objects: [home, source("db", granting(devs))],
    menu: { delete: remove("SharedSecret", db), narrow: grants(ann) },
    hasSlowAnswers: true,
    mostFaults: 0,
  },
  {
    name: "a namespace with grants",
    objects: [home, web, source("db", { spec: { data: value, access: [devs] } })],
    menu: {
      "delete the namespace": remove("Namespace", "team"),
      delete: remove("SharedSecret", db),
    },
  },
  {
    name: "a restore of grants",
    objects: [home, source("db", granting(devs))],
    menu: { delete: remove("SharedSecret", db), "other subjects": grants(ann), restore: restore },
    begins: "with a new leader",
    mostFaults: 0,
  },
];

const start = "2026-01-01T00:00:00Z";
const parent = uidOf("ownedaccesskeys/parent", 1);

function key(
  name: string,
  { annotations = {}, spec = {} }: Fields & { readonly spec?: object } = {},
): Given {
  const requested = { requester: "ann", "created-at": start, ...annotations };
  const plain = `plain-key-of-${name}-0123456789`;
  return given("OwnedAccessKey", name, {
    created: start,
    annotations: requested,
    spec: { user: "ann", key: plain, ...spec },
  });
}

function token(
  name: string,
  { annotations = {}, spec = {} }: Fields & { readonly spec?: object } = {},
): Given {
  const requested = { requester: "ann", ...annotations };
  return given("DirectClusterEndpointToken", name, {
    created: start,
    annotations: requested,
    spec: { ttl: 120, ...spec },
  });
}

const own = given("Namespace", "latchkey-system");
const signing: Given = [
  "secrets",
  JSON.parse(encodeBody(newSigningKeys({ namespace: "latchkey-system", now: Date.parse(start) }))),
];
const ofParent = { "requester-key-id": parent };

/** The worlds of keys and tokens. */
const ofKeys: readonly Sketch[] = [
  {
    name: "a key",
    objects: [own, key("ci", { spec: { ttl: 120 } })],
    menu: {
      disable: change("OwnedAccessKey", "ci", { spec: { disabled: true } }),
      lengthen: change("OwnedAccessKey", "ci", { spec: { ttl: 240 } }),
      delete: remove("OwnedAccessKey", "ci"),
    },
  },
  {
    name: "a key that is recreated",
    objects: [own, key("ci"), key("cd")],
    menu: {
      delete: remove("OwnedAccessKey", "ci"),
      "recreate for another": create("OwnedAccessKey", "ci", {
        annotations: { requester: "bob" },
        spec: { user: "bob", key: "another-key-0123456789" },
      }),
      "delete the other": remove("OwnedAccessKey", "cd"),
    },
  },
  {
    name: "a key with a parent",
    objects: [own, key("parent"), key("child", { annotations: ofParent })],
    menu: {
      "disable the parent": change("OwnedAccessKey", "parent", { spec: { disabled: true } }),
      "enable the parent": change("OwnedAccessKey", "parent", { spec: { disabled: false } }),
      "delete the parent": remove("OwnedAccessKey", "parent"),
      "delete the child": remove("OwnedAccessKey", "child"),
    },
  },
  {
    name: "a token",
    objects: [own, signing, token("laptop")],
    menu: { delete: remove("DirectClusterEndpointToken", "laptop") },
    begins: "with a new leader",
  },
  {
    name: "a token that is deleted",
    objects: [own, signing, token("laptop")],
    menu: {
      delete: remove("DirectClusterEndpointToken", "laptop"),
      "delete the list": remove("ConfigMap", "latchkey-system/latchkey-revoked-0"),
      recreate: create("DirectClusterEndpointToken", "laptop", {
        annotations: { requester: "bob" },
        spec: { ttl: 120 },
      }),
    },
  },
  {
    name: "a slow revocation",
    objects: [own, signing, token("laptop")],
    menu: { delete: remove("DirectClusterEndpointToken", "laptop") },
    hasSlowAnswers: true,
    faults: [],
  },
  {
    name: "a token of a key",
    objects: [own, signing, key("parent"), token("laptop", { annotations: ofParent })],
    menu: {
      "disable the key": change("OwnedAccessKey", "parent", { spec: { disabled: true } }),
      "enable the key": change("OwnedAccessKey", "parent", { spec: { disabled: false } }),
      "delete the key": remove("OwnedAccessKey", "parent"),
      "delete the token": remove("DirectClusterEndpointToken", "laptop"),
    },
  },
  {
    name: "a failover with a token",
    objects: [own, signing, token("laptop")],
    menu: { delete: remove("DirectClusterEndpointToken", "laptop") },
    faults: ["failover"],
  },
];

/** All worlds. */
export const worlds: readonly SearchWorld[] = [
  ...[...ofSync, ...ofFollowers, ...ofAccess, ...ofClusters].map(world),
  ...ofKeys.map((sketch) =>
    world({ queues: ["key", "token", "grant", "revokedTokens"], hasLifetimes: true, ...sketch }),
  ),
];
