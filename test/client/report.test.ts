import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import {
  annotations,
  apiVersion,
  labels,
  requesterPolicies,
  sharePolicies,
} from "../../src/api/names.ts";
import { guardingPolicies } from "../../src/domain/policies/guarding-policies.ts";
import { shippedPolicyObjects } from "../support/connected-policies.ts";
import { type ReportCommand, reportProblems } from "../support/report-shape.ts";
import { fakeCluster, type FakeObjects, statesOf } from "./fake-cluster.ts";
import { runCommand } from "./run-command.ts";

const canary = "Y2FuYXJ5LXZhbHVl";
const at = "2026-01-01T00:00:00Z";

function condition(type: string, status: string, reason: string, message: string) {
  return { type, status, reason, message, lastTransitionTime: at };
}

function object(kind: string, name: string, rest: object = {}, metadata: object = {}) {
  const own = { uid: `uid-${name}`, resourceVersion: "1", generation: 1, creationTimestamp: at };
  return { apiVersion, kind, metadata: { ...own, name, ...metadata }, ...rest };
}

const conflicting = {
  observedGeneration: 1,
  conditions: [condition("Ready", "False", "Conflict", "1 of 1 targets has a conflict")],
  sync: {
    desired: 1,
    synced: 0,
    conflicts: 1,
    failures: [{ namespace: "web", name: "db", reason: "NotManaged", message: "exists" }],
  },
};
const spec = {
  data: { password: canary },
  access: [{ verbs: ["get"], users: ["bob"] }, { verbs: ["get"] }],
};
const offers = { [annotations.syncToProjects]: "web, none" };

const requested = { annotations: { [annotations.requester]: "alice" } };
const { lock, guard } = requesterPolicies;
/** The policies that check shows although they are well. */
const shown: readonly string[] = [lock, guard, ...Object.values(sharePolicies)];

const objects: FakeObjects["objects"] = {
  ...shippedPolicyObjects("2025-01-01T00:00:00Z"),
  sharedsecrets: [
    object(
      "SharedSecret",
      "db",
      { spec, status: conflicting },
      { namespace: "team-a", annotations: offers },
    ),
  ],
  namespaces: [
    object(
      "Namespace",
      "web",
      {},
      {
        labels: { [labels.project]: "web" },
        annotations: { [annotations.sync]: "enabled" },
      },
    ),
  ],
  secrets: [object("Secret", "db", {}, { namespace: "web" })],
  ownedaccesskeys: [
    object(
      "OwnedAccessKey",
      "ci",
      {
        spec: { key: canary, user: "alice", scope: { projects: [{ project: "web" }] } },
        status: {
          observedGeneration: 1,
          expiresAt: "2026-01-02T00:00:00Z",
          conditions: [condition("Ready", "True", "Active", "The key is accepted.")],
        },
      },
      requested,
    ),
    object("OwnedAccessKey", "new", { spec: {} }),
  ],
  directclusterendpointtokens: [
    object("DirectClusterEndpointToken", "laptop", {
      status: {
        observedGeneration: 1,
        expiresAt: "2026-01-01T01:00:00Z",
        token: canary,
        conditions: [condition("Ready", "True", "Minted", "The token expires soon.")],
      },
    }),
  ],
};

const item = {
  object: { kind: "Secret", name: "db" },
  state: "ok",
  reason: "Arrives",
  message: "It is so.",
  causes: [],
};

function report(changes: object): object {
  return { kind: "Report", items: [{ ...item, ...changes }] };
}

const fresh = { spec: { access: spec.access } };
const manifests = [
  object("ConfigMap", "other", { apiVersion: "v1" }, { namespace: "team-a" }),
  object("SharedSecret", "fresh", fresh, { annotations: { [annotations.syncToProjects]: "web" } }),
]
  .map((one) => JSON.stringify(one))
  .join("\n---\n");

interface Run {
  readonly command: ReportCommand;
  readonly args?: readonly string[];
  readonly flags?: Readonly<Record<string, string>>;
  readonly forbidden?: readonly string[];
  readonly input?: string;
}

/** Runs a command on a fake cluster; returns what it prints. */
async function run({ forbidden = [], ...wanted }: Run) {
  const { code, stdout } = await runCommand({
    ...wanted,
    connect: async ({ namespace }) => fakeCluster({ objects, forbidden }, namespace),
  });
  return { code, text: stdout };
}

const secret = "Secret web/db problem NotManaged";
const emptyRule = "SharedSecret team-a/db info EmptyAccessRule";
const emptyProject = "SharedSecret team-a/db info ProjectWithoutNamespace";
const failing = "SharedSecret team-a/db problem Conflict";
const active = "OwnedAccessKey ci ok Active";
const token = "DirectClusterEndpointToken laptop ok Minted";
const notSeen = "OwnedAccessKey new unknown NotObserved";
const few = ["Namespace  unknown Forbidden", "Namespace team-a unknown Forbidden"];
const installed = [
  "APIServer https://cluster.example ok Supported",
  ...["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"].map(
    (plural) => `CustomResourceDefinition ${plural}.management.service ok Found`,
  ),
  ...guardingPolicies
    .filter(({ name }) => shown.includes(name))
    .map(({ name }) => `ValidatingAdmissionPolicy ${name} ok Found`),
];
const reviewed = [
  "MutatingWebhookConfiguration latchkey info NotFound",
  "TokenReview  ok Answered",
  "SubjectAccessReview  info NotFound",
];
const who = "User alice info Authenticated";
const [may, mayNot] = ["User alice info Allowed", "User alice info NotAllowed"];

/** What runs, its exit code, and its items by object, state and reason. */
const runs: readonly (readonly [string, Run, number, readonly string[]])[] = [
  [
    "why, of a Secret",
    { command: "why", args: ["secret/db"], flags: { namespace: "web", "exit-code": "" } },
    3,
    [secret],
  ],
  [
    "why, of a SharedSecret",
    { command: "why", args: ["shsec/db"] },
    0,
    [emptyRule, emptyProject, secret],
  ],
  ["why, of an access key", { command: "why", args: ["oak/ci"] }, 0, [active]],
  [
    "why, of a request",
    { command: "why", args: ["oak/ci", "get", "/metrics"] },
    0,
    [active, "OwnedAccessKey ci problem OutsideScope", "User alice ok RBACAllows"],
  ],
  ["why, of a direct token", { command: "why", args: ["dcet/laptop"] }, 0, [token]],
  [
    "why, with few rights",
    { command: "why", args: ["shsec/db"], forbidden: ["namespaces", "secrets"] },
    0,
    [emptyRule, failing, ...few, "Secret  unknown Forbidden"],
  ],
  [
    "plan",
    { command: "plan" },
    0,
    [
      "Role team-a/* create AccessChanged",
      "RoleBinding team-a/* create AccessChanged",
      ...[secret, emptyRule, emptyProject],
    ],
  ],
  [
    "plan, of a file",
    { command: "plan", flags: { filename: "-", "exit-code": "" }, input: manifests },
    3,
    [
      "SharedSecret team-a/fresh info Created",
      "ConfigMap team-a/other info NotPlanned",
      "Secret web/fresh create Arrives",
      "Role team-a create AccessChanged",
      "RoleBinding team-a create AccessChanged",
      "SharedSecret team-a/fresh info EmptyAccessRule",
    ],
  ],
  [
    "plan, with few rights",
    { command: "plan", forbidden: ["secrets", "roles", "namespaces"] },
    0,
    [emptyRule, ...few, "Secret  unknown Forbidden"],
  ],
  [
    "status",
    { command: "status" },
    3,
    [failing, secret, notSeen, "OwnedAccessKey ci ok Active", token],
  ],
  [
    "status, with few rights",
    { command: "status", forbidden: ["secrets", "ownedaccesskeys"] },
    3,
    [failing, secret, token, "Secret  unknown Forbidden"],
  ],
  [
    "check",
    { command: "check" },
    3,
    [
      ...installed,
      "Lease latchkey-system/latchkey-controller problem NotFound",
      ...reviewed,
      ...[who, may, may, may, may],
    ],
  ],
  [
    "check, with few rights",
    { command: "check", forbidden: ["leases", "sharedsecrets"] },
    0,
    [
      ...installed,
      "Lease latchkey-system/latchkey-controller unknown Forbidden",
      ...reviewed,
      ...[who, mayNot, mayNot, may, may],
    ],
  ],
];

describe("-o json and -o yaml have one shape:", () => {
  test.for(runs)("%s", async ([, wanted, code, states]) => {
    const json = await run({ ...wanted, flags: { ...wanted.flags, output: "json" } });
    const report: unknown = JSON.parse(json.text);
    expect(reportProblems(report, wanted.command)).toEqual([]);
    expect(statesOf(report).toSorted()).toEqual(states.toSorted());
    expect(json.code).toBe(code);
    expect(json.text).not.toContain(canary);
    const yaml = await run({ ...wanted, flags: { ...wanted.flags, output: "yaml" } });
    expect(load(yaml.text)).toEqual(report);
  });
});

test.for<[string, unknown, string]>([
  ["another field", { kind: "Report", items: [], well: true }, "fields: kind,items,well"],
  ["an unknown state", report({ state: "create" }), 'items[0].state: "create"'],
  ["an unknown reason", report({ reason: "not-managed" }), "items[0].reason: not-managed"],
  ["a message that is no sentence", report({ message: "a" }), "items[0].message: a"],
  ["an object as a text", report({ object: "Secret web/db" }), "items[0].object: {}"],
  [
    "a cause without a reason",
    report({ causes: [{ ...item, reason: 1 }] }),
    "items[0].causes[0].state",
  ],
])("the shape excludes %s", ([, document, problem]) => {
  expect(reportProblems(document, "why")).toContain(problem);
});
