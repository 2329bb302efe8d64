import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { annotations, group, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { canary, expectNoTrouble } from "./controller-oracle.ts";
import { becomes } from "../support/becomes.ts";
import { api, as, request, ask, bind, makeNamespace, unique } from "../support/policy-request.ts";
import {
  makeSharedSecret,
  makeTarget,
  secretPath,
  view,
  type Place,
} from "../support/shared-secret-requests.ts";
import { becomesCurrent, dataOf, makeSecret, makeSynced, to } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

/** May read a namespace with the shipped role view, but no SharedSecrets. */
const tenant = { user: unique("tenant"), groups: ["system:authenticated"] };

interface FoundEvent {
  readonly regarding: string;
  readonly type: string;
  readonly reason: string;
  readonly note: string;
}

/** The Events of a namespace, as read by the tenant. */
async function eventsIn(namespace: string): Promise<readonly FoundEvent[]> {
  const answer = await as(tenant).get(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
  return listAt(answer, "items").map((event) => {
    const about = recordAt(event, "regarding");
    const [type = "", reason = "", note = ""] = ["type", "reason", "note"].map((field) =>
      stringAt(event, field),
    );
    return {
      regarding: `${stringAt(about, "kind")} ${stringAt(about, "name")}`,
      type,
      reason,
      note,
    };
  });
}

const summaries = async (namespace: string, regarding: string) =>
  (await eventsIn(namespace))
    .filter((event) => event.regarding === regarding)
    .map(({ type, reason }) => `${type} ${reason}`)
    .toSorted();

/** Allows the tenant to read a namespace. */
const letIn = (namespace: string) => bind({ kind: "User", name: tenant.user }, "view", namespace);

function linesAbout(target: string): readonly string[] {
  return readFileSync(inject("controller").log, "utf8")
    .split("\n")
    .filter((line) => line.includes(`"${target}"`));
}

describe.concurrent("the Events of a SharedSecret", () => {
  it("report a change of state once, and its end once", async () => {
    const { source } = await makeSynced();
    await letIn(source.namespace);
    const about = `SharedSecret ${source.name}`;
    const turns = async (disableSync: string | null, ready: string) => {
      await api.merge(source.path, {
        metadata: { annotations: { [annotations.disableSync]: disableSync } },
      });
      await becomes(`Ready=${ready}`, () => view(source), {
        conditions: { Ready: { status: ready } },
      });
    };
    await turns("perhaps", "False");
    const before = await summaries(source.namespace, about);
    // That it was ready before is left out if many objects became ready at the same time.
    expect([
      ["Normal Ready", "Warning InvalidSyncOption"],
      ["Warning InvalidSyncOption"],
    ]).toContainEqual(before);
    await turns(null, "True");
    expect(await summaries(source.namespace, about)).toEqual(["Normal Ready", ...before]);
  });
});

describe.concurrent("a namespace that rejects copies", () => {
  const refusal = unique("reject");
  const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
  const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

  beforeAll(async () => {
    const resourceRules = [
      {
        apiGroups: [""],
        apiVersions: ["v1"],
        operations: ["CREATE", "UPDATE"],
        resources: ["secrets"],
      },
    ];
    const validations = [
      {
        expression: "object.?data.orValue({}).all(k, k != 'rejected')",
        message: "no such key here",
      },
    ];
    await api.create(policies, {
      metadata: { name: refusal },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { [refusal]: "yes" } },
          resourceRules,
        },
        validations,
      },
    });
    await api.create(bindings, {
      metadata: { name: refusal },
      spec: { policyName: refusal, validationActions: ["Deny"] },
    });
  });
  afterAll(async () => {
    await api.delete(`${bindings}/${refusal}`);
    await api.delete(`${policies}/${refusal}`);
  });

  it("has an Event on the unmanaged Secret", async () => {
    const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
    const target = await makeTarget(project, namespace);
    await letIn(target);
    await makeSecret(target, name);
    await makeSharedSecret({
      namespace,
      name,
      annotations: to(project),
      spec: { data: dataOf("first") },
    });
    const note = expect.stringContaining(
      `SharedSecret ${namespace}/${name} is not synced to Secret ${target}/${name}: `,
    );
    await becomes("the conflict to be reported", () => eventsIn(target), [
      { regarding: `Secret ${name}`, type: "Warning", reason: "Conflict", note },
    ]);
    expect(JSON.stringify(await eventsIn(target))).not.toContain(canary);
  });

  it("has an Event, one line in the log, and the reason in an existing copy; the copy recovers", async () => {
    const { source, target, copy } = await makeSynced();
    const other = await makeTarget(unique("none"));
    await letIn(target);
    await api.merge(`/api/v1/namespaces/${target}`, { metadata: { labels: { [refusal]: "yes" } } });
    // A new policy takes effect with a delay, which is long on a busy machine.
    const probe = request.create(`/api/v1/namespaces/${target}/secrets?dryRun=All`, {
      metadata: { generateName: "probe-" },
      data: dataOf("rejected"),
    });
    await becomes("the policy to take effect", () => ask({}, probe), { code: 422 });
    const fresh = await makeSharedSecret({
      namespace: source.namespace,
      annotations: to(
        String((await api.find(`/api/v1/namespaces/${target}`)).metadata.labels?.[labels.project]),
      ),
      spec: { data: dataOf("rejected") },
    });
    const note = expect.stringContaining(`is not synced to Secret ${target}/${fresh.name}: `);
    await becomes("the refusal to be reported", () => eventsIn(target), [
      { regarding: `Namespace ${target}`, type: "Warning", reason: "Failed", note },
    ]);

    await api.merge(source.path, { spec: { data: dataOf("rejected") } });
    const says = { [annotations.syncError]: expect.stringContaining("no such key here") };
    await becomes(
      "the copy to say why",
      async () => (await api.find(copy)).metadata.annotations,
      says,
    );
    const lines = linesAbout(`${target}/${fresh.name}`);
    expect(lines.filter((line) => line.includes("writing the target Secret failed"))).toHaveLength(
      1,
    );
    expect(lines.filter((line) => /"level":"(?:warn|error)"/.test(line))).toEqual([]);

    await api.merge(`/api/v1/namespaces/${target}`, { metadata: { labels: { [refusal]: null } } });
    await becomesCurrent({ source, copy }, dataOf("first", "second", "rejected"));
    expect((await api.find(copy)).metadata.annotations).not.toHaveProperty(annotations.syncError);
    await becomesCurrent(
      { source: fresh, copy: secretPath(target, fresh.name) },
      dataOf("rejected"),
    );
    expect(await api.find(secretPath(other, fresh.name))).toMatchObject({ code: 404 });
  });
});

describe.concurrent("a Secret with a label or an annotation without effect", () => {
  const mistake = `${group}/sharedsecret`;
  const sentence =
    `label ${mistake} has no effect on Secrets; ` +
    `did you mean the label ${labels.sharedSecretName}?`;
  const mistaken = (name: string) => ({
    metadata: { name, labels: { [mistake]: "db" } },
    data: dataOf("first"),
  });
  const about = (name: string, note: string): FoundEvent => ({
    regarding: `Secret ${name}`,
    type: "Warning",
    reason: "UnknownAnnotation",
    note,
  });

  async function makeReadable(): Promise<string> {
    const namespace = await makeNamespace();
    await letIn(namespace);
    return namespace;
  }

  it("has an Event in its namespace, once for each key", async () => {
    const namespace = await makeReadable();
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    await api.create(path, mistaken("asking"));
    await becomes("the label to be reported", () => eventsIn(namespace), [
      about("asking", sentence),
    ]);
    const pause = `${group}/disable-sink`;
    await api.merge(`${path}/asking`, { metadata: { annotations: { [pause]: "true" } } });
    const other = `annotation ${pause} has no effect on Secrets; did you mean the annotation `;
    const notes = async () => (await eventsIn(namespace)).map(({ note }) => note).toSorted();
    await becomes("the annotation to be reported, too", notes, [
      `${other}${annotations.disableSync}?`,
      sentence,
    ]);
    expect(JSON.stringify(await eventsIn(namespace))).not.toContain(canary);
    const recorded = linesAbout(`${namespace}/asking`);
    expect(recorded.filter((line) => line.includes("Event recorded"))).toHaveLength(2);
  });

  it("has it also if it is a copy, whose marks are known", async () => {
    const { target, copy, source } = await makeSynced();
    await letIn(target);
    await api.merge(copy, { metadata: { labels: { [mistake]: "db" } } });
    await becomes("the label of the copy to be reported", () => eventsIn(target), [
      about(source.name, sentence),
    ]);
  });

  it("has it also if its namespace is beside one with many of them", async () => {
    const [many, other] = [await makeReadable(), await makeReadable()];
    const secretsIn = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
    for (let at = 0; at < 40; at += 1) await api.create(secretsIn(many), mistaken(`db-${at}`));
    await api.create(secretsIn(other), mistaken("asking"));
    await becomes("the label to be reported", () => eventsIn(other), [about("asking", sentence)]);
    const found = (await eventsIn(many)).length;
    expect(found).toBeGreaterThan(0);
    // 20, and one for each minute that this takes.
    expect(found).toBeLessThan(30);
  });
});

describe.concurrent("a project without a namespace that accepts copies", () => {
  const becomesSynced = (source: Place, status: string, reason: string, says: string) =>
    becomes(says, () => view(source), {
      settled: true,
      conditions: {
        Ready: { status: "True" },
        Synced: { status, reason, message: expect.stringContaining(says) },
      },
    });

  it("is reported with what is missing, step by step, and is not a failure", async () => {
    const [namespace, project] = [await makeNamespace(), unique("project")];
    const source = await makeSharedSecret({
      namespace,
      annotations: to(project),
      spec: { data: dataOf("first") },
    });
    await becomesSynced(
      source,
      "False",
      "NoTargets",
      `no namespace has a label ${labels.project} that matches "${project}"`,
    );
    const target = unique("target");
    const path = `/api/v1/namespaces/${target}`;
    await api.create("/api/v1/namespaces", {
      metadata: {
        name: target,
        labels: { [labels.project]: project },
        annotations: { [annotations.sync]: "true" },
      },
    });
    await becomesSynced(
      source,
      "False",
      "NoTargets",
      `the only namespace of project "${project}" does not have the annotation ${annotations.sync}: enabled`,
    );
    await api.merge(path, {
      metadata: {
        annotations: { [annotations.sync]: "enabled", [annotations.syncFrom]: "elsewhere" },
      },
    });
    await becomesSynced(
      source,
      "False",
      "NoTargets",
      `1 of 1 namespaces of project "${project}" accept copies, but not from namespace "${namespace}"`,
    );
    expect((await view(source)).conditions).not.toHaveProperty("Stalled");
    await api.merge(path, { metadata: { annotations: { [annotations.syncFrom]: namespace } } });
    await becomesSynced(source, "True", "Synced", "1 of 1 targets are synced");
    await letIn(namespace);
    expect((await eventsIn(namespace)).filter(({ type }) => type !== "Normal")).toEqual([]);
  });
});
