import { load } from "js-yaml";
import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../../src/api/access-review.ts";
import { apiVersion, group } from "../../../src/api/names.ts";
import {
  bodyFormat,
  completedBody,
  kindInBody,
  withDefaultNamespace,
} from "../../../src/domain/gateway/object-defaults.ts";

const own = `/kubernetes/management/apis/${apiVersion}`;

describe("an empty namespace means default", () => {
  it.each([
    ["GET", "namespaces//sharedsecrets", "namespaces/default/sharedsecrets"],
    ["GET", "namespaces//sharedsecrets/a?b=c", "namespaces/default/sharedsecrets/a?b=c"],
    ["GET", "sharedsecrets/a", "namespaces/default/sharedsecrets/a"],
    ["DELETE", "sharedsecrets/a?b", "namespaces/default/sharedsecrets/a?b"],
    ["POST", "sharedsecrets", "namespaces/default/sharedsecrets"],
    ["POST", "sharedsecrets?dryRun=All", "namespaces/default/sharedsecrets?dryRun=All"],
  ])("%s %s is %s", (method, sent, meant) => {
    expect(withDefaultNamespace(method, `${own}/${sent}`)).toBe(`${own}/${meant}`);
  });

  it.each([
    ["GET", `${own}/sharedsecrets`],
    ["DELETE", `${own}/sharedsecrets?a=b`],
    ["GET", `${own}/sharedsecrets/`],
    ["GET", `${own}/sharedsecretsx/a`],
    ["GET", `${own}/namespaces/web/sharedsecrets/a`],
    ["GET", `${own}/namespaces//ownedaccesskeys/a`],
    ["POST", `${own}/ownedaccesskeys`],
    ["GET", `/kubernetes/management/apis/other/v1/sharedsecrets/a`],
    ["GET", `/kubernetes/cluster/a/apis/${apiVersion}/sharedsecrets/a`],
  ])("for nothing else: %s %s", (method, sent) => {
    expect(withDefaultNamespace(method, sent)).toBe(sent);
  });
});

const request = (changes: object = {}): ReviewedRequest => ({
  kind: "resource",
  verb: "create",
  group,
  resource: "directclusterendpointtokens",
  subresource: "",
  namespace: "",
  name: "",
  ...changes,
});

describe("a body has a kind that the gateway knows", () => {
  it.each([
    [{}, "DirectClusterEndpointToken"],
    [{ resource: "sharedsecrets", verb: "update" }, "SharedSecret"],
    [{ resource: "ownedaccesskeys" }, "OwnedAccessKey"],
    [{ verb: "patch" }, "DirectClusterEndpointToken"],
    [{ verb: "patch", subresource: "status" }, "DirectClusterEndpointToken"],
    [{ subresource: "scale" }, undefined],
    [{ verb: "delete" }, undefined],
    [{ group: "" }, undefined],
    [{ resource: "others" }, undefined],
  ])("of %j: %s", (changes, kind) => {
    expect(kindInBody(request(changes))).toBe(kind);
  });

  it("not of a path", () => {
    expect(kindInBody({ kind: "path", verb: "post", path: "/" })).toBeUndefined();
  });

  it.each([
    ["create", undefined, "json"],
    ["create", "application/json", "json"],
    ["update", "Application/JSON; charset=utf-8", "json"],
    ["update", "application/yaml", "yaml"],
    ["create", "application/vnd.kubernetes.protobuf", undefined],
    ["create", "application/cbor", undefined],
    ["create", "application/apply-patch+yaml", undefined],
    ["create", "text/plain", undefined],
    ["create", "application/jsonx", undefined],
    ["create", "", undefined],
    ["patch", "application/apply-patch+yaml", "apply"],
    ["patch", "application/apply-patch+yaml; charset=utf-8", "apply"],
    ["patch", "application/merge-patch+json", "merge-patch"],
    ["patch", "application/json-patch+json", "json-patch"],
    ["patch", "application/strategic-merge-patch+json", undefined],
    ["patch", "application/apply-patch+cbor", undefined],
    ["patch", "application/json", undefined],
    ["patch", undefined, undefined],
  ])("of %s in the format %s: %s", (verb, contentType, format) => {
    expect(bodyFormat(verb, contentType)).toBe(format);
  });
});

const kind = "SharedSecret";
const json = (text: string) => completedBody(text, { format: "json", kind });
const yaml = (text: string) => completedBody(text, { format: "yaml", kind });
const both = { apiVersion, kind };

describe("a body without apiVersion or kind gets them", () => {
  it.each([
    ['{"spec":{"a":1}}', { ...both, spec: { a: 1 } }],
    ["{}", both],
    [' \n{ "a" : 1 }\n', { ...both, a: 1 }],
    ['{"kind":"SharedSecret"}', both],
    [`{"apiVersion":"${apiVersion}","a":{"kind":"x"}}`, { ...both, a: { kind: "x" } }],
  ])("as JSON: %s", (text, object) => {
    const completed = json(text);
    expect(completed.kind === "body" && JSON.parse(completed.text)).toEqual(object);
  });

  it.each([
    ["spec:\n  a: 1\n", { ...both, spec: { a: 1 } }],
    ["---\nspec: {}\n", { ...both, spec: {} }],
    ["# comment\n%YAML 1.2\n--- # document\nspec: {}\n", { ...both, spec: {} }],
    ["kind: SharedSecret\n", both],
    ["# a\r\n#b\r\n---\r\nkind: SharedSecret\r\n", both],
    ["{spec: {}, kind: SharedSecret}", { ...both, spec: {} }],
    ['"kind" : SharedSecret\nspec:\n  apiVersion: x\n', { ...both, spec: { apiVersion: "x" } }],
    ["{spec: {a: 1}}\n", { ...both, spec: { a: 1 } }],
    ['{"spec": {}}', { ...both, spec: {} }],
    ["\ufeffspec: {}\n", { ...both, spec: {} }],
    ["---\n{spec: {}}\n", { ...both, spec: {} }],
    ["# comment\n{spec: {}}\n", { ...both, spec: {} }],
    ["--- {spec: {}}\n", { ...both, spec: {} }],
    ["--- # a\n# b\n{spec: {}}\n", { ...both, spec: {} }],
    ["", both],
  ])("as YAML: %j", (text, object) => {
    const completed = yaml(text);
    expect(completed.kind === "body" && load(completed.text.replace("\ufeff", ""))).toEqual(object);
  });

  it.each([
    `{"kind":"x","apiVersion":"y","n":12345678901234567890,"a":1,"a":2}`,
    `{"kind":"","apiVersion":null}`,
    `{"\\u006bind":"x"}`,
  ])("and is left as it is if it has them: %s", (text) => {
    expect(json(text)).toEqual({ kind: "body", text });
    expect(yaml(text)).toEqual({ kind: "body", text });
  });

  it.each(["[]", "1", '"canary"', "null", "{", "canary", ""])(
    "and is refused without its words if it is no JSON object: %j",
    (text) => {
      const completed = json(text);
      expect(completed.kind).toBe("malformed");
      expect(JSON.stringify(completed)).not.toContain("canary");
    },
  );
});
