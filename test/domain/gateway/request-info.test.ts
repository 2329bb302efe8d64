import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../../src/api/access-review.ts";
import { parseQuery } from "../../../src/domain/gateway/query.ts";
import {
  type Method,
  requestInfo,
  nameOfSelection,
  requiredAccess,
} from "../../../src/domain/gateway/request-info.ts";

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

const nameIn = (query: string) => nameOfSelection(parseQuery(query));

describe("a list or watch asks for", () => {
  it.each([
    ["?fieldSelector=metadata.name=a", "a"],
    ["?fieldSelector=metadata.name%3D%3Da", "a"],
    ["?fieldSelector=spec.nodeName=n,metadata.name=a", "a"],
    ["?fieldSelector=metadata.name=a,", "a"],
    ["?fieldSelector=metadata.name=a%5C,b", "a,b"],
    ["?fieldSelector=metadata.name=a%5C%5C", "a\\"],
    ["?fieldSelector=metadata.name=a%5C%3Db", "a=b"],
    ["?fieldSelector=metadata.name=", ""],
    ["?fieldSelector=metadata.name!=a", ""],
    ["?fieldSelector=metadata.name=a/b", ""],
    ["?fieldSelector=metadata.name=%252e", ""],
    ["?fieldSelector=metadata.name=..", ""],
    ["?fieldSelector=metadata.namespace=a", ""],
    ["?fieldSelector=", ""],
    ["?fieldselector=metadata.name=a", ""],
    ["?labelSelector=metadata.name=a", ""],
    ["", ""],
    ["?fieldSelector=metadata.name=a&limit=500&timeoutSeconds=30", "a"],
    ["?fieldSelector=metadata.name=a&labelSelector=app,!old,tier%20in%20(web,%20db),x.y/z!=1", "a"],
    ["?fieldSelector=metadata.name=a&labelSelector=", "a"],
  ])("%s the object %j", (query, name) => {
    expect(nameIn(query)).toBe(name);
  });

  it.each([
    ["two selectors", "?fieldSelector=metadata.name=a&fieldSelector=metadata.name=a"],
    ["two names", "?fieldSelector=metadata.name=a,metadata.name=b"],
    ["no operator", "?fieldSelector=metadata.name"],
    ["an equals sign in a value", "?fieldSelector=metadata.name=a=b"],
    ["an unknown escape", "?fieldSelector=metadata.name=a%5Cb"],
    ["an escape at the end", "?fieldSelector=metadata.name=a%5C"],
    ["bytes that are not UTF-8", "?fieldSelector=metadata.name=%ff"],
    ["a limit that is no number", "?fieldSelector=metadata.name=a&limit=-1"],
    ["a limit past 2^63", `?fieldSelector=metadata.name=a&limit=${"9".repeat(19)}`],
    ["a timeout that is no number", "?fieldSelector=metadata.name=a&timeoutSeconds=1s"],
    ["a label selector with two operators", "?fieldSelector=metadata.name=a&labelSelector=a==b=c"],
    ["a label that is too long", `?fieldSelector=metadata.name=a&labelSelector=${"a".repeat(64)}`],
    ["a selector of 5,000", `?fieldSelector=metadata.name=a&labelSelector=${"a,".repeat(2_500)}a`],
  ])("what kube-apiserver might read in another way: %s", (_what, query) => {
    expect(nameIn(query)).toMatchObject({ kind: "malformed" });
  });

  it("quotes nothing of the query", () => {
    const read = nameIn("?fieldSelector=canary&labelSelector=canary canary");
    expect(JSON.stringify(read)).not.toContain("canary");
  });

  it("is read in a moment, whatever the selector", () => {
    for (const selector of ["a".repeat(4_000), `${"a.".repeat(2_000)}!`, "a in (".repeat(600)]) {
      const began = performance.now();
      nameIn(`?fieldSelector=metadata.name=a&labelSelector=${encodeURIComponent(selector)}`);
      expect(performance.now() - began).toBeLessThan(200);
    }
  });
});

const pods = (subresource: string, verb = "get", changes: object = {}): ReviewedRequest => ({
  kind: "resource",
  verb,
  group: "",
  resource: "pods",
  subresource,
  namespace: "web",
  name: "a",
  ...changes,
});

describe("a scope has to allow", () => {
  it.each<[string, ReviewedRequest, boolean, readonly string[]]>([
    ["a plain request", pods(""), false, ["get"]],
    ["exec", pods("exec"), false, ["get", "create"]],
    ["exec by POST", pods("exec", "create"), false, ["create"]],
    ["attach", pods("attach"), true, ["get", "create"]],
    ["portforward", pods("portforward"), true, ["get", "create"]],
    ["portforward by PUT", pods("portforward", "update"), false, ["update", "create"]],
    ["an upgrade of anything", pods("log"), true, ["get", "create"]],
    ["an upgrade to a backend", pods("proxy"), true, ["get", "create"]],
    ["an upgrade by POST", pods("proxy", "create"), true, ["create"]],
    ["every subresource of a review", pods("*"), false, ["get", "create"]],
    ["exec of another group", pods("exec", "get", { group: "apps" }), false, ["get"]],
    ["exec of another resource", pods("exec", "get", { resource: "jobs" }), false, ["get"]],
  ])("for %s", (_what, request, isUpgrade, verbs) => {
    const required = requiredAccess(request, isUpgrade);
    expect(required).toEqual(verbs.map((verb) => ({ ...request, verb })));
  });

  it("for an upgrade of a path, the path alone", () => {
    const path: ReviewedRequest = { kind: "path", verb: "get", path: "/livez" };
    expect(requiredAccess(path, true)).toEqual([path]);
  });
});
