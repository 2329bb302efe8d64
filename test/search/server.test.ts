import { describe, expect, it } from "vitest";
import { type Resource, resources } from "../../src/api/resources.ts";
import type { KubeError } from "../../src/kube/client/kube-error.ts";
import * as servers from "./server.ts";
import { eventOf } from "./view.ts";

const { secrets, sharedSecrets, roleBindings } = resources;
const ref = { namespace: "web", name: "db" };
const server = servers.serverOf(0, [
  ["namespaces", { metadata: { name: "web" } }],
  ["namespaces", { metadata: { name: "full" } }],
  [
    "resourcequotas",
    { metadata: { namespace: "full", name: "all" }, spec: { hard: { secrets: "0" } } },
  ],
  ["secrets", { metadata: ref, type: "Opaque", data: { a: "YQ==" }, immutable: true }],
  ["sharedsecrets", { metadata: { ...ref, finalizers: ["x"] }, spec: { data: {} } }],
  ["rolebindings", { metadata: ref, roleRef: { kind: "Role", name: "a" } }],
]);
const terminating = servers.userDelete(server, "namespaces", { name: "web" }).server;
const { uid, resourceVersion } = server.objects.get("secrets/web/db")?.metadata ?? {};
const current = {
  metadata: { ...ref, uid, resourceVersion },
  type: "Opaque",
  data: { a: "YQ==" },
  immutable: true,
};

function errorOf(call: servers.Call, at = server): KubeError | undefined {
  const { outcome } = servers.handle(at, call);
  return "error" in outcome ? outcome.error : undefined;
}

function created(metadata: object, fields: object = {}): servers.Call {
  const object = { metadata: { ...ref, ...metadata }, ...fields };
  return { verb: "create", resource: secrets, object };
}

function replaced(changes: object, resource: Resource = secrets): servers.Call {
  return { verb: "replace", resource, object: { ...current, ...changes } };
}

function patched(version: string, status: object): servers.Call {
  const body = { metadata: { resourceVersion: version, labels: { x: "" } }, status };
  return { verb: "patch", resource: sharedSecrets, ref, patch: { subresource: "status", body } };
}

describe("a refused request", () => {
  const none = { namespace: "none" };
  it.each<[what: string, call: servers.Call, expected: object, at?: servers.Server]>([
    [
      "names a missing object",
      { verb: "get", resource: secrets, ref: { ...ref, name: "x" } },
      { code: "NotFound", objectName: "x" },
    ],
    ["names a missing namespace", created(none), { code: "NotFound", objectName: "none" }],
    [
      "says that the namespace is terminating",
      created({}),
      { code: "Forbidden", causes: ["NamespaceTerminating"] },
      terminating,
    ],
    ["says that the object exists", created({}), { code: "AlreadyExists" }],
    [
      "says that the quota is exceeded",
      created({ namespace: "full" }),
      { code: "Forbidden", explanation: expect.stringContaining("exceeded quota") },
    ],
    [
      "says that data is missing",
      created({ name: "x" }, { type: "kubernetes.io/tls" }),
      { code: "Invalid" },
    ],
    [
      "has an old version",
      replaced({ metadata: { ...ref, resourceVersion: "1" } }),
      { code: "Conflict" },
    ],
    ["has another uid", replaced({ metadata: { ...ref, uid: "x" } }), { code: "Conflict" }],
    ["changes immutable data", replaced({ data: {} }), { code: "Invalid" }],
    ["unseals a Secret", replaced({ immutable: false }), { code: "Invalid" }],
    ["changes a type", replaced({ type: "x" }), { code: "Invalid" }],
    [
      "changes a roleRef",
      replaced({ metadata: ref, roleRef: { kind: "Role", name: "b" } }, roleBindings),
      { code: "Invalid" },
    ],
    ["patches an old version", patched("1", {}), { code: "Conflict" }],
    [
      "deletes another object",
      { verb: "delete", resource: secrets, ref, preconditions: { uid: "x" } },
      { code: "Conflict" },
    ],
  ])("%s", (_, call, expected, at) => {
    expect(errorOf(call, at)).toMatchObject(expected);
  });
});

describe("a write", () => {
  it("that changes nothing has no version", () => {
    expect(servers.handle(server, replaced({})).change).toBeUndefined();
  });

  it("of a status keeps the metadata, the spec and the generation", () => {
    const { metadata, spec } = server.objects.get("sharedsecrets/web/db") ?? {};
    const { change } = servers.handle(
      server,
      patched(metadata?.resourceVersion ?? "", { keys: 1 }),
    );
    expect(change?.after).toMatchObject({ spec, status: { observedGeneration: -1, keys: 1 } });
    expect(change?.after?.metadata).toEqual({
      ...metadata,
      resourceVersion: String(change?.version),
    });
  });

  it("of a spec counts the generation", () => {
    const object = { metadata: ref, spec: { data: { a: "YQ==" } } };
    expect(
      servers.userWrite(server, "sharedsecrets", object).change?.after?.metadata.generation,
    ).toBe(2);
  });

  it("that removes the last finalizer of a deleted object removes it", () => {
    const deleted = servers.userDelete(server, "sharedsecrets", ref);
    expect(deleted.change?.after?.metadata.deletionTimestamp).toBe("1970-01-01T00:00:00Z");
    const released = servers.userWrite(deleted.server, "sharedsecrets", {
      metadata: { ...ref, finalizers: [] },
    });
    expect(released.server.objects.has("sharedsecrets/web/db")).toBe(false);
  });

  it("after a delete gives another uid", () => {
    const { server: without } = servers.userDelete(server, "secrets", ref);
    const again = servers.handle(without, created({}));
    expect(again.change?.after?.metadata.uid).not.toBe(uid);
    expect(servers.restored(again.server, server).objects.get("secrets/web/db")?.metadata.uid).toBe(
      uid,
    );
  });

  it("out of a selection is a DELETED event with its version", () => {
    const selection = { resource: secrets, labelSelector: "!left" };
    const object = { metadata: { ...ref, labels: { left: "" } } };
    const { change } = servers.userWrite(server, "secrets", object);
    const event = change && eventOf(selection, change);
    expect(event).toMatchObject({ type: "DELETED", object: { metadata: { uid } } });
    expect(event?.object.metadata.resourceVersion).toBe(String(change?.version));
  });
});

it("a terminating namespace loses its content, and then goes", () => {
  let state = terminating;
  const removed: string[] = [];
  for (const id of [...state.objects.keys()].reverse()) {
    const handled = servers.namespaceStep(state, id);
    if (handled?.change?.after === undefined && handled !== undefined) removed.push(id);
    state = handled?.server ?? state;
  }
  expect(removed.toSorted()).toEqual(["rolebindings/web/db", "secrets/web/db"]);
  state = servers.userWrite(state, "sharedsecrets", {
    metadata: { ...ref, finalizers: [] },
  }).server;
  expect(servers.namespaceStep(state, "namespaces/web")?.server.objects.has("namespaces/web")).toBe(
    false,
  );
});
