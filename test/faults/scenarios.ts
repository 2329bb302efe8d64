import { annotations, apiVersion, labels, ownObjects } from "../../src/api/names.ts";
import {
  type Action,
  create,
  gone,
  merge,
  remove,
  requesters,
  type Step,
} from "../support/actions.ts";
import type { Caller } from "../support/cluster-connection.ts";
import { ofAgents } from "./agent-scenarios.ts";
import { ofClusters } from "./cluster-scenarios.ts";
import { ofFollowers } from "./followed-scenarios.ts";
import type { Scenario, WithObject } from "./scenario.ts";
import {
  api,
  asking,
  copy,
  data,
  db,
  home,
  inProject,
  namespace,
  placeholder,
  sharedSecret,
  to,
} from "./scenario-objects.ts";
import type { View } from "../support/visible-objects.ts";
import type { Admission, Use } from "./key-actions.ts";

const dayMs = 24 * 3_600_000;
const readers = { name: "readers", verbs: ["get"], teams: ["devs"] };
const editors = {
  name: "editors",
  verbs: ["get", "update"],
  users: ["carol", "dave"],
  subresources: ["status"],
};
const by = ({ prefix }: View, name = "alice"): Caller => ({
  user: `${prefix}${name}`,
  groups: [requesters],
});
const place = ({ prefix }: View, plural: string, name = "own") =>
  `${api}/${plural}/${prefix}${name}`;
const key = (view: View, spec: object, name = "own") =>
  create(
    `${api}/ownedaccesskeys`,
    {
      apiVersion,
      kind: "OwnedAccessKey",
      metadata: { name: `${view.prefix}${name}` },
      spec: { subject: `${view.prefix}ci`, key: `lk.${view.prefix}${name}.0123456789`, ...spec },
    },
    by(view),
  );
const token = (view: View, ttl: number, requester: Caller = by(view)) =>
  create(
    `${api}/directclusterendpointtokens`,
    {
      apiVersion,
      kind: "DirectClusterEndpointToken",
      metadata: { name: `${view.prefix}own` },
      spec: { ttl },
    },
    requester,
  );

/** A token that was requested with the key `own`. */
const childToken = (view: View): WithObject => ({
  withObject: place(view, "ownedaccesskeys"),
  step: ({ uid }) => [
    token(view, 3600, { ...by(view, "ci"), extra: { "management.service/key-id": [String(uid)] } }),
  ],
});
const disabled = (view: View, value: boolean): Step => [
  merge(place(view, "ownedaccesskeys"), { spec: { disabled: value } }),
];

const projects = (view: View): Step => [
  namespace(view, "home"),
  namespace(view, "web", "web"),
  namespace(view, "pay", "pay"),
];
const everywhere = ({ prefix }: View) => to(`${prefix}web, ${prefix}pay`);

/** Every way in which users use Latchkey, one at a time. */
export const scenarios: readonly Scenario[] = [
  {
    name: "sharedsecret: create",
    grounds: projects,
    changes: (view) => [
      [
        sharedSecret(
          view,
          { ...data("first"), owner: { team: "ops" }, access: [readers, editors] },
          everywhere(view),
        ),
      ],
    ],
  },
  {
    name: "sharedsecret: change access",
    grounds: home,
    changes: (view) => [
      [sharedSecret(view, { ...data("first"), access: [readers, editors] })],
      [
        merge(db(view), {
          spec: {
            access: [
              { ...readers, teams: ["ops"] },
              { ...editors, verbs: ["get", "patch"], users: ["dave", "erin"] },
            ],
          },
        }),
      ],
    ],
  },
  {
    name: "sharedsecret: change data",
    grounds: projects,
    changes: (view) => [
      [sharedSecret(view, data("first"), everywhere(view))],
      [merge(db(view), { spec: data("second") })],
      [merge(db(view), { spec: data("third") })],
    ],
  },
  {
    name: "sharedsecret: narrow projects",
    grounds: projects,
    changes: (view) => [
      [sharedSecret(view, data("first"), everywhere(view))],
      [merge(db(view), { metadata: to(`${view.prefix}pay`) })],
    ],
  },
  {
    name: "namespace: relabel",
    grounds: projects,
    changes: (view) => [
      [sharedSecret(view, data("first"), to(`${view.prefix}web`))],
      [inProject(view, "pay", "web"), inProject(view, "web", "pay")],
      [inProject(view, "pay", null)],
    ],
  },
  {
    name: "copy: edited and deleted by hand",
    grounds: projects,
    changes: (view) => [
      [sharedSecret(view, data("first"), everywhere(view))],
      [remove(copy(view, "web")), merge(copy(view, "pay"), data("edited"))],
      [merge(copy(view, "web"), { metadata: { labels: null } })],
    ],
  },
  {
    name: "placeholder: filled, asks for less, and for another SharedSecret",
    grounds: (view) => [...projects(view), placeholder(view, "pay")],
    changes: (view) => [
      [sharedSecret(view, data("first"), everywhere(view))],
      [
        merge(asking(view, "pay"), {
          metadata: { annotations: { [annotations.syncKeys]: "PASS=password" } },
        }),
      ],
      [merge(db(view), { spec: data("second") })],
      [merge(asking(view, "pay"), { metadata: { labels: { [labels.sharedSecretName]: "none" } } })],
    ],
  },
  {
    name: "placeholder: its SharedSecret is deleted, and its namespace leaves the project",
    grounds: (view) => [...projects(view), placeholder(view, "pay"), placeholder(view, "web")],
    changes: (view) => [
      [sharedSecret(view, data("first"), everywhere(view))],
      [inProject(view, "web", null)],
      [remove(db(view))],
      [gone(db(view))],
    ],
  },
  {
    name: "sharedsecret: delete",
    grounds: projects,
    changes: (view) => [
      [sharedSecret(view, { ...data("first"), access: [readers] }, everywhere(view))],
      [remove(db(view))],
      [gone(db(view))],
    ],
  },
  {
    name: "sharedsecret: delete and recreate",
    grounds: projects,
    changes: (view) => [
      [sharedSecret(view, { ...data("first"), access: [readers] }, to(`${view.prefix}web`))],
      [remove(db(view))],
      [sharedSecret(view, { ...data("second"), access: [editors] }, to(`${view.prefix}pay`))],
    ],
  },
  {
    name: "key: create, disable",
    grounds: home,
    changes: (view) => [
      [key(view, { ttl: 3600 })],
      [merge(place(view, "ownedaccesskeys"), { spec: { disabled: true } })],
    ],
  },
  {
    name: "key: two of the same value, the older goes",
    grounds: home,
    changes: (view) => [
      [key(view, {})],
      { nextSecond: true },
      [key(view, { key: `lk.${view.prefix}own.0123456789` }, "zwei")],
      [remove(place(view, "ownedaccesskeys"))],
      [gone(place(view, "ownedaccesskeys"))],
    ],
  },
  {
    name: "key: expiry during an outage",
    grounds: home,
    changes: (view) => [[key(view, { ttl: 600 })], { outageMs: 700_000 }],
  },
  {
    name: "key: delete and recreate",
    grounds: home,
    changes: (view) => [
      [key(view, {})],
      [remove(place(view, "ownedaccesskeys"))],
      [key(view, { ttl: 3600 })],
    ],
  },
  { name: "token: create", grounds: home, changes: (view) => [[token(view, 3600)]] },
  {
    name: "token: expiry during an outage",
    grounds: home,
    changes: (view) => [[token(view, 600)], { outageMs: 700_000 }],
  },
  {
    name: "token: delete and recreate for another",
    grounds: home,
    changes: (view) => [
      [token(view, 3600)],
      [remove(place(view, "directclusterendpointtokens"))],
      [token(view, 3600, by(view, "bob"))],
    ],
  },
  {
    name: "token: parent key disabled, and enabled again",
    grounds: home,
    changes: (view) => [
      [key(view, { ttl: 7200 })],
      childToken(view),
      disabled(view, true),
      disabled(view, false),
    ],
  },
  {
    name: "token: parent key deleted",
    grounds: home,
    changes: (view) => [
      [key(view, {})],
      childToken(view),
      [remove(place(view, "ownedaccesskeys"))],
      [gone(place(view, "ownedaccesskeys"))],
    ],
  },
  {
    name: "token: deleted while its parent key is disabled",
    grounds: home,
    changes: (view) => [
      [key(view, {})],
      childToken(view),
      disabled(view, true),
      [remove(place(view, "directclusterendpointtokens"))],
      [gone(place(view, "directclusterendpointtokens"))],
      disabled(view, false),
    ],
  },
  {
    name: "token: create with a disabled key",
    grounds: home,
    changes: (view) => [[key(view, { disabled: true })], childToken(view), disabled(view, false)],
  },
  {
    name: "key: used",
    programs: ["controller", "webhook"],
    grounds: home,
    changes: (view) => [[key(view, {})], use(view), { passMs: 700_000 }, use(view)],
  },
  {
    name: "key: used through the gateway",
    programs: ["controller", "gateway"],
    grounds: home,
    changes: (view) => [
      [key(view, {})],
      use(view, { through: "gateway" }),
      { passMs: 700_000 },
      use(view, { through: "gateway" }),
    ],
  },
  {
    name: "key: connector data",
    programs: ["controller", "webhook"],
    // A rejected user retries, and what was written for the first attempt is deleted after ten
    // minutes.
    retryAllowance: { of: / secrets system\/connector data$/, creates: 1, deletes: 1 },
    grounds: home,
    changes: (view) => [
      withConnectorData(view, "first"),
      withConnectorData(view, "first"),
      withConnectorData(view, "second"),
      { passMs: 900_000 },
      [remove(place(view, "ownedaccesskeys"))],
      [gone(place(view, "ownedaccesskeys"))],
    ],
  },
  {
    name: "webhook: certificates",
    programs: ["certificates"],
    // After a pause, two replicas renew at the same time; one of them gets a conflict.
    retryAllowance: { of: / secrets system\/latchkey-webhook-certificates$/, updates: 1 },
    grounds: home,
    changes: (view) => [
      { leapMs: 250 * dayMs },
      [remove(certificates(view))],
      { leapMs: 2_500 * dayMs },
    ],
  },
  {
    name: "token: signing keys missing",
    grounds: home,
    changes: (view) => [
      [remove(signingKeys(view)), token(view, 3600)],
      [remove(signingKeys(view))],
    ],
  },
  {
    name: "token: signing keys rotated",
    // A controller that has not observed a request yet gets a conflict with it.
    retryAllowance: { of: / secrets system\/latchkey-signing-keys$/, updates: 1 },
    grounds: home,
    changes: (view) => [
      [remove(signingKeys(view)), token(view, 3600)],
      [rotate(view)],
      // The key that was requested second is published when the first one signs.
      [rotate(view)],
      { passMs: 200_000 },
      { leapMs: 2 * dayMs },
      // Other runs in the same namespace begin with a single key.
      [remove(signingKeys(view))],
    ],
  },
  ...ofFollowers,
  ...ofClusters,
  ...ofAgents,
];

function rotate(view: View): Action {
  const requested = { [annotations.rotateSigningKey]: "now" };
  return merge(signingKeys(view), { metadata: { annotations: requested } });
}

function use(view: View, through: Pick<Use["use"], "through"> = {}): Use {
  const path = place(view, "ownedaccesskeys");
  const username = `${view.prefix}ci`;
  return { use: { key: `lk.${view.prefix}own.0123456789`, path, username, ...through } };
}

function withConnectorData(view: View, connectorData: string): Admission {
  const spec = {
    subject: `${view.prefix}ci`,
    key: `lk.${view.prefix}own.0123456789`,
    identity: { connectorData },
  };
  return {
    admit: {
      by: by(view),
      collection: `${api}/ownedaccesskeys`,
      name: `${view.prefix}own`,
      object: { apiVersion, kind: "OwnedAccessKey" },
      spec,
    },
  };
}

function certificates({ system }: View): string {
  return `/api/v1/namespaces/${system}/secrets/${ownObjects.webhookCertificates}`;
}

/** Writes what a run without signing keys would write first. */
export function signingKeys({ system }: View): string {
  return `/api/v1/namespaces/${system}/secrets/${ownObjects.signingKeys}`;
}
