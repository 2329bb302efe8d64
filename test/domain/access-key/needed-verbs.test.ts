import { describe, expect, test } from "vitest";
import { neededVerbs } from "../../../src/domain/access-key/needed-verbs.ts";

const name = (suffix: string) => `management.service/${suffix}`;
const secret = (metadata: object = {}, spec: object = {}) => ({
  kind: "SharedSecret",
  metadata: { name: "db", ...metadata },
  spec,
});
const clusters = name("sync-to-clusters");
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

describe("a change of a SharedSecret requires", () => {
  const deleting = ["delete sharedsecrets db in web-1"];
  const withFinalizer = secret({ finalizers: [name("cleanup"), "x"] });
  const named = (count: number) => Array.from({ length: count }, (_, at) => `p${at}`);

  test.each<[string, Object, Object | undefined, readonly string[]]>([
    [
      "nothing for data",
      secret({}, { data: { a: "Yg==" } }),
      secret({}, { data: { a: "YQ==" } }),
      [],
    ],
    [
      "nothing for display names and labels",
      secret({ labels: { a: "b" } }, { displayName: "b" }),
      secret(),
      [],
    ],
    ["delete for access", secret({}, { access: [{ name: "a" }] }), secret(), deleting],
    [
      "delete for a removed access rule",
      secret(),
      secret({}, { access: [{ name: "a" }] }),
      deleting,
    ],
    [
      "nothing for an empty list of access rules instead of none",
      secret({}, { access: [] }),
      secret(),
      [],
    ],
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
    ["delete for Latchkey's finalizer", secret({ finalizers: ["x"] }), withFinalizer, deleting],
    ["nothing for another finalizer", secret({ finalizers: [name("cleanup")] }), withFinalizer, []],
    [
      "delete for another target name, and share for each project",
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
      "delete and share for an added project",
      offering("web,pay"),
      offering("web"),
      [...deleting, "share projects pay"],
    ],
    ["delete for a removed project", offering("web"), offering("web,pay"), deleting],
    [
      "nothing for refresh-now and disable-sync",
      offering("web", { [name("refresh-now")]: "1", [name("disable-sync")]: "true" }),
      offering("web"),
      [],
    ],
    [
      "share for the projects of a new SharedSecret",
      offering("web,,pay, web"),
      undefined,
      ["share projects web", "share projects pay"],
    ],
    [
      "share for a list of lines",
      offering("web\n  pay\r\n"),
      undefined,
      ["share projects web", "share projects pay"],
    ],
    ["nothing for a list that the policy rejects", offering("web pay"), undefined, []],
    ["share for all projects for a glob", offering("web-*, *"), undefined, ["share projects"]],
    [
      "share for each of 16 projects",
      offering(named(16).join()),
      undefined,
      named(16).map((project) => `share projects ${project}`),
    ],
    [
      "share for all projects for more than 16 names",
      offering(named(17).join()),
      undefined,
      ["share projects"],
    ],
    [
      "share for all projects for more than 16 entries, as the policy counts them",
      offering([...named(16), "p0"].join()),
      undefined,
      ["share projects"],
    ],
    [
      "share for each added project if at most 16 of them are new",
      offering(named(18).join()),
      offering(named(16).join()),
      [...deleting, "share projects p16", "share projects p17"],
    ],
    [
      "share for the clusters of a new SharedSecret",
      offering("web", { [clusters]: "east,, west" }),
      undefined,
      ["share projects web", "share clusters east", "share clusters west"],
    ],
    [
      "delete, share for an added cluster, and share for each project",
      offering("web, pay", { [clusters]: "east, west" }),
      offering("web, pay", { [clusters]: "east" }),
      [...deleting, "share projects web", "share projects pay", "share clusters west"],
    ],
    [
      "delete, share for an added project, and share for each cluster",
      offering("web, pay", { [clusters]: "east, west" }),
      offering("web", { [clusters]: "east, west" }),
      [...deleting, "share projects pay", "share clusters east", "share clusters west"],
    ],
    [
      "share for each cluster, too, if the copies change",
      offering("web", { [clusters]: "east", [name("copy-labels")]: "a" }),
      offering("web", { [clusters]: "east" }),
      [...deleting, "share projects web", "share clusters east"],
    ],
    [
      "only delete for a removed cluster",
      offering("web", { [clusters]: "east" }),
      offering("web", { [clusters]: "east, west" }),
      deleting,
    ],
    [
      "share for all clusters for *",
      offering("web", { [clusters]: "*" }),
      undefined,
      ["share projects web", "share clusters"],
    ],
    [
      "no share for clusters for a list that the policy rejects",
      offering("web", { [clusters]: "east-*" }),
      undefined,
      ["share projects web"],
    ],
    [
      "no share for clusters for more than 16, which the policy rejects",
      offering("web", { [clusters]: named(17).join() }),
      undefined,
      ["share projects web"],
    ],
    [
      "share for a cluster without a project",
      secret({ annotations: { [clusters]: "east" } }),
      undefined,
      ["share clusters east"],
    ],
    [
      "get on the Secret that a new SharedSecret follows, and share for its projects",
      offering("web", { [name("data-from")]: "tls" }),
      undefined,
      ["share projects web", "get secrets tls in web-1"],
    ],
    [
      "delete, share for each project, and get for a Secret that it follows",
      offering("web", { [name("data-from")]: "tls" }),
      offering("web"),
      [...deleting, "share projects web", "get secrets tls in web-1"],
    ],
    [
      "delete, share for each project, and get for other data keys",
      offering("web", { [name("data-from")]: "tls", [name("data-from-keys")]: "a" }),
      offering("web", { [name("data-from")]: "tls" }),
      [...deleting, "share projects web", "get secrets tls in web-1"],
    ],
    [
      "delete, share and get for an added project",
      offering("web,pay", { [name("data-from")]: "tls" }),
      offering("web", { [name("data-from")]: "tls" }),
      [...deleting, "share projects pay", "get secrets tls in web-1"],
    ],
    [
      "no get for a removed project",
      offering("web", { [name("data-from")]: "tls" }),
      offering("web,pay", { [name("data-from")]: "tls" }),
      deleting,
    ],
    [
      "no get where it follows no Secret any more",
      offering("web"),
      offering("web", { [name("data-from")]: "tls" }),
      [...deleting, "share projects web"],
    ],
    [
      "delete for null in an annotation, which is stored as an empty text",
      secret({ annotations: { [name("sync-secret-name")]: null } }),
      secret(),
      deleting,
    ],
    [
      "nothing for a new SharedSecret without projects",
      secret({}, { access: [{ name: "a" }] }),
      undefined,
      [],
    ],
  ])("%s", (_rule, object, oldObject, verbs) => {
    expect(needed(object, oldObject)).toEqual(verbs);
  });
});

describe("a change of a Namespace requires", () => {
  const web = { [name("project")]: "web" };

  test.each<[string, Object, Object | undefined, readonly string[]]>([
    ["nothing without Latchkey's labels", namespace({ a: "b" }), namespace({}), []],
    ["assign for a new namespace in a project", namespace(web), undefined, ["assign projects web"]],
    [
      "assign on the new project for another project",
      namespace({ [name("project")]: "pay" }),
      namespace(web),
      ["assign projects pay"],
    ],
    ["nothing for a removed project", namespace({}), namespace(web), []],
    [
      "assign for a space",
      namespace({ ...web, [name("space")]: "s" }),
      namespace(web),
      ["assign projects web"],
    ],
    [
      "assign for a removed virtual cluster",
      namespace(web),
      namespace({ ...web, [name("virtual-cluster")]: "v" }),
      ["assign projects web"],
    ],
    [
      "assign on the former project for a removed space",
      namespace({}),
      namespace({ ...web, [name("space")]: "s" }),
      ["assign projects web"],
    ],
    [
      "assign on both projects for another project and space",
      namespace({ [name("project")]: "pay", [name("space")]: "s" }),
      namespace(web),
      ["assign projects pay", "assign projects web"],
    ],
    [
      "assign on all projects for a space without a project",
      namespace({ [name("space")]: "s" }),
      undefined,
      ["assign projects"],
    ],
  ])("%s", (_rule, object, oldObject, verbs) => {
    expect(needed(object, oldObject)).toEqual(verbs);
  });
});

describe("a change of a DirectClusterEndpointToken requires", () => {
  const token = (metadata: object = {}, spec: object = {}) => ({
    kind: "DirectClusterEndpointToken",
    metadata: { name: "ci", ...metadata },
    spec,
  });
  const deleting = ["delete directclusterendpointtokens ci"];
  const withFinalizer = token({ finalizers: [name("cleanup"), "x"] });

  test.each<[string, Object, Object | undefined, readonly string[]]>([
    ["nothing when it is created", token({ ownerReferences: [{ uid: "u" }] }), undefined, []],
    [
      "delete for an owner reference",
      token({ ownerReferences: [{ uid: "u" }] }),
      token(),
      deleting,
    ],
    ["delete for Latchkey's finalizer", token({ finalizers: ["x"] }), withFinalizer, deleting],
    ["nothing for another finalizer", token({ finalizers: [name("cleanup")] }), withFinalizer, []],
    [
      "nothing for labels and annotations",
      token({ labels: { a: "b" }, annotations: { [name("sync-secret-name")]: "x" } }, { ttl: 1 }),
      token(),
      [],
    ],
  ])("%s", (_rule, object, oldObject, verbs) => {
    expect(
      neededVerbs({ namespace: "", object, oldObject }).map(
        ({ verb, resource, name: of, namespace: place }) => `${verb} ${resource} ${of}${place}`,
      ),
    ).toEqual(verbs);
  });
});

test("a change of the namespace of an outbox requires connect", () => {
  const outbox = (labels: object) => ({
    kind: "Namespace",
    metadata: { name: "latchkey-cluster-east", labels },
  });
  expect(needed(outbox({}))).toEqual(["connect clusters east"]);
  expect(needed(outbox({ a: "b" }), outbox({}))).toEqual(["connect clusters east"]);
});

test("requires no verb for an OwnedAccessKey, whose changes with a key are rejected by policies", () => {
  expect(
    needed({ kind: "OwnedAccessKey", metadata: { name: "k" }, spec: { user: "alice" } }),
  ).toEqual([]);
});
