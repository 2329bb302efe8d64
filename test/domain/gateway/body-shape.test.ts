import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shapeProblem } from "../../../src/domain/gateway/body-shape.ts";
import { runs } from "../../support/property-runs.ts";

const canary = "canary-7d1f0e";
const formats = ["json", "yaml", "apply", "merge-patch"] as const;
const [shared, key, token] = ["SharedSecret", "OwnedAccessKey", "DirectClusterEndpointToken"];

/** A body of a wrong shape, the path of a JSON patch that makes it, and what is said of it. */
const wrongBodies: readonly (readonly [
  kind: string,
  path: readonly string[],
  value: unknown,
  says: string,
])[] = [
  [shared, ["spec", "data", "a"], [canary], "spec.data.a: must be a string, and is a list;"],
  [shared, ["spec", "data", "a"], { b: canary }, "spec.data.a: must be a string, and is an object"],
  [shared, ["spec", "data", "a.b/c"], [canary], "spec.data.a.b/c: must be a string"],
  [shared, ["spec", "data", "with space"], [canary], "spec.data.*: must be a string"],
  [shared, ["spec", "data", "__proto__"], [canary], "spec.data.__proto__: must be a string"],
  [shared, ["spec", "data"], canary, "spec.data: must be an object, and is a string;"],
  [shared, ["spec", "data"], [canary], "spec.data: must be an object, and is a list"],
  [shared, ["spec", "data"], 314159, "spec.data: must be an object, and is a number"],
  [shared, ["spec", "data"], true, "spec.data: must be an object, and is a boolean"],
  [shared, ["spec"], canary, "spec: must be an object"],
  [shared, ["spec"], [canary], "spec: must be an object"],
  [shared, ["spec"], { data: { a: [canary] } }, "spec.data.a: must be a string"],
  [key, ["spec", "key"], [canary], "spec.key: must be a string, and is a list"],
  [key, ["spec", "key"], { value: canary }, "spec.key: must be a string, and is an object"],
  [key, ["spec", "identity", "connectorData"], [canary], "spec.identity.connectorData: must be"],
  [key, ["spec", "identity"], [canary], "spec.identity: must be an object"],
  [key, ["spec", "identity"], { connectorData: {} }, "spec.identity.connectorData: must be"],
  [key, ["spec", "oidcLogin", "refreshToken"], [canary], "spec.oidcLogin.refreshToken: must be"],
  [key, ["spec", "oidcLogin"], canary, "spec.oidcLogin: must be an object"],
  [key, ["spec"], { key: { a: canary } }, "spec.key: must be a string"],
  [token, ["status", "token"], [canary], "status.token: must be a string"],
  [token, ["status"], canary, "status: must be an object"],
  ...[shared, key, token].flatMap((kind) => [
    ...([
      [kind, ["metadata"], canary, "metadata: must be an object"],
      [
        kind,
        ["metadata", "labels", "a"],
        1,
        "metadata.labels.a: must be a string, and is a number",
      ],
      [kind, ["metadata", "labels"], [canary], "metadata.labels: must be an object"],
      [kind, ["metadata", "annotations", "a"], true, "metadata.annotations.a: must be a string"],
      [kind, ["metadata", "name"], 1, "metadata.name: must be a string"],
      [kind, ["metadata", "finalizers"], "a", "metadata.finalizers: must be a list"],
      [kind, ["kind"], null, "kind: must be a string that is not empty, and is missing or null"],
      [kind, ["kind"], "", "kind: must be a string that is not empty, and is empty"],
      [kind, ["apiVersion"], 1, "apiVersion: must be a string that is not empty, and is a number"],
    ] as const),
  ]),
];

const objectWith = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight((inner: unknown, name) => ({ [name]: inner }), value);
const pointer = (path: readonly string[]): string =>
  path.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

describe("a body that kube-apiserver would repeat is refused", () => {
  it.each(wrongBodies)("of %s at %j with %j: %s", (kind, path, value, says) => {
    // A literal would set the prototype.
    const body: unknown = JSON.parse(JSON.stringify(objectWith(path, value)));
    for (const format of formats) expect(shapeProblem(body, { kind, format })).toContain(says);
    for (const op of ["add", "replace", "test"]) {
      const patch = [
        { op: "test", path: "/a" },
        { op, path: pointer(path), value },
      ];
      expect(shapeProblem(patch, { kind, format: "json-patch" })).toContain(says);
    }
    expect(shapeProblem(body, { kind, format: "apply" })).not.toContain(canary);
  });

  it.each([
    [[], "the body of the request: must be an object, and is a list"],
    [canary, "the body of the request: must be an object, and is a string"],
  ])("as %j: %s", (body, says) => {
    for (const format of formats)
      expect(shapeProblem(body, { kind: shared, format })).toContain(says);
  });

  const named = { apiVersion: "a", kind: "b" };
  it.each<[object, string]>([
    [{ op: "replace", path: "", value: [canary] }, "the body of the request: must be an object"],
    [{ op: "replace", path: "", value: { spec: {} } }, "apiVersion: must be a string"],
    [{ op: "replace", path: "", value: { ...named, spec: canary } }, "spec: must be an object"],
    [{ op: "remove", path: "/kind" }, "kind: must be a string"],
    [{ op: "add", path: "/kind" }, "kind: must be a string"],
    [{ op: "move", from: "/apiVersion", path: "/spec/b" }, "apiVersion: must be a string"],
    [{ op: "add", path: "/spec/data/a/b", value: canary }, "spec.data.a: must be a string"],
    // kube-apiserver ignores what is before the first slash.
    [{ op: "add", path: "a/spec/data", value: canary }, "spec.data: must be an object"],
    [{ op: "add", path: `/spec/data${"/a".repeat(100)}`, value: canary }, "spec.data.a: must be"],
  ])("of a JSON patch: %j", (operation, says) => {
    const problem = shapeProblem([operation], { kind: shared, format: "json-patch" });
    expect(problem).toContain(says);
  });
});

describe("a body passes", () => {
  const good = {
    apiVersion: "management.service/v1",
    kind: "a",
    metadata: { name: "a", labels: { a: "b" }, annotations: null, finalizers: ["a"] },
    spec: { key: "k", data: { a: "YQ==", b: null, c: 1 }, identity: { connectorData: "" }, x: [1] },
    status: { token: "t", conditions: [{}] },
  };
  it.each([shared, key, token, "Other"])("of %s with what has to be there", (kind) => {
    for (const format of formats) expect(shapeProblem(good, { kind, format })).toBeUndefined();
    const patch = [{ op: "replace", path: "", value: good }];
    expect(shapeProblem(patch, { kind, format: "json-patch" })).toBeUndefined();
  });

  it.each([undefined, null, {}, { spec: null }, { spec: { data: null, key: null } }])(
    "that has nothing there: %j",
    (body) => {
      for (const kind of [shared, key, token])
        for (const format of formats) expect(shapeProblem(body, { kind, format })).toBeUndefined();
    },
  );

  it.each<unknown>([
    undefined,
    { op: "add" },
    [null, 1, "a", [], { path: 1 }, { op: "add" }],
    [{ op: "add", path: "/metadata/finalizers/-", value: "a" }],
    [{ op: "add", path: "/metadata/ownerReferences/0/uid", value: "a" }],
    [{ op: "remove", path: "/spec/data" }],
    [{ op: "remove", path: "/spec/data/a" }],
    [{ op: "remove", path: "/metadata/labels/a" }],
    [{ op: "add", path: "/spec/data", value: {} }],
    [{ op: "add", path: "/spec/data/a", value: "YQ==" }],
    [{ op: "add", path: "/spec/access/0/users", value: ["a"] }],
    [{ op: "move", from: "/spec/data/a", path: "/spec/data/b" }],
    [{ op: "copy", from: "/kind", path: "/metadata/labels/kind" }],
    [{ op: "add", path: "kind", value: null }],
    [{ op: "add", path: "/spec/d~0ata", value: { a: [] } }],
    [{ op: "add", path: "/constructor/name", value: [] }],
  ])("of a JSON patch: %j", (body) => {
    expect(shapeProblem(body, { kind: shared, format: "json-patch" })).toBeUndefined();
  });

  it("only if secrets are where the schema has them, and no sentence has a value", () => {
    const name = fc.constantFrom("spec", "data", "key", "identity", "connectorData", "a");
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        fc.constantFrom(canary, `${canary}!`),
        fc.array(tie("tree"), { maxLength: 2 }),
        fc.dictionary(name, tie("tree"), { maxKeys: 4 }),
      ),
    }));
    const at = (value: unknown, ...names: readonly string[]): unknown =>
      names.reduce(
        (inner, each) =>
          typeof inner === "object" && inner !== null && !Array.isArray(inner)
            ? (Object.getOwnPropertyDescriptor(inner, each)?.value as unknown)
            : undefined,
        value,
      );
    const isText = (value: unknown) => typeof value !== "object";
    const isMap = (value: unknown) =>
      value === undefined || (typeof value === "object" && !Array.isArray(value));
    const isGood = {
      [shared]: (body: unknown) =>
        isMap(at(body, "spec")) &&
        isMap(at(body, "spec", "data")) &&
        Object.values(at(body, "spec", "data") ?? {}).every(isText),
      [key]: (body: unknown) =>
        isMap(at(body, "spec")) &&
        isText(at(body, "spec", "key")) &&
        isMap(at(body, "spec", "identity")) &&
        isText(at(body, "spec", "identity", "connectorData")),
    };
    fc.assert(
      fc.property(fc.dictionary(name, tree, { maxKeys: 4 }), (body) => {
        for (const [kind, judge] of Object.entries(isGood)) {
          const problem = shapeProblem(body, { kind, format: "apply" });
          expect(problem === undefined).toBe(judge(body));
          expect(problem ?? "").not.toContain(canary);
          // A JSON patch that puts the same there says the same.
          const patch = Object.entries(body).map(([path, value]) => ({
            op: "add",
            path: `/${path}`,
            value,
          }));
          expect(shapeProblem(patch, { kind, format: "json-patch" })).toBe(problem);
        }
      }),
      runs(300),
    );
  });
});
