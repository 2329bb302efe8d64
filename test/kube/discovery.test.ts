import { expect, test } from "vitest";
import { createDiscovery } from "../../src/kube/discovery.ts";
import type { Call } from "../../src/kube/transport.ts";

const lists: Readonly<Record<string, unknown>> = {
  "/api/v1": { resources: [{ name: "pods/binding", kind: "Binding", namespaced: true }, { name: "bindings", kind: "Binding", namespaced: true }, { name: "namespaces", kind: "Namespace", namespaced: false }] },
  "/apis/apps/v1": { resources: [{ name: "deployments", kind: "Deployment", namespaced: true }] },
};

/** Answers as kube-apiserver does; the webhook's tests ask a real one. */
const discovery = createDiscovery({
  async request({ path }: Call) {
    if (path === "/apis/broken/v1") return { status: 500, text: "{}" };
    const list = lists[path];
    return list === undefined ? { status: 404, text: "{}" } : { status: 200, text: JSON.stringify(list) };
  },
});

test.each<[string, string, string, unknown]>([
  ["of the core group", "v1", "Namespace", { group: "", plural: "namespaces", namespaced: false }],
  ["of another group", "apps/v1", "Deployment", { group: "apps", plural: "deployments", namespaced: true }],
  ["that a subresource has, too", "v1", "Binding", { group: "", plural: "bindings", namespaced: true }],
  ["that is not served", "apps/v1", "Nothing", undefined],
  ["of a group that is not served", "nowhere/v1", "Nothing", undefined],
  ["of a path that leads elsewhere", "../v1", "Namespace", undefined],
])("a kind %s", async (_what, version, kind, served) => {
  expect(await discovery.kindOf(version, kind)).toEqual(served);
});

test("an API server that fails is no answer", async () => {
  await expect(discovery.kindOf("broken/v1", "Nothing")).rejects.toThrow("500");
});
