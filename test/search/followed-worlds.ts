import type { Given } from "./server.ts";
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
  remove,
  restore,
  type Sketch,
  source,
  toWeb,
  value,
  web,
} from "./sketch.ts";
import type { UserAction } from "./world.ts";

const secret = "team/source";
const forDb = { "data-for": "db" };
/** The Secret that SharedSecrets follow, which consents to one. */
export const followed = given("Secret", secret, {
  type: "Opaque",
  data: value,
  annotations: forDb,
});
const from = { "data-from": "source" };
const readers = { access: [{ verbs: ["get"], teams: ["devs"] }] };

/** A SharedSecret `team/db` that follows it. */
export function follower(fields: Fields = {}): Given {
  const { annotations = {}, spec = {} } = fields;
  return source("db", { ...fields, spec, annotations: { ...from, ...annotations } });
}

/** A user creates the followed Secret. */
export function supply(fields: Fields = {}): UserAction {
  const { annotations = forDb, ...rest } = fields;
  return create("Secret", secret, { type: "Opaque", data: value, ...rest, annotations });
}

/** What its owner does to it. */
export const supplied = {
  "other data": change("Secret", secret, { data: other }),
  "take the consent back": annotate("Secret", secret, { "data-for": null }),
  "delete the source": remove("Secret", secret),
} as const;

const withdraw = annotate("SharedSecret", db, { "sync-to-projects": "pay" });
const leave = change("Namespace", "web", { labels: { project: null } });

const sketches: readonly Sketch[] = [
  {
    name: "a followed Secret",
    objects: [home, web, followed, follower()],
    menu: {
      ...supplied,
      consent: annotate("Secret", secret, forDb),
      "create it again": supply({ data: other }),
      "create it for others": supply({ data: other, annotations: { "data-for": "api" } }),
      "edit the copy": change("Secret", "web/db", { data: other }),
    },
  },
  {
    name: "both consents of a followed Secret",
    objects: [home, web, followed, follower()],
    menu: {
      "take the consent back": supplied["take the consent back"],
      consent: annotate("Secret", secret, forDb),
      withdraw,
      permit: annotate("SharedSecret", db, toWeb),
      "leave the project": leave,
      "delete the source": supplied["delete the source"],
    },
  },
  {
    name: "a follower that changes",
    objects: [
      home,
      web,
      followed,
      given("Secret", "team/other", { type: "Opaque", data: other, annotations: forDb }),
      follower(),
    ],
    menu: {
      ...supplied,
      "follow another": annotate("SharedSecret", db, { "data-from": "other" }),
      "follow it again": annotate("SharedSecret", db, from),
      "follow none": annotate("SharedSecret", db, { "data-from": null }),
      "pick a key": annotate("SharedSecret", db, { "data-from-keys": "PASS=password" }),
      "pick no key": annotate("SharedSecret", db, { "data-from-keys": "none" }),
      delete: remove("SharedSecret", db),
      recreate: create("SharedSecret", db, { annotations: { ...toWeb, ...from } }),
    },
  },
  {
    name: "the readers of a followed Secret",
    objects: [
      home,
      followed,
      follower({ annotations: { "sync-to-projects": null }, spec: readers }),
    ],
    menu: {
      ...supplied,
      "create it again": supply({ data: other }),
      "nobody reads": change("SharedSecret", db, { spec: { access: [] } }),
      "read again": change("SharedSecret", db, { spec: readers }),
      delete: remove("SharedSecret", db),
      "delete the namespace": remove("Namespace", "team"),
    },
    mostFaults: 0,
  },
  {
    name: "a project and readers of a followed Secret",
    objects: [home, web, followed, follower({ spec: readers })],
    menu: {
      ...supplied,
      withdraw,
      "nobody reads": change("SharedSecret", db, { spec: { access: [] } }),
    },
    mostFaults: 0,
  },
  {
    name: "a placeholder of a followed Secret",
    objects: [home, quiet, followed, follower(), asking("db")],
    menu: {
      ...supplied,
      "create it again": supply({ data: other }),
      withdraw,
      "ask no more": change("Secret", "web/ask", { labels: { "sharedsecret-name": null } }),
      "follow another": annotate("SharedSecret", db, { "data-from": "other" }),
    },
  },
  {
    name: "a restore of a followed Secret",
    objects: [home, web, followed, follower()],
    menu: {
      ...supplied,
      withdraw,
      delete: remove("SharedSecret", db),
      restore,
    },
    begins: "with a new leader",
    mostFaults: 0,
  },
  {
    name: "a followed Secret that is missing at first",
    objects: [home, web, follower({ spec: readers })],
    menu: {
      supply: supply(),
      "supply it without consent": supply({ annotations: {} }),
      "delete the source": supplied["delete the source"],
    },
    begins: "with a new leader",
    mostFaults: 0,
  },
  {
    name: "a placeholder of a Secret that is missing at first",
    objects: [home, quiet, follower(), asking("db")],
    menu: {
      supply: supply(),
      "supply it without consent": supply({ annotations: {} }),
      "delete the source": supplied["delete the source"],
    },
  },
  {
    name: "a followed name that others sync to",
    objects: [
      home,
      web,
      source("db"),
      given("SharedSecret", "web/app", {
        spec: readers,
        annotations: { "data-from": "db" },
      }),
    ],
    menu: {
      "delete the follower": remove("SharedSecret", "web/app"),
      "follow again": create("SharedSecret", "web/app", { annotations: { "data-from": "db" } }),
      "follow another": annotate("SharedSecret", "web/app", { "data-from": "other" }),
      supply: create("Secret", "web/db", {
        type: "Opaque",
        data: other,
        annotations: { "data-for": "app" },
      }),
      "delete the source": remove("Secret", "web/db"),
    },
  },
  {
    name: "a followed Secret that becomes one of Latchkey",
    objects: [home, web, followed, source("api", { spec: { data: other } }), follower()],
    menu: {
      "ask for another": change("Secret", secret, {
        labels: { "sharedsecret-name": "api", "sharedsecret-namespace": "team" },
      }),
      "ask no more": change("Secret", secret, {
        labels: { "sharedsecret-name": null, "sharedsecret-namespace": null },
      }),
      "follow a copy": annotate("SharedSecret", db, { "data-from": "api" }),
      "let the home accept": change("Namespace", "team", {
        labels: { project: "web" },
        annotations: { sync: "enabled" },
      }),
    },
    mostFaults: 0,
  },
  {
    name: "two followers of a Secret",
    objects: [
      home,
      web,
      given("Secret", secret, {
        type: "Opaque",
        data: value,
        annotations: { "data-for": "db, api" },
      }),
      follower(),
      source("api", {
        created: "2025-12-01T00:00:01Z",
        spec: {},
        annotations: { ...from, "sync-secret-name": "db" },
      }),
    ],
    menu: {
      "other data": supplied["other data"],
      "consent to the younger": annotate("Secret", secret, { "data-for": "api" }),
      "consent to the older": annotate("Secret", secret, forDb),
      "delete the older": remove("SharedSecret", db),
      "delete the source": supplied["delete the source"],
    },
    mostFaults: 0,
  },
  {
    name: "large data of a followed Secret",
    objects: [
      home,
      web,
      given("Secret", secret, {
        type: "Opaque",
        data: { password: "YWFh".repeat(2_100) },
        annotations: forDb,
      }),
      follower(),
    ],
    menu: {
      "other large data": change("Secret", secret, { data: { password: "YmJi".repeat(2_100) } }),
      "take the consent back": supplied["take the consent back"],
      "delete the source": supplied["delete the source"],
      "edit the copy": change("Secret", "web/db", { data: other }),
    },
    mostFaults: 0,
  },
  {
    name: "a failover with a followed Secret",
    objects: [home, web, followed, follower()],
    menu: { ...supplied, withdraw },
    faults: ["failover"],
  },
];

/** The worlds of SharedSecrets that follow a Secret. */
export const ofFollowers: readonly Sketch[] = sketches.map((sketch) => ({
  queues: ["sharedSecret", "copy", "source"],
  ...sketch,
}));
