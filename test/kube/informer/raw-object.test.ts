import { expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { selects } from "../../../src/kube/informer/raw-object.ts";

const secret = {
  type: "Opaque",
  metadata: { namespace: "team", name: "db", labels: { app: "web", tier: "" } },
};

test.for<[string, Omit<Parameters<typeof selects>[0], "resource">, boolean]>([
  ["everything", {}, true],
  ["a namespace", { namespace: "team" }, true],
  ["another namespace", { namespace: "other" }, false],
  ["a label", { labelSelector: "app" }, true],
  ["a label with an empty value", { labelSelector: "tier" }, true],
  ["a missing label", { labelSelector: "zone" }, false],
  ["a value", { labelSelector: "app=web" }, true],
  ["another value", { labelSelector: "app=api" }, false],
  ["a value of a missing label", { labelSelector: "zone=web" }, false],
  ["the absence of a label", { labelSelector: "!zone" }, true],
  ["the absence of a label that is there", { labelSelector: "!app" }, false],
  ["two requirements", { labelSelector: "app=web,!zone" }, true],
  ["two requirements, one of which fails", { labelSelector: "app=web,zone" }, false],
  ["a type", { fieldSelector: "type=Opaque" }, true],
  ["another type", { fieldSelector: "type=kubernetes.io/tls" }, false],
  ["a name", { fieldSelector: "metadata.name=db" }, true],
  ["another name", { fieldSelector: "metadata.name=other" }, false],
])("a selection of %s", ([, selection, expected]) => {
  expect(selects({ resource: resources.secrets, ...selection }, secret)).toBe(expected);
});

test("a field selector of an empty name or type matches only an object without one", () => {
  const options = { resource: resources.secrets, fieldSelector: "metadata.name=" };
  expect([selects(options, { metadata: {} }), selects(options, secret)]).toEqual([true, false]);
});
