import { expect, test } from "vitest";
import { annotations, apiVersion, labels } from "../../../../src/api/names.ts";
import { fakeCluster, statesOf } from "../fake-cluster.ts";
import { runCommand } from "../run-command.ts";

const namespace = {
  ...{ apiVersion: "v1", kind: "Namespace" },
  metadata: {
    ...{ name: "web-1", uid: "1", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
    labels: { [labels.project]: "web" },
  },
};
const sharedSecret = {
  ...{ apiVersion, kind: "SharedSecret", spec: { data: { password: "c2VjcmV0" } } },
  metadata: {
    ...{ namespace: "team-a", name: "db" },
    annotations: { [annotations.syncToProjects]: "web" },
  },
};
const placeholder = {
  ...{ apiVersion: "v1", kind: "Secret" },
  metadata: {
    ...{ namespace: "web-1", name: "own" },
    labels: { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "team-a" },
  },
};

test.each([
  ["has no namespace without one", [sharedSecret], true],
  ["has the namespace of a Secret that asks for it", [sharedSecret, placeholder], false],
])("in the plan of files, a project %s", async (_what, manifests, isNoted) => {
  const { stdout } = await runCommand({
    ...{ command: "plan", flags: { filename: "-", output: "json" } },
    input: manifests.map((manifest) => JSON.stringify(manifest)).join("\n---\n"),
    connect: async () => fakeCluster({ objects: { namespaces: [namespace] } }),
  });
  const states = statesOf(JSON.parse(stdout));
  expect(states.filter((state) => state.endsWith("ProjectWithoutNamespace"))).toEqual(
    isNoted ? ["SharedSecret team-a/db problem ProjectWithoutNamespace"] : [],
  );
  expect(states).toContain("SharedSecret team-a/db info Created");
});
