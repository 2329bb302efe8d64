import { annotations, labels } from "../../src/api/names.ts";
import type { Table } from "./walk-schema.ts";

/** The three kinds of walks. */
export const walkKinds = ["SharedSecret", "OwnedAccessKey", "DirectClusterEndpointToken"] as const;

/** The name of a kind. */
export type WalkKind = (typeof walkKinds)[number];

/** The name of each kind in paths. */
export const pluralOf: Readonly<Record<WalkKind, string>> = {
  SharedSecret: "sharedsecrets",
  OwnedAccessKey: "ownedaccesskeys",
  DirectClusterEndpointToken: "directclusterendpointtokens",
};

const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64");

/** More than a Secret can contain, and less than the API server accepts. */
const tooLarge = base64(new Uint8Array(1024 * 1024 + 1));

const account = "system:serviceaccount:";
const names = {
  right: ["alice", "the-bob", "dave@example.com", `${account}the-home:ci`, "*"],
  wrong: ["", "system:masters", ...["Not:a:name", "the-home:"].map((name) => account + name)],
};
const teams = { right: ["devs", "ops", "*"], wrong: ["", "system:authenticated"] };

const sharedSecret: Table = {
  "spec.owner.user": names,
  "spec.owner.team": teams,
  "spec.data": {
    right: [
      { password: base64("first") },
      { password: base64("second"), user: base64("somebody") },
    ],
    wrong: [{ large: tooLarge }, { [`${"k".repeat(260)}`]: "" }],
  },
  "spec.data keys": {
    right: [
      "password",
      "user",
      "ca.crt",
      "tls.crt",
      "tls.key",
      "..",
      "a key",
      "ssh-privatekey",
      "",
    ],
  },
  "spec.data.*": {
    right: [base64("first"), base64("second"), ""],
    wrong: ["not base64", "YQ", "YQ=\n", "YQ==YQ=="],
    only: true,
  },
  "spec.access[].name": { right: ["readers", "editors"] },
  "spec.access[].verbs": {
    right: [["get"], ["get", "list", "watch"], ["patch", "get"], ["*"]],
    wrong: [[], ["create"], ["get", "deletecollection"]],
  },
  "spec.access[].verbs[]": {
    right: ["get", "list", "watch", "update", "patch", "delete", "*"],
    wrong: ["create", "deletecollection", "", "GET", "impersonate"],
    only: true,
  },
  "spec.access[].subresources[]": { right: ["status", "*"], wrong: ["scale", ""], only: true },
  "spec.access[].users[]": names,
  "spec.access[].teams[]": teams,
};

/**
 * One expires before the controller reads the object, one expires during the walk, and the others
 * after the walk.
 */
const lifetimes = { right: [0, 3, 1_200, 400_000, 2_147_483_647], only: true };

const ownedAccessKey: Table = {
  spec: { oneOf: ["user", "team", "subject"], wrong: [{ user: "alice", team: "devs" }] },
  "spec.user": { right: ["alice", "system:admin", ""] },
  "spec.team": { right: ["devs", ""] },
  "spec.subject": { right: ["the-ci", ""] },
  "spec.groups[]": { right: ["devs", "system:masters"] },
  "spec.key": {
    right: ["lk.the-walk.0123456789", "lk.the-walk.9876543210", ""],
    wrong: [
      "too short",
      "sixteen characters, but not these",
      `sha256:${"0a".repeat(32)}`,
      `sha256:${"0A".repeat(8)}.${"0A".repeat(32)}`,
      "x".repeat(513),
    ],
    only: true,
  },
  "spec.ttl": lifetimes,
  "spec.identityRefresh": {
    right: ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+02:00"],
    wrong: ["yesterday"],
    only: true,
  },
  "spec.oidcLogin.lastRefresh": {
    right: ["2026-01-01T00:00:00Z"],
    wrong: ["", "2026-01-01"],
    only: true,
  },
  "spec.identity.connectorData": { right: [""], wrong: ["hidden"], only: true },
};

const scope: Table = {
  "spec.scope.rules[].resources[].resources": {
    right: [[], ["*"], ["pods", "pods/log"], ["pods", "pods/*"], ["*/scale", "configmaps"]],
    wrong: [
      ["*", "pods"],
      ["pods/*", "*/log"],
    ],
    only: true,
  },
  "spec.scope.rules[].nonResourceURLs[]": {
    right: ["/healthz", "/healthz/*", "*"],
    wrong: ["/*/x", "**"],
    only: true,
  },
  "spec.scope.projects[].project": { right: ["web", "*"] },
  "spec.scope.roles[].role": { right: ["serviceCLI", "unknown"] },
};

/**
 * Values with a meaning for Latchkey or the API server; `the-` is replaced by the prefix of the
 * names of a walk.
 */
export const tables: Readonly<Record<WalkKind, Table>> = {
  SharedSecret: sharedSecret,
  OwnedAccessKey: { ...ownedAccessKey, ...scope },
  DirectClusterEndpointToken: {
    ...scope,
    "spec.ttl": lifetimes,
  },
};

/** Values of one annotation or label. */
export interface Marks {
  readonly right: readonly string[];
  readonly wrong?: readonly string[];
  /** In how many of ten cases it is set. */
  readonly often: number;
}

const notes = { "example.com/note": { right: ["one", "two", ""], often: 2 } };

/** Annotations of an object that have a meaning, and one that does not. */
export const annotationValues: Readonly<Record<WalkKind, Readonly<Record<string, Marks>>>> = {
  SharedSecret: {
    ...notes,
    [annotations.syncToProjects]: {
      right: ["web", "web, pay-*", "*", "pay-eu,web", "p*-*u", "nobody", "", " ,"],
      wrong: ["web pay", "web,$"],
      often: 9,
    },
    [annotations.syncSecretName]: {
      right: ["renamed", "taken", "a.b"],
      wrong: ["Not_A_Name", "", "x".repeat(254)],
      often: 3,
    },
    [annotations.syncSecretType]: {
      right: ["Opaque", "example.com/own", "kubernetes.io/ssh-auth"],
      wrong: ["kubernetes.io/tls", "kubernetes.io/service-account-token", "helm.sh/release.v1", ""],
      often: 2,
    },
    [annotations.disableSync]: { right: ["false", "true"], wrong: ["yes", ""], often: 2 },
  },
  OwnedAccessKey: {
    ...notes,
    [annotations.requester]: { right: [], wrong: ["the-mallory"], often: 2 },
    [annotations.requesterKeyId]: { right: [], wrong: ["forged"], often: 2 },
  },
  DirectClusterEndpointToken: {
    ...notes,
    [annotations.requester]: { right: [], wrong: ["the-mallory"], often: 2 },
    [annotations.requesterGroups]: { right: [], wrong: ["system:masters"], often: 2 },
  },
};

/** Labels that users may set on their objects. */
export const labelValues: Readonly<Record<string, Marks>> = {
  "example.com/team": { right: ["web", "pay"], often: 3 },
  [labels.sourceUid]: { right: [], wrong: ["another"], often: 1 },
};

/** The requesters of keys and tokens. */
export const requesterNames = ["the-alice", "the-bob", `${account}the-home:ci`] as const;

/** Names of the objects; one has the maximum length. */
export const objectNames: Readonly<Record<WalkKind, readonly string[]>> = {
  SharedSecret: ["db", "a.b-c", "x".repeat(253)],
  OwnedAccessKey: ["own", "a.b-c"],
  DirectClusterEndpointToken: ["own", "a.b-c"],
};

/** The parts of an object that are different for each kind. */
interface Example {
  readonly spec: object;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * An older object of each kind: it was first to use the name of a Secret, a key or a place in its
 * requester's grants.
 */
export const elders: Readonly<Record<WalkKind, Example>> = {
  SharedSecret: {
    spec: { data: { elder: base64("elder") }, access: [{ verbs: ["get"], users: ["alice"] }] },
    annotations: { [annotations.syncToProjects]: "web", [annotations.syncSecretName]: "renamed" },
  },
  OwnedAccessKey: { spec: { subject: "the-ci", key: "lk.the-walk.9876543210" }, annotations: {} },
  DirectClusterEndpointToken: { spec: { ttl: 400_000 }, annotations: {} },
};

/** A valid object of each kind. */
export const rightObjects: Readonly<Record<WalkKind, Example>> = {
  SharedSecret: {
    spec: {
      data: { password: base64("right") },
      owner: { team: "ops" },
      access: [{ name: "readers", verbs: ["get"], users: ["alice"], teams: ["devs"] }],
    },
    annotations: { [annotations.syncToProjects]: "web, pay-*" },
  },
  OwnedAccessKey: { spec: { subject: "the-ci", key: "lk.the-right.0123456789" }, annotations: {} },
  DirectClusterEndpointToken: { spec: { ttl: 400_000 }, annotations: {} },
};
