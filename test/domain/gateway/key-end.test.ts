import { describe, expect, test } from "vitest";
import { keyEndIn, mayEndKey, mostKeyEndBytes } from "../../../src/domain/gateway/key-end.ts";

describe("the body of a PATCH asks for", () => {
  const add = (path: string, value: unknown, op = "add") => ({ op, path, value });

  test.each<[what: string, body: unknown, end: object | undefined]>([
    ["the end, by a merge patch", { spec: { disabled: true } }, { disabled: true }],
    [
      "an earlier end",
      { spec: { ttl: 60, ttlAfterLastActivity: false } },
      { ttl: 60, ttlAfterLastActivity: false },
    ],
    ["the end, by a JSON Patch", [add("/spec/disabled", true)], { disabled: true }],
    [
      "an earlier end, by a JSON Patch",
      [add("/spec/ttl", 60, "replace"), add("/spec/disabled", true)],
      { ttl: 60, disabled: true },
    ],
    ["nothing", {}, undefined],
    ["no change", { spec: {} }, undefined],
    ["no operation", [], undefined],
    ["its life", { spec: { disabled: false } }, undefined],
    ["a removed field", { spec: { disabled: null } }, undefined],
    ["no end", { spec: { ttl: 0 } }, undefined],
    ["part of a second", { spec: { ttl: 0.5 } }, undefined],
    ["a text for a number", { spec: { ttl: "60" } }, undefined],
    ["an end that moves", { spec: { ttlAfterLastActivity: true } }, undefined],
    ["more than the end", { spec: { disabled: true, displayName: "a" } }, undefined],
    ["metadata, too", { spec: { disabled: true }, metadata: { labels: {} } }, undefined],
    ["an inherited name", { spec: { __proto__: null, constructor: true } }, undefined],
    ["a removal", [{ op: "remove", path: "/spec/disabled" }], undefined],
    ["a copy", [{ op: "copy", from: "/spec/key", path: "/spec/disabled" }], undefined],
    ["a test, too", [add("/spec/key", "a", "test"), add("/spec/disabled", true)], undefined],
    ["the whole spec", [add("/spec", { disabled: true })], undefined],
    ["a field of another object", [add("/metadata/disabled", true)], undefined],
    ["no object", "disabled", undefined],
    ["no operations", [null, 1], undefined],
  ])("%s", (_what, body, end) => {
    expect(keyEndIn(body)).toEqual(end);
  });
});

describe("the head of a request is that of the end of the own key", () => {
  const head = {
    request: {
      kind: "resource",
      verb: "patch",
      group: "management.service",
      resource: "ownedaccesskeys",
      subresource: "",
      name: "ci",
      namespace: "",
    },
    upstream: { kind: "management" },
    framing: { kind: "body", length: 28 },
    query: "?fieldManager=kubectl-patch&fieldValidation=Strict",
  } as const;
  const own = { name: "ci", uid: "u1" };

  test.each<[what: string, head: Parameters<typeof mayEndKey>[0], may: boolean]>([
    ["by its name", head, true],
    ["by its uid", { ...head, request: { ...head.request, name: "u1" } }, true],
    ["not with another name", { ...head, request: { ...head.request, name: "cd" } }, false],
    ["not with another verb", { ...head, request: { ...head.request, verb: "update" } }, false],
    ["not of its status", { ...head, request: { ...head.request, subresource: "status" } }, false],
    ["not of another kind", { ...head, request: { ...head.request, resource: "pods" } }, false],
    ["not of another group", { ...head, request: { ...head.request, group: "" } }, false],
    ["not of a path", { ...head, request: { kind: "path", verb: "patch", path: "/" } }, false],
    [
      "not in a connected cluster",
      { ...head, upstream: { kind: "cluster", cluster: "prod" } },
      false,
    ],
    ["not without a body", { ...head, framing: { kind: "none" } }, false],
    [
      "not with a body of any length",
      { ...head, framing: { kind: "body", length: undefined } },
      false,
    ],
    [
      "not with a large body",
      { ...head, framing: { kind: "body", length: mostKeyEndBytes + 1 } },
      false,
    ],
    ["not as a dry run", { ...head, query: "?dryRun=All" }, false],
    ["not with an unknown parameter", { ...head, query: "?a" }, false],
  ])("%s", (_what, asked, may) => {
    expect(mayEndKey(asked, own)).toBe(may);
  });
});
