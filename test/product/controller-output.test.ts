import { afterAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import { canariesIn, expectNoTrouble } from "./controller-oracle.ts";
import { kubectl } from "../support/kubectl.ts";
import { becomes } from "../support/becomes.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import {
  becomesReady,
  makeSharedSecret,
  makeTarget,
  view,
} from "../support/shared-secret-requests.ts";
import { becomesCurrent, dataOf, makeSecret, makeSynced, to } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

const run = (...args: string[]) => kubectl(inject("controlPlane"), args);

describe.concurrent("no value of the data is printed", () => {
  const tables = [
    ["-o", "wide"],
    ["--show-labels"],
    ["-o", "name"],
    ["-o", "jsonpath={.status}"],
    ["-o", "jsonpath={.metadata}"],
  ];
  it.each(tables)("in kubectl get %s %s", async (...output) => {
    const { source, target } = await makeSynced();
    expect(
      canariesIn(await run("get", "shsec", source.name, "-n", source.namespace, ...output)),
    ).toEqual([]);
    expect(canariesIn(await run("get", "secret", source.name, "-n", target, ...output))).toEqual(
      [],
    );
  });

  it("in kubectl describe of the copy", async () => {
    const { source, target } = await makeSynced();
    const described = await run("describe", "secret", source.name, "-n", target);
    expect(described).toContain("first:");
    expect(canariesIn(described)).toEqual([]);
  });

  it("in kubectl describe of the SharedSecret outside its spec", async () => {
    const { source } = await makeSynced();
    const described = await run("describe", "shsec", source.name, "-n", source.namespace);
    const spec = /^Spec:\n(?: .*\n)*/m;
    expect(described).toMatch(spec);
    expect(canariesIn(described.replace(spec, ""))).toEqual([]);
  });

  it("in status, Events and copies when syncing fails", async () => {
    const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
    const [taken, free] = [
      await makeTarget(project, namespace),
      await makeTarget(project, namespace),
    ];
    await makeSecret(taken, name);
    const source = await makeSharedSecret({
      namespace,
      name,
      annotations: to(project),
      spec: { data: dataOf("first") },
    });
    await becomes("the conflict to be reported", () => view(source), {
      conditions: { Synced: { reason: "Conflict" } },
    });
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncSecretType]: "kubernetes.io/tls" } },
    });
    await becomes("the refusal to be reported", () => view(source), {
      sync: { failed: 1, conflicts: 1 },
    });
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncSecretType]: "helm.sh/release.v1" } },
      spec: { access: [{ name: "wrong", verbs: ["fly"] }] },
    });
    await becomes("the mistakes to be reported", () => view(source), {
      settled: true,
      conditions: { Stalled: { reason: "InvalidAccessRule" } },
    });

    const { status } = await api.find(source.path);
    expect(canariesIn(JSON.stringify(status))).toEqual([]);
    const events = await eventually(
      async () => {
        const text = JSON.stringify(
          await api.get(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`),
        );
        return text.includes("InvalidAccessRule") && text.includes("Conflict") && text;
      },
      { what: "the Events" },
    );
    expect(canariesIn(events)).toEqual([]);
    expect(await api.find(`/api/v1/namespaces/${free}/secrets/${name}`)).toMatchObject({
      code: 200,
      type: "Opaque",
      data: dataOf("first"),
    });
  });

  const formats = [
    { type: "kubernetes.io/dockerconfigjson", key: ".dockerconfigjson" },
    { type: "kubernetes.io/dockercfg", key: ".dockercfg" },
  ];
  it.each(formats)("in the error for a target of type $type", async ({ type, key }) => {
    const [namespace, project] = [await makeNamespace(), unique("project")];
    await makeTarget(project, namespace);
    const annotated = to(project, { [annotations.syncSecretType]: type });
    const source = await makeSharedSecret({
      namespace,
      annotations: annotated,
      spec: { data: { [key]: dataOf("a").a } },
    });
    await becomes("the refusal to be reported", () => view(source), { sync: { failed: 1 } });
    const { status } = await api.find(source.path);
    expect(JSON.stringify(status)).toContain(key);
    expect(canariesIn(JSON.stringify(status))).toEqual([]);
  });

  it("in the controller's metrics", async () => {
    const synced = await makeSynced();
    await becomesCurrent(synced);
    const metrics = await (await fetch(`${inject("controller").url}/metrics`)).text();
    expect(metrics).toContain("controller_runtime_reconcile_total");
    expect(canariesIn(metrics)).toEqual([]);
  });
});

describe("kubectl get prints what an administrator needs", () => {
  it("whether it is ready, why, and how many copies there are", async () => {
    const { source } = await makeSynced();
    await becomesReady(source);
    const rows = (await run("get", "sharedsecret", source.name, "-n", source.namespace))
      .split("\n")
      .map((line) => line.split(/\s+/));
    const columns = ["NAME", "READY", "REASON", "SYNC", "SYNCED", "DESIRED", "CLUSTERS", "AGE"];
    expect(rows[0]).toEqual(columns);
    expect(rows[1]?.slice(0, 6)).toEqual([source.name, "True", "Ready", "Synced", "1", "1"]);
  });

  it("kubectl wait ends when the SharedSecret is ready", async () => {
    const namespace = await makeNamespace();
    const { name } = await makeSharedSecret({ namespace });
    expect(
      await run("wait", "--for=condition=Ready", "--timeout=60s", `shsec/${name}`, "-n", namespace),
    ).toContain("condition met");
  });
});
