import { describe, expect, it } from "vitest";
import { readingBounds } from "../../../src/api/reading-bounds.ts";
import { readTarget } from "../../../src/domain/gateway/request-target.ts";

const management = { kind: "management" } as const;

describe("the request target", () => {
  it.each([
    ["/kubernetes/management/api/v1/pods", management, "/api/v1/pods", ""],
    ["/kubernetes/management", management, "/", ""],
    ["/kubernetes/management/", management, "/", ""],
    ["/kubernetes/management?watch=1", management, "/", "?watch=1"],
    ["/kubernetes/management/version?a=b?c", management, "/version", "?a=b?c"],
    ["/kubernetes/management/api/v1/pods/a%20b", management, "/api/v1/pods/a%20b", ""],
    ["/kubernetes/cluster/east/api", { kind: "cluster", cluster: "east" }, "/api", ""],
    [
      "/kubernetes/project/web/space/dev/api",
      { kind: "space", project: "web", space: "dev" },
      "/api",
      "",
    ],
    [
      "/kubernetes/project/web/virtualcluster/v1/api",
      { kind: "virtual-cluster", project: "web", virtualCluster: "v1" },
      "/api",
      "",
    ],
    ["/kubernetes/managementx/api", undefined, "/kubernetes/managementx/api", ""],
    ["/kubernetes/m%61nagement/api", undefined, "/kubernetes/m%61nagement/api", ""],
    ["/kubernetes/cluster/api", { kind: "cluster", cluster: "api" }, "/", ""],
    ["/kubernetes/cluster/East/api", undefined, "/kubernetes/cluster/East/api", ""],
    ["/kubernetes/cluster/ea%73t/api", undefined, "/kubernetes/cluster/ea%73t/api", ""],
    ["/Kubernetes/management/api", undefined, "/Kubernetes/management/api", ""],
    ["/api/v1/pods", undefined, "/api/v1/pods", ""],
    ["/", undefined, "/", ""],
  ])("reads %s", (text, upstream, path, query) => {
    expect(readTarget(text)).toMatchObject({ kind: "target", upstream, path, query });
  });

  it.each([
    [""],
    ["*"],
    ["kubernetes/management/api"],
    ["https://gateway/kubernetes/management/api"],
    ["//kubernetes/management/api"],
    ["/kubernetes//management/api"],
    ["/kubernetes/management//api"],
    ["/kubernetes/management/api/v1/pods//"],
    ["/kubernetes/management/./api"],
    ["/kubernetes/management/../management/api"],
    ["/kubernetes/management/api/.."],
    ["/kubernetes/management/%2e%2e/api"],
    ["/kubernetes/management/.%2E/api"],
    ["/kubernetes/management/a%2Fb"],
    ["/kubernetes/management/a%2fb"],
    ["/kubernetes/management/a%5cb"],
    ["/kubernetes/management/a%00b"],
    ["/kubernetes/management/a%0ab"],
    ["/kubernetes/management/a%7fb"],
    ["/kubernetes/management/a%zz"],
    ["/kubernetes/management/a%4"],
    ["/kubernetes/management/a%"],
    ["/kubernetes/management/a%ff"],
    ["/kubernetes/management/a%c0%af"],
    ["/kubernetes/management/a%ed%a0%80"],
    ["/kubernetes/management/a b"],
    ["/kubernetes/management/a\tb"],
    ["/kubernetes/management/a\u0000b"],
    ["/kubernetes/management/ü"],
    ["/kubernetes/management/a#b"],
    ["/kubernetes/management/a\\b"],
    ["/kubernetes/management/api?a=%"],
    ["/kubernetes/management/api?a=1;b=2"],
    ["/kubernetes/management/api?a=#"],
    [`/kubernetes/management/${"a".repeat(readingBounds.requestTarget.bytes)}`],
    [`/kubernetes/management/api?a=1${"&".repeat(readingBounds.requestTarget.values)}`],
  ])("rejects %j", (text) => {
    expect(readTarget(text).kind).toBe("malformed");
  });

  it.each([
    ["/kubernetes/management/api/v1/namespaces/n/pods/p/proxy/a//b", "target"],
    ["/kubernetes/management/api/v1/namespaces/n/pods/p/proxy/a%2Fb", "target"],
    ["/kubernetes/management/api/v1/namespaces/n/services/https:s:443/proxy/a%2Fb", "target"],
    ["/kubernetes/management/api/v1/nodes/n/proxy//", "target"],
    ["/kubernetes/management/api/v1/namespaces/n/pods/p/proxy/a/../b", "malformed"],
    ["/kubernetes/management/api/v1/namespaces/n/pods/p/proxy/a/%2e%2e/b", "malformed"],
    ["/kubernetes/management/api/v1/namespaces/n/pods/p/proxy/a%2f..%2fb", "malformed"],
    ["/kubernetes/management/api/v1/namespaces/n/pods/p/proxy/a%5cb", "malformed"],
    ["/kubernetes/management/api/v1/namespaces/n/pods/p/log/a//b", "malformed"],
    ["/kubernetes/management/api/v1/namespaces/n/configmaps/p/proxy/a//b", "malformed"],
    ["/kubernetes/management/api/v1/namespaces/n%2Fpods%2Fp/proxy/a", "malformed"],
    ["/kubernetes/management/api/v1//namespaces/n/pods/p/proxy/a", "malformed"],
  ])("judges the path of a backend apart: %s is %s", (text, kind) => {
    expect(readTarget(text).kind).toBe(kind);
  });

  it("reads a query with as many parameters as kube-apiserver reads for certain", () => {
    const query = `?a=1${"&".repeat(readingBounds.requestTarget.values - 1)}`;
    expect(readTarget(`/kubernetes/management/api${query}`)).toMatchObject({ query });
  });

  it("quotes nothing of the target in its reason", () => {
    const read = readTarget("/kubernetes/management/lk_secret/../x");
    expect(JSON.stringify(read)).not.toContain("lk_secret");
  });
});
