import { describe, expect, it } from "vitest";
import { type Method, requestInfo } from "../../../src/domain/gateway/request-info.ts";

const info = (method: Method, target: string) => {
  const [path = "", query = ""] = target.split(/(?=\?)/);
  return requestInfo(method, { path, query });
};
const resource = (fields: object) => ({
  kind: "resource",
  group: "",
  namespace: "",
  name: "",
  subresource: "",
  ...fields,
});

describe("the request information", () => {
  it.each<[Method, string, object]>([
    ["GET", "/api/v1/pods", { verb: "list", resource: "pods" }],
    ["HEAD", "/api/v1/pods", { verb: "list", resource: "pods" }],
    ["GET", "/api/v1/pods/", { verb: "list", resource: "pods" }],
    ["POST", "/api/v1/namespaces/n/pods", { verb: "create", resource: "pods", namespace: "n" }],
    [
      "GET",
      "/api/v1/namespaces/n/pods/p",
      { verb: "get", resource: "pods", namespace: "n", name: "p" },
    ],
    [
      "PUT",
      "/api/v1/namespaces/n/pods/p/status",
      { verb: "update", resource: "pods", namespace: "n", name: "p", subresource: "status" },
    ],
    [
      "PATCH",
      "/apis/apps/v1/namespaces/n/deployments/d/scale",
      {
        verb: "patch",
        group: "apps",
        resource: "deployments",
        namespace: "n",
        name: "d",
        subresource: "scale",
      },
    ],
    [
      "DELETE",
      "/api/v1/namespaces/n/pods/p",
      { verb: "delete", resource: "pods", namespace: "n", name: "p" },
    ],
    [
      "DELETE",
      "/api/v1/namespaces/n/pods",
      { verb: "deletecollection", resource: "pods", namespace: "n" },
    ],
    ["GET", "/api/v1/namespaces", { verb: "list", resource: "namespaces" }],
    [
      "GET",
      "/api/v1/namespaces/n",
      { verb: "get", resource: "namespaces", namespace: "n", name: "n" },
    ],
    [
      "PUT",
      "/api/v1/namespaces/n/finalize",
      {
        verb: "update",
        resource: "namespaces",
        namespace: "n",
        name: "n",
        subresource: "finalize",
      },
    ],
    [
      "GET",
      "/api/v1/namespaces/n/status",
      { verb: "get", resource: "namespaces", namespace: "n", name: "n", subresource: "status" },
    ],
    [
      "GET",
      "/api/v1/namespaces/n/pods/p/proxy/a/b",
      { verb: "get", resource: "pods", namespace: "n", name: "p", subresource: "proxy" },
    ],
    ["GET", "/api/v1/pods?watch", { verb: "watch", resource: "pods" }],
    ["GET", "/api/v1/pods?watch=", { verb: "watch", resource: "pods" }],
    ["GET", "/api/v1/pods?watch=true", { verb: "watch", resource: "pods" }],
    ["GET", "/api/v1/pods?w%61tch=1", { verb: "watch", resource: "pods" }],
    ["GET", "/api/v1/pods?watch=FALSE", { verb: "list", resource: "pods" }],
    ["GET", "/api/v1/pods?watch=0", { verb: "list", resource: "pods" }],
    ["GET", "/api/v1/pods/p?watch=1", { verb: "get", resource: "pods", name: "p" }],
    ["GET", "/api/v1/watch/pods", { verb: "watch", resource: "pods" }],
    [
      "GET",
      "/api/v1/watch/namespaces/n/pods/p",
      { verb: "watch", resource: "pods", namespace: "n", name: "p" },
    ],
    ["DELETE", "/api/v1/watch/pods", { verb: "watch", resource: "pods" }],
    [
      "GET",
      "/api/v1/proxy/namespaces/n/pods/p/a",
      { verb: "proxy", resource: "pods", namespace: "n", name: "p" },
    ],
    [
      "GET",
      "/api/v1/pods?fieldSelector=metadata.name%3Dp",
      { verb: "list", resource: "pods", name: "p" },
    ],
    [
      "GET",
      "/api/v1/pods?fieldSelector=metadata.name==p,status.phase=Running&watch=1",
      { verb: "watch", resource: "pods", name: "p" },
    ],
    ["GET", "/api/v1/pods?fieldSelector=metadata.name!%3Dp", { verb: "list", resource: "pods" }],
    ["GET", "/api/v1/pods?fieldSelector=metadata.name=a%2Fb", { verb: "list", resource: "pods" }],
    [
      "GET",
      "/api/v1/pods?fieldSelector=metadata.name=a%5C,b",
      { verb: "list", resource: "pods", name: "a,b" },
    ],
    [
      "GET",
      "/api/v1/pods?fieldSelector=metadata.name=p&labelSelector=app%20in%20(a,b),!x/y,z=",
      { verb: "list", resource: "pods", name: "p" },
    ],
    [
      "GET",
      "/api/v1/pods?fieldSelector=metadata.name=p&limit=500&timeoutSeconds=30",
      { verb: "list", resource: "pods", name: "p" },
    ],
    ["GET", "/apis/a%20b/v1/things", { verb: "list", group: "a b", resource: "things" }],
  ])("understands %s %s", (method, target, fields) => {
    expect(info(method, target)).toEqual(resource(fields));
  });

  it.each<[Method, string, string, string]>([
    ["GET", "/", "get", "/"],
    ["GET", "/api", "get", "/api"],
    ["GET", "/api/v1", "get", "/api/v1"],
    ["GET", "/apis/apps/v1", "get", "/apis/apps/v1"],
    ["HEAD", "/healthz", "head", "/healthz"],
    ["POST", "/foo/bar/baz/qux", "post", "/foo/bar/baz/qux"],
    ["GET", "/openapi/v3/apis/apps/v1", "get", "/openapi/v3/apis/apps/v1"],
    ["GET", "/a%20b", "get", "/a b"],
  ])("understands %s %s as a path", (method, target, verb, path) => {
    expect(info(method, target)).toEqual({ kind: "path", verb, path });
  });

  it.each([
    ["/api/v1/watch"],
    ["/api/v1/proxy"],
    ["/apis/apps/v1/watch"],
    ["/api/v1/pods?watch=1&watch=0"],
    ["/api/v1/pods?watch=fal%C5%BFe"],
    ["/api/v1/pods?fieldSelector=metadata.name=a&fieldSelector=metadata.name=b"],
    ["/api/v1/pods?fieldSelector=metadata.name=a,metadata.name=b"],
    ["/api/v1/pods?fieldSelector=metadata.name"],
    ["/api/v1/pods?fieldSelector=metadata.name=a=b"],
    ["/api/v1/pods?fieldSelector=metadata.name=a%5C"],
    ["/api/v1/pods?fieldSelector=metadata.name=a&limit=x"],
    ["/api/v1/pods?fieldSelector=metadata.name=a&timeoutSeconds="],
    ["/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=a%20b%20c"],
    ["/api/v1/pods?fieldSelector=%ff"],
  ])("rejects GET %s, which kube-apiserver refuses or could read in two ways", (target) => {
    expect(info("GET", target)).toMatchObject({ kind: "malformed" });
  });
});
