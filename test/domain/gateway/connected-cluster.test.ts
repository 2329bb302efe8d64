import { describe, expect, test } from "vitest";
import {
  connectedLocation,
  namedUpstream,
  upstreamLocation,
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
