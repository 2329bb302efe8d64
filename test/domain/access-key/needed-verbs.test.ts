import { describe, expect, test } from "vitest";
import { neededVerbs } from "../../../src/domain/access-key/needed-verbs.ts";

const name = (suffix: string) => `management.service/${suffix}`;
const secret = (metadata: object = {}, spec: object = {}) => ({
  kind: "SharedSecret",
  metadata: { name: "db", ...metadata },
  spec,
});
const namespace = (labels: object) => ({ kind: "Namespace", metadata: { name: "web-1", labels } });
const offering = (projects: string, others: object = {}) =>
  secret({ annotations: { [name("sync-to-projects")]: projects, ...others } });

type Object = Readonly<Record<string, unknown>>;

function needed(object: Object, oldObject?: Object): readonly string[] {
  return neededVerbs({ namespace: "web-1", object, oldObject }).map(
    (one) =>
      `${one.verb} ${one.resource}${one.name === "" ? "" : ` ${one.name}`}${one.namespace === "" ? "" : ` in ${one.namespace}`}`,
  );
}

describe("a change of a SharedSecret needs", () => {
  const deleting = ["delete sharedsecrets db in web-1"];
  const held = secret({ finalizers: [name("cleanup"), "x"] });

  test.each<[string, Object, Object | undefined, readonly string[]]>([
    [
      "nothing for data",
      secret({}, { data: { a: "Yg==" } }),
      secret({}, { data: { a: "YQ==" } }),
      [],
    ],
    [
      "nothing for texts and labels",
      secret({ labels: { a: "b" } }, { displayName: "b" }),
      secret(),
      [],
    ],
    ["delete for access", secret({}, { access: [{ name: "a" }] }), secret(), deleting],
    ["delete for less access", secret(), secret({}, { access: [{ name: "a" }] }), deleting],
    ["nothing for an empty list in the place of none", secret({}, { access: [] }), secret(), []],
    [
      "delete for the owner",
      secret({}, { owner: { user: "eve" } }),
      secret({}, { owner: { user: "ann" } }),
      deleting,
    ],
    [
      "delete for an owner reference",
      secret({ ownerReferences: [{ uid: "u" }] }),
      secret(),
      deleting,
    ],
    ["delete for Latchkey's finalizer", secret({ finalizers: ["x"] }), held, deleting],
    ["nothing for another finalizer", secret({ finalizers: [name("cleanup")] }), held, []],
    [
      "delete for another name of the copies, and share for each project",
      offering("web, pay", { [name("sync-secret-name")]: "other" }),
      offering("web, pay"),
      [...deleting, "share projects web", "share projects pay"],
    ],
    [
      "delete for a copy- annotation, and share for each project",
      offering("web", { [name("copy-labels")]: "a" }),
      offering("web"),
      [...deleting, "share projects web"],
    ],
    [
      "delete and share for a project more",
      offering("web,pay"),
      offering("web"),
      [...deleting, "share projects pay"],
    ],
    ["delete for a project less", offering("web"), offering("web,pay"), deleting],
    [
      "nothing for refresh-now and a pause",
      offering("web", { [name("refresh-now")]: "1", [name("disable-sync")]: "true" }),
      offering("web"),
      [],
    ],
    [
      "share for the projects of a new one",
      offering("web,,pay, web"),
      undefined,
      ["share projects web", "share projects pay"],
    ],
    ["nothing for a list that the policy refuses", offering("web\npay"), undefined, []],
    ["share for all projects for a glob", offering("web-*, *"), undefined, ["share projects"]],
    [
      "nothing for a new one that offers itself to nobody",
      secret({}, { access: [{ name: "a" }] }),
      undefined,
      [],
    ],
  ])("%s", (_rule, object, oldObject, verbs) => {
    expect(needed(object, oldObject)).toEqual(verbs);
  });
});

describe("a change of a Namespace needs", () => {
  const web = { [name("project")]: "web" };

  test.each<[string, Object, Object | undefined, readonly string[]]>([
    ["nothing without Latchkey's labels", namespace({ a: "b" }), namespace({}), []],
    ["assign for a new one in a project", namespace(web), undefined, ["assign projects web"]],
    [
      "assign for another project, on that one",
      namespace({ [name("project")]: "pay" }),
      namespace(web),
      ["assign projects pay"],
    ],
    ["nothing to leave a project", namespace({}), namespace(web), []],
    [
      "assign for a space",
      namespace({ ...web, [name("space")]: "s" }),
      namespace(web),
      ["assign projects web"],
    ],
    [
      "assign for a virtual cluster less",
      namespace(web),
      namespace({ ...web, [name("virtual-cluster")]: "v" }),
      ["assign projects web"],
    ],
    [
      "assign on the project that it leaves with its space",
      namespace({}),
      namespace({ ...web, [name("space")]: "s" }),
      ["assign projects web"],
    ],
    [
      "assign on both for another project and another space at once",
      namespace({ [name("project")]: "pay", [name("space")]: "s" }),
      namespace(web),
      ["assign projects pay", "assign projects web"],
    ],
    [
      "assign on all projects for a space in none",
      namespace({ [name("space")]: "s" }),
      undefined,
      ["assign projects"],
    ],
  ])("%s", (_rule, object, oldObject, verbs) => {
    expect(needed(object, oldObject)).toEqual(verbs);
  });
});

test("a change of an access key needs nothing here: policies refuse it with a key", () => {
  expect(
    needed({ kind: "OwnedAccessKey", metadata: { name: "k" }, spec: { user: "alice" } }),
  ).toEqual([]);
});
