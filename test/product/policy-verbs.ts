import { expect } from "vitest";
import {
  annotations,
  apiVersion,
  cleanupFinalizer,
  labels,
  ownLabel,
} from "../../src/api/names.ts";
import { boundDigest } from "../support/bound-digest.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { make } from "../support/keys-and-tokens.ts";
import { api, bind, patchTypes, unique } from "../support/policy-request.ts";
import type { KeyedAnswer, KeyedRequest } from "../support/ways-in.ts";

/** A rule of a scope. */
interface Rule {
  readonly verbs: readonly string[];
  readonly resources: readonly { readonly group: string; readonly resources: readonly string[] }[];
  readonly resourceNames?: readonly string[];
}

/** The scopes of the keys with which a request is sent. */
export const scopeKinds = ["no scope", "the verb", "the verb elsewhere", "no such verb"] as const;

/** One of these scopes. */
export type ScopeKind = (typeof scopeKinds)[number];

/** The expected code for each scope, in the order of `scopeKinds`. */
export type Codes = readonly [number, number, number, number];

/** A request for which kube-apiserver, or admission, asks about another verb of the user. */
export interface PolicyVerb {
  readonly what: string;
  /** What asks. */
  readonly by: string;
  readonly request: () => KeyedRequest;
  /** The rules that cover the request itself. */
  readonly covering: readonly Rule[];
  /** The rule with the verb that is asked for, and one with the same verb for other objects. */
  readonly verb: Rule;
  readonly elsewhere: Rule;
  readonly codes: Codes;
  /** The codes of the gateway, if they differ. */
  readonly gatewayCodes?: Codes;
  /** The codes of the gateway if its API server calls no authorizer of Latchkey. */
  readonly alone?: Codes;
  /** A part of the message of every refusal. */
  readonly refusal: string;
  readonly gatewayRefusal?: string;
}

const admins = unique("admins");
const [web, pay] = [unique("web"), unique("pay")];
const many = Array.from({ length: 17 }, (_, at) => `${web}-${at}`);
const [east, west] = [unique("east"), unique("west")];
const [home, placed] = [unique("home"), unique("placed")];
const [shared, owner, token] = [unique("shared"), unique("owner"), unique("token")];
const [other, signing] = [unique("other"), unique("signing")];
const [following, tls] = [unique("following"), unique("tls")];
const uids = new Map<string, string>();

const own = "management.service";
const rule = (verb: string, [group, resource]: readonly [string, string], ...names: string[]) => ({
  verbs: [verb],
  resources: [{ group, resources: [resource] }],
  ...(names.length === 0 ? {} : { resourceNames: names }),
});
const sharedSecrets = [own, "sharedsecrets"] as const;
const projects = [own, "projects"] as const;
const clusters = [own, "clusters"] as const;
const namespaces = ["", "namespaces"] as const;
const secrets = ["", "secrets"] as const;
const keys = [own, "ownedaccesskeys"] as const;
const tokens = [own, "directclusterendpointtokens"] as const;
const csrs = "certificates.k8s.io";

const dryRun = "?dryRun=All";
const post = (path: string, body: object): KeyedRequest => ({
  method: "POST",
  path: path + dryRun,
  body,
});
const merge = (path: string, body: object): KeyedRequest => ({
  method: "PATCH",
  path: path + dryRun,
  type: patchTypes.merge,
  body,
});
const sharedSecretsPath = `/apis/${apiVersion}/namespaces/${home}/sharedsecrets`;
const keysPath = `/apis/${apiVersion}/ownedaccesskeys`;
const tokensPath = `/apis/${apiVersion}/directclusterendpointtokens`;
const approvalPath = `/apis/${csrs}/v1/certificatesigningrequests/${signing}`;
const sharing = (list: string, more: object = {}) =>
  post(sharedSecretsPath, {
    apiVersion,
    kind: "SharedSecret",
    metadata: {
      name: unique("new"),
      annotations: { [annotations.syncToProjects]: list, ...more },
    },
  });
const sharingWithCluster = (list: string) => sharing(web, { [annotations.syncToClusters]: list });
const ownedBy = (blockOwnerDeletion: boolean) => {
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: owner, uid: uids.get(owner) };
  return { ownerReferences: [{ ...reference, blockOwnerDeletion }] };
};
const newKey = (spec: object) =>
  post(keysPath, {
    apiVersion,
    kind: "OwnedAccessKey",
    metadata: { name: unique("new") },
    spec: { ...spec, scope: {} },
  });

const granted = [200, 200, 403, 403] as const;
const created = [201, 201, 403, 403] as const;
const never = [403, 403, 403, 403] as const;
const deleting = {
  covering: [rule("patch", sharedSecrets)],
  verb: rule("delete", sharedSecrets, shared),
  elsewhere: rule("delete", sharedSecrets, other),
  codes: granted,
  refusal: `does not allow delete sharedsecrets.management.service ${shared}`,
};
const getting = {
  by: "latchkey-data-from",
  covering: [rule("patch", sharedSecrets), rule("delete", sharedSecrets)],
  verb: rule("get", secrets, tls),
  elsewhere: rule("get", secrets, other),
  codes: granted,
  refusal: `does not allow get secrets ${tls}`,
};
const assigning = {
  verb: rule("assign", projects, web),
  elsewhere: rule("assign", projects, pay),
  refusal: `does not allow assign projects.management.service ${web}`,
};
const impersonating = {
  covering: [rule("create", keys)],
  codes: never,
  refusal: "may create keys only for its own identity and groups",
};

/** All requests that meet the policies that ask the authorizer, and what else asks in this way. */
export const policyVerbs: readonly PolicyVerb[] = [
  {
    ...deleting,
    what: "giving another user access to a SharedSecret",
    by: "latchkey-access-change",
    request: () =>
      merge(`${sharedSecretsPath}/${shared}`, {
        spec: { access: [{ name: "all", users: ["bob"], verbs: ["get"] }] },
      }),
  },
  {
    ...deleting,
    what: "changing the owner of a SharedSecret",
    by: "latchkey-access-change",
    request: () => merge(`${sharedSecretsPath}/${shared}`, { spec: { owner: { team: "web" } } }),
  },
  {
    ...deleting,
    what: "removing the finalizer of a SharedSecret",
    by: "latchkey-deletion-guard",
    request: () => merge(`${sharedSecretsPath}/${shared}`, { metadata: { finalizers: null } }),
  },
  {
    ...deleting,
    what: "giving a SharedSecret an owner reference",
    by: "latchkey-deletion-guard",
    request: () => merge(`${sharedSecretsPath}/${shared}`, { metadata: ownedBy(false) }),
  },
  {
    what: "giving a token an owner reference",
    by: "latchkey-deletion-guard",
    request: () => merge(`${tokensPath}/${token}`, { metadata: ownedBy(false) }),
    covering: [rule("patch", tokens)],
    verb: rule("delete", tokens, token),
    elsewhere: rule("delete", tokens, other),
    codes: granted,
    refusal: `does not allow delete directclusterendpointtokens.management.service ${token}`,
  },
  {
    what: "syncing a new SharedSecret to a project",
    by: "latchkey-project-share",
    request: () => sharing(web),
    covering: [rule("create", sharedSecrets)],
    verb: rule("share", projects, web),
    elsewhere: rule("share", projects, pay),
    codes: created,
    refusal: `does not allow share projects.management.service ${web}`,
  },
  {
    what: "syncing a new SharedSecret to all projects",
    by: "latchkey-project-share",
    request: () => sharing("*"),
    covering: [rule("create", sharedSecrets)],
    verb: rule("share", projects),
    elsewhere: rule("share", projects, web),
    codes: created,
    refusal: "does not allow share projects.management.service: ",
  },
  {
    what: "syncing a new SharedSecret to 17 projects",
    by: "latchkey-project-share",
    request: () => sharing(many.join()),
    covering: [rule("create", sharedSecrets)],
    verb: rule("share", projects),
    elsewhere: rule("share", projects, ...many),
    codes: created,
    refusal: "does not allow share projects.management.service: ",
  },
  {
    what: "syncing a SharedSecret to another project",
    by: "latchkey-project-share",
    request: () =>
      merge(`${sharedSecretsPath}/${shared}`, {
        metadata: { annotations: { [annotations.syncToProjects]: `${pay},${web}` } },
      }),
    covering: [rule("patch", sharedSecrets), rule("delete", sharedSecrets)],
    verb: rule("share", projects, web),
    elsewhere: rule("share", projects, pay),
    codes: granted,
    refusal: `does not allow share projects.management.service ${web}`,
  },
  {
    what: "changing the format of the copies of a SharedSecret",
    by: "latchkey-project-share",
    request: () =>
      merge(`${sharedSecretsPath}/${shared}`, {
        metadata: { annotations: { [annotations.syncFormat]: "json" } },
      }),
    covering: [rule("patch", sharedSecrets), rule("delete", sharedSecrets)],
    verb: rule("share", projects, pay),
    elsewhere: rule("share", projects, web),
    codes: granted,
    refusal: `does not allow share projects.management.service ${pay}`,
  },
  {
    what: "syncing a new SharedSecret to a connected cluster",
    by: "latchkey-cluster-share",
    request: () => sharingWithCluster(east),
    covering: [rule("create", sharedSecrets), rule("share", projects, web)],
    verb: rule("share", clusters, east),
    elsewhere: rule("share", clusters, west),
    codes: created,
    refusal: `does not allow share clusters.management.service ${east}`,
  },
  {
    what: "syncing a new SharedSecret to all connected clusters",
    by: "latchkey-cluster-share",
    request: () => sharingWithCluster("*"),
    covering: [rule("create", sharedSecrets), rule("share", projects, web)],
    verb: rule("share", clusters),
    elsewhere: rule("share", clusters, east),
    codes: created,
    refusal: "does not allow share clusters.management.service: ",
  },
  {
    what: "syncing the projects of a SharedSecret to a connected cluster",
    by: "latchkey-project-share",
    request: () =>
      merge(`${sharedSecretsPath}/${shared}`, {
        metadata: { annotations: { [annotations.syncToClusters]: east } },
      }),
    covering: [
      ...[rule("patch", sharedSecrets), rule("delete", sharedSecrets)],
      rule("share", clusters, east),
    ],
    verb: rule("share", projects, pay),
    elsewhere: rule("share", projects, web),
    codes: granted,
    refusal: `does not allow share projects.management.service ${pay}`,
  },
  {
    ...getting,
    what: "creating a SharedSecret that follows a Secret",
    request: () =>
      post(sharedSecretsPath, {
        apiVersion,
        kind: "SharedSecret",
        metadata: { name: unique("new"), annotations: { [annotations.dataFrom]: tls } },
      }),
    covering: [rule("create", sharedSecrets)],
    codes: created,
  },
  {
    ...getting,
    what: "creating one that follows a Secret, by server-side apply",
    request: () => {
      const metadata = { name: unique("new"), annotations: { [annotations.dataFrom]: tls } };
      return {
        method: "PATCH",
        path: `${sharedSecretsPath}/${metadata.name}${dryRun}&fieldManager=test`,
        type: patchTypes.apply,
        body: { apiVersion, kind: "SharedSecret", metadata },
      };
    },
    covering: [rule("patch", sharedSecrets), rule("create", sharedSecrets)],
    codes: created,
  },
  ...[
    {
      what: "following a Secret",
      name: other,
      body: { metadata: { annotations: { [annotations.dataFrom]: tls } } },
    },
    {
      what: "other data keys of a Secret that is followed",
      name: following,
      body: { metadata: { annotations: { [annotations.dataFromKeys]: "a" } } },
    },
    {
      what: "giving another user access to the data of a Secret that is followed",
      name: following,
      body: { spec: { access: [{ users: ["bob"], verbs: ["get"] }] } },
    },
    {
      what: "giving it another owner",
      name: following,
      body: { spec: { owner: { user: "bob" } } },
    },
    {
      what: "renaming the copies of a Secret that is followed",
      name: following,
      body: { metadata: { annotations: { [annotations.syncSecretName]: "a" } } },
    },
  ].map(({ what, name, body }) => ({
    ...getting,
    what,
    request: () => merge(`${sharedSecretsPath}/${name}`, body),
  })),
  {
    ...getting,
    what: "taking users out of a Secret that is followed",
    request: () => merge(`${sharedSecretsPath}/${following}`, { spec: { access: [] } }),
    codes: [200, 200, 200, 200],
  },
  {
    what: "creating the namespace of an outbox",
    by: "latchkey-outbox-namespace",
    request: () =>
      post("/api/v1/namespaces", {
        metadata: { name: `latchkey-cluster-${east}`, labels: ownLabel },
      }),
    covering: [rule("create", namespaces)],
    verb: rule("connect", clusters, east),
    elsewhere: rule("connect", clusters, west),
    codes: created,
    refusal: `does not allow connect clusters.management.service ${east}`,
  },
  {
    ...assigning,
    what: "creating a namespace in a project",
    by: "latchkey-project-assignment",
    request: () =>
      post("/api/v1/namespaces", {
        metadata: { name: unique("new"), labels: { [labels.project]: web } },
      }),
    covering: [rule("create", namespaces)],
    codes: created,
  },
  {
    ...assigning,
    what: "moving a namespace to a space of its project",
    by: "latchkey-project-assignment",
    request: () =>
      merge(`/api/v1/namespaces/${placed}`, { metadata: { labels: { [labels.space]: "dev" } } }),
    covering: [rule("patch", namespaces)],
    codes: granted,
  },
  {
    ...assigning,
    what: "moving a namespace to a project through its status",
    by: "latchkey-project-assignment",
    request: () =>
      merge(`/api/v1/namespaces/${home}/status`, {
        metadata: { labels: { [labels.project]: web } },
      }),
    covering: [rule("patch", ["", "namespaces/status"])],
    codes: granted,
  },
  {
    ...impersonating,
    what: "creating a key for another user",
    by: "latchkey-mint-guard",
    request: () => newKey({ user: "bob" }),
    verb: rule("impersonate", ["", "users"], "bob"),
    elsewhere: rule("impersonate", ["", "users"], "carol"),
  },
  {
    ...impersonating,
    what: "creating a key with another group",
    by: "latchkey-mint-guard",
    request: () => newKey({ user: "alice", groups: ["devs"] }),
    verb: rule("impersonate", ["", "groups"], "devs"),
    elsewhere: rule("impersonate", ["", "groups"], "ops"),
  },
  {
    ...impersonating,
    what: "creating a key for the same user",
    by: "latchkey-mint-guard",
    request: () => newKey({ user: "alice", groups: [admins] }),
    verb: rule("impersonate", ["", "users"], "alice"),
    elsewhere: rule("impersonate", ["", "users"], "carol"),
    codes: [201, 201, 201, 201],
  },
  {
    what: "taking a key over",
    by: "latchkey-mint-guard",
    request: () =>
      merge(`${keysPath}/${other}`, { spec: { key: boundDigest("another-key", "user:alice") } }),
    covering: [rule("patch", keys)],
    verb: rule("impersonate", ["", "users"], "alice"),
    elsewhere: rule("impersonate", ["", "users"], "carol"),
    codes: never,
    refusal: other,
  },
  {
    what: "disabling another key",
    by: "latchkey-mint-guard",
    request: () => merge(`${keysPath}/${other}`, { spec: { disabled: true } }),
    covering: [rule("patch", keys)],
    verb: rule("update", keys, other),
    elsewhere: rule("update", keys, token),
    codes: granted,
    refusal: `does not allow update ownedaccesskeys.management.service ${other}`,
  },
  {
    what: "giving a key an owner reference",
    by: "latchkey-deletion-guard",
    request: () => merge(`${keysPath}/${other}`, { metadata: ownedBy(false) }),
    covering: [rule("patch", keys)],
    verb: rule("delete", keys, other),
    elsewhere: rule("delete", keys, token),
    codes: never,
    // Of latchkey-mint-guard, latchkey-deletion-guard or OwnerReferencesPermissionEnforcement.
    refusal: other,
  },
  {
    what: "blocking the deletion of an owner",
    by: "admission of owner references",
    request: () =>
      post(sharedSecretsPath, {
        apiVersion,
        kind: "SharedSecret",
        metadata: { name: unique("new"), ...ownedBy(true) },
      }),
    // The second is required by OwnerReferencesPermissionEnforcement.
    covering: [rule("create", sharedSecrets), rule("update", ["", "configmaps/finalizers"])],
    verb: rule("delete", ["", "configmaps"], owner),
    elsewhere: rule("delete", ["", "configmaps"], other),
    codes: [201, 201, 422, 422],
    refusal: `requires the verb delete on ConfigMap "${owner}"`,
  },
  {
    what: "impersonation by headers",
    by: "kube-apiserver",
    request: () => ({ path: "/version", headers: { "impersonate-user": "bob" } }),
    covering: [],
    verb: rule("impersonate", ["", "users"], "bob"),
    elsewhere: rule("impersonate", ["", "users"], "carol"),
    codes: granted,
    gatewayCodes: never,
    refusal: "does not allow impersonate",
    gatewayRefusal: "impersonation headers are not supported",
  },
  {
    what: "approving a certificate",
    by: "kube-apiserver (CertificateApproval)",
    request: () =>
      merge(`${approvalPath}/approval`, {
        status: { conditions: [{ type: "Approved", status: "True", reason: "Test" }] },
      }),
    covering: [rule("patch", [csrs, "certificatesigningrequests/approval"])],
    verb: rule("approve", [csrs, "signers"], "kubernetes.io/kube-apiserver-client"),
    elsewhere: rule("approve", [csrs, "signers"], "example.com/other"),
    codes: granted,
    alone: [200, 200, 200, 200],
    refusal: "user not permitted to approve requests",
  },
];

/** The answer that a table expects: this code, and with a refusal its reason and message. */
export function expectedAnswer(code: number | undefined, refusal: string): KeyedAnswer {
  if (code === 200 || code === 201) return { code, reason: undefined, message: "" };
  return {
    code: code ?? 0,
    reason: code === 422 ? "Invalid" : "Forbidden",
    message: expect.stringContaining(refusal),
  };
}

/** A certificate signing request for CN=nobody. */
const certificateRequest = `-----BEGIN CERTIFICATE REQUEST-----
MIHMMHMCAQAwETEPMA0GA1UEAwwGbm9ib2R5MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEaGXfnXKKsxwxE5RWQKJyt1d7K9TACIiYmzgQmblBJ8REf57XTCTP5d3d
aEyc/b89WaTfr6GKO7HxugLPJ8wvV6AAMAoGCCqGSM49BAMCA0kAMEYCIQD9h3O/
sloqFL6weDWwinrO20AhGP9BIwq7foxynLEzvAIhALpbQOlU02WQjgiPXU0uawUv
K4CzcSD14H5A/UmKOQ53
-----END CERTIFICATE REQUEST-----
`;

/** Creates what the requests are about, and a group that may do everything. */
export async function arrangePolicyVerbs(): Promise<void> {
  await bind({ kind: "Group", name: admins }, "cluster-admin");
  const create = (path: string, body: object) => api.create(path, body);
  await create("/api/v1/namespaces", { metadata: { name: home } });
  await create("/api/v1/namespaces", {
    metadata: { name: placed, labels: { [labels.project]: web } },
  });
  const { metadata } = await create(`/api/v1/namespaces/${home}/configmaps`, {
    metadata: { name: owner },
  });
  uids.set(owner, String(metadata["uid"]));
  await create(sharedSecretsPath, {
    apiVersion,
    kind: "SharedSecret",
    metadata: {
      name: shared,
      finalizers: [cleanupFinalizer],
      annotations: { [annotations.syncToProjects]: pay },
    },
  });
  for (const [name, given, spec] of [
    [other, {}, {}],
    [following, { [annotations.dataFrom]: tls }, { access: [{ users: ["ann"], verbs: ["get"] }] }],
  ] as const)
    await create(sharedSecretsPath, {
      apiVersion,
      kind: "SharedSecret",
      metadata: { name, annotations: given },
      spec,
    });
  await make("DirectClusterEndpointToken", { name: token });
  await makeKey({ name: other, spec: { user: "alice" } });
  await create(`/apis/${csrs}/v1/certificatesigningrequests`, {
    metadata: { name: signing },
    spec: {
      request: Buffer.from(certificateRequest).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    },
  });
}

/** Creates a key of alice, who may do everything, for each kind of scope. */
export function makeScopedKeys({
  covering,
  verb,
  elsewhere,
}: PolicyVerb): Promise<readonly (readonly [ScopeKind, KnownKey])[]> {
  const scopes: Readonly<Record<ScopeKind, readonly Rule[] | undefined>> = {
    "no scope": undefined,
    "the verb": [...covering, verb],
    "the verb elsewhere": [...covering, elsewhere],
    "no such verb": covering,
  };
  return Promise.all(
    scopeKinds.map(async (kind) => {
      const rules = scopes[kind];
      const scope = rules === undefined ? {} : { scope: { rules } };
      const key = await makeKey({ spec: { user: "alice", groups: [admins], ...scope } });
      return [kind, key] as const;
    }),
  );
}
