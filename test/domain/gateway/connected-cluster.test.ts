import { describe, expect, test } from "vitest";
import {
  connectedLocation,
  connectionName,
  namedUpstream,
  upstreamLocation,
  virtualClusterNamespaceOf,
} from "../../../src/domain/gateway/connected-cluster.ts";
import { directRoutes, readTarget } from "../../../src/domain/gateway/request-target.ts";

describe.each([
  ["east", { kind: "cluster", cluster: "east" }, { target: "Cluster", cluster: "east" }],
  [
    "web/dev",
    { kind: "virtual-cluster", project: "web", virtualCluster: "dev" },
    { target: "ProjectVirtualCluster", project: "web", virtualCluster: "dev" },
  ],
])("the cluster with the name %s", (name, upstream, location) => {
  test("is the upstream of its direct endpoint, which its path does not name", () => {
    expect(namedUpstream(name)).toEqual(upstream);
    const target = readTarget("/kubernetes/cluster/api/v1/pods", directRoutes(namedUpstream(name)));
    expect(target).toMatchObject({ upstream, path: "/api/v1/pods" });
  });

  test("has the location of the same upstream at the gateway", () => {
    expect(connectedLocation(namedUpstream(name))).toEqual(location);
    expect(upstreamLocation(namedUpstream(name))).toEqual(location);
  });
});

const annotation = "management.service/virtual-cluster-namespace";
const virtual = {
  "management.service/project": "web",
  "management.service/virtual-cluster": "dev",
};
const plain = { "management.service/cluster": "east" };

test.each<[string, Readonly<Record<string, string>>, string | undefined]>([
  ["a cluster", plain, "cluster/east"],
  ["a virtual cluster", virtual, "virtual-cluster/web/dev"],
  ["a cluster, whatever else its labels say", { ...virtual, ...plain }, "cluster/east"],
  ["nothing", { "management.service/project": "web" }, undefined],
])("a Secret connects %s by its labels", (_what, labels, name) => {
  expect(connectionName({ labels })).toBe(name);
});

test("the namespace of a virtual cluster is part of its location", () => {
  expect(connectedLocation(namedUpstream("web/dev"), "vc-web")).toEqual({
    target: "ProjectVirtualCluster",
    project: "web",
    virtualCluster: "dev",
    virtualClusterNamespace: "vc-web",
  });
});

test.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, object]>([
  ["no annotation", virtual, {}, {}],
  ["a namespace", virtual, { [annotation]: "vc-web" }, { namespace: "vc-web" }],
  [
    "what is no DNS label",
    ...([virtual, { [annotation]: "VC web" }] as const),
    { problem: `metadata.annotations[${annotation}]: "VC web" must be a DNS label` },
  ],
  [
    "a text without end",
    ...([virtual, { [annotation]: "x".repeat(1_000) }] as const),
    { problem: `metadata.annotations[${annotation}]: "${"x".repeat(63)}" must be a DNS label` },
  ],
  [
    "a namespace of a cluster that is not virtual",
    ...([plain, { [annotation]: "vc-web" }] as const),
    {
      problem:
        `metadata.annotations[${annotation}] has no effect, ` +
        "because the Secret connects no virtual cluster",
    },
  ],
])(
  "the Secret of a virtual cluster names its namespace: %s",
  (_what, labels, annotations, found) => {
    expect(virtualClusterNamespaceOf({ labels, annotations })).toEqual(found);
  },
);
