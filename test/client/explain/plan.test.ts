import { expect, test } from "vitest";
import { annotations, apiVersion, labels } from "../../../src/api/names.ts";
import { fakeCluster, statesOf } from "../fake-cluster.ts";
import { runCommand } from "../run-command.ts";

const namespace = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: "web-1",
    uid: "1",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { [labels.project]: "web" },
  },
};
const sharedSecret = {
  apiVersion,
  kind: "SharedSecret",
  spec: { data: { password: "c2VjcmV0" } },
  metadata: {
    namespace: "team-a",
    name: "db",
    annotations: { [annotations.syncToProjects]: "web" },
  },
};
const placeholder = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    namespace: "web-1",
    name: "own",
    labels: { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "team-a" },
  },
};

test.each([
  ["has no namespace without one", [sharedSecret], true],
  ["has the namespace of a Secret that asks for it", [sharedSecret, placeholder], false],
])("in the plan of files, a project %s", async (_what, manifests, isNoted) => {
  const { stdout } = await runCommand({
    command: "plan",
    flags: { filename: "-", output: "json" },
    input: manifests.map((manifest) => JSON.stringify(manifest)).join("\n---\n"),
    connect: async () => fakeCluster({ objects: { namespaces: [namespace] } }),
  });
  const states = statesOf(JSON.parse(stdout));
  expect(states.filter((state) => state.endsWith("ProjectWithoutNamespace"))).toEqual(
    isNoted ? ["SharedSecret team-a/db problem ProjectWithoutNamespace"] : [],
  );
  expect(states).toContain("SharedSecret team-a/db info Created");
});

const clusterSecret = (projects: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    namespace: "latchkey-clusters",
    name: "east",
    labels: { [labels.cluster]: "east" },
    uid: "c",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations: { [annotations.projects]: projects },
  },
});
const crossing = (clusters: string, identity: object = {}) => ({
  ...sharedSecret,
  metadata: {
    ...sharedSecret.metadata,
    ...identity,
    annotations: { ...sharedSecret.metadata.annotations, [annotations.syncToClusters]: clusters },
  },
});
const stored = { uid: "s", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };

/** The lines about clusters in a plan of these files, with these objects in the cluster. */
async function clusterLines(
  files: readonly object[],
  { shared, secrets, forbidden = [] }: PlannedWorld,
): Promise<readonly string[]> {
  const objects = { namespaces: [namespace], sharedsecrets: shared, secrets };
  const { stdout } = await runCommand({
    command: "plan",
    flags: { filename: "-" },
    input: files.map((manifest) => JSON.stringify(manifest)).join("\n---\n"),
    connect: async () => fakeCluster({ objects, forbidden }),
  });
  return stdout.split("\n").filter((line) => /cluster/i.test(line));
}

interface PlannedWorld {
  readonly shared: readonly object[];
  readonly secrets: readonly object[];
  readonly forbidden?: readonly string[];
}

test("the plan of a SharedSecret says which clusters gain it, and which do not exist", async () => {
  const world = { shared: [], secrets: [clusterSecret("web")] };
  expect(await clusterLines([crossing("east,north")], world)).toEqual([
    "Connected clusters",
    '  + Cluster "east" gains SharedSecret "team-a/db" for its projects "web".',
    '  Cluster "north": No cluster "north" is connected, so nothing is offered to it.',
    "Copies: no change. Offers to clusters: 1 to change. Roles and RoleBindings: 0 to change.",
  ]);
});

test("the plan of the Secret of a cluster says what it loses", async () => {
  const world = { shared: [crossing("*", stored)], secrets: [clusterSecret("web")] };
  expect(await clusterLines([clusterSecret("pay")], world)).toContain(
    '  - Cluster "east" loses SharedSecret "team-a/db", and the copies there are removed.',
  );
});

test("the plan of a SharedSecret without clusters reads none", async () => {
  const lines = await clusterLines([sharedSecret], {
    shared: [],
    secrets: [],
    forbidden: ["secrets"],
  });
  expect(lines.filter((line) => line.includes("latchkey-clusters"))).toEqual([]);
});

test("the plan names the right without which clusters are left out", async () => {
  const world = { shared: [], secrets: [], forbidden: ["secrets"] };
  expect(await clusterLines([crossing("east")], world)).toEqual([
    "  list secrets in namespace latchkey-clusters",
  ]);
});
