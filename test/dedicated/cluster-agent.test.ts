import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { listAt, recordAt } from "../../src/api/parse.ts";
import {
  outboxNamespace,
  reportName,
  reportNumberOf,
} from "../../src/domain/outbox/outbox-names.ts";
import {
  type AgentFixture,
  agentUser,
  centralLeasePath,
  makeTarget,
  newSource,
  type Place,
  secretPath,
  startAgentFixture,
} from "../support/agent-fixture.ts";
import { type Answer, get, mergePatch, post, remove } from "../support/cluster-connection.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { applyLatchkey } from "../support/install.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { postNamespace } from "../support/latchkey-objects.ts";
import { unique } from "../support/policy-request.ts";
import { base64 } from "../support/shared-secret-requests.ts";
import { skippedFor } from "../support/skipped.ts";
import { describeCentral } from "./cluster-agent-central.ts";
import { describeClient } from "./cluster-agent-client.ts";

/** A MutatingAdmissionPolicy that labels every object that is written. */
const labelsEverything = {
  matchConstraints: {
    resourceRules: [
      {
        apiGroups: ["*"],
        apiVersions: ["*"],
        operations: ["CREATE", "UPDATE"],
        resources: ["*"],
      },
    ],
  },
  reinvocationPolicy: "Never",
  mutations: [
    {
      patchType: "JSONPatch",
      jsonPatch: {
        expression:
          "has(object.metadata.labels)" +
          " ? [JSONPatch{op: 'add', path: '/metadata/labels/platform', value: 'x'}]" +
          " : [JSONPatch{op: 'add', path: '/metadata/labels', value: {'platform': 'x'}}]",
      },
    },
  ],
};

let fixture: AgentFixture;

beforeAll(async () => {
  if (hasDedicatedClusters) fixture = await startAgentFixture();
});
afterAll(() => fixture?.stop());

describe.skipIf(!hasDedicatedClusters)("a SharedSecret that names a connected cluster", () => {
  describeCentral(() => fixture);
});

describe.skipIf(!hasDedicatedClusters)("kubectl latchkey in a connected cluster", () => {
  describeClient(() => fixture);
});

// The test plays the controller of the central cluster.
describe.skipIf(!hasDedicatedClusters)("the agent of a connected cluster", () => {
  const becomesCopied = (place: Place, data: Readonly<Record<string, string>>): Promise<Answer> =>
    fixture.arrives(place, data);
  const becomesGone = (place: Place): Promise<void> => fixture.goes(place);

  /** A source that is offered to a project with one namespace; its copy has arrived. */
  async function makeCopied(others: Readonly<Record<string, string>> = {}) {
    const source = newSource();
    const project = unique("project");
    const namespace = await makeTarget(fixture.east, project);
    await fixture.offer(source, { project, annotations: others });
    const place = { namespace, name: others[annotations.syncSecretName] ?? source.name };
    const copy = await becomesCopied(place, { password: "canary" });
    return { source, project, place, copy };
  }

  const becomesReported = (uid: string, wanted: object): Promise<unknown> =>
    eventually(
      async () => {
        const report = (await fixture.report()).sources.get(uid);
        expect(report).toMatchObject(wanted);
        return report;
      },
      { what: `the report of ${uid}`, within: 60_000 },
    );

  it("copies an entry of the outbox, with marks of its own, and reports it", async () => {
    const { source, copy } = await makeCopied();
    expect(copy.metadata.labels).toEqual({ [labels.outboxUid]: source.uid });
    const copyOf = copy.metadata.annotations?.[annotations.copyOf];
    expect(copyOf).toMatch(new RegExp(`^east//team-a/${source.name} -> `));
    await becomesReported(source.uid, { desired: 1, synced: 1, conflicts: 0, failed: 0 });
  });

  it("repairs an edited and a deleted copy", async () => {
    const { place } = await makeCopied();
    const path = secretPath(place);
    await fixture.east.arrange(mergePatch(path, { data: { password: base64("edited") } }));
    await becomesCopied(place, { password: "canary" });
    await fixture.east.arrange(remove(path));
    await becomesCopied(place, { password: "canary" });
  });

  it("follows a change of the data and of the options", async () => {
    const { source, project, place } = await makeCopied();
    await fixture.offer(source, { project, data: { password: "changed" } });
    await becomesCopied(place, { password: "changed" });
    await fixture.offer(source, {
      project,
      data: { user: "me" },
      annotations: { [annotations.syncFormat]: "json", [annotations.syncSecretName]: "other" },
    });
    await becomesCopied({ ...place, name: "other" }, { "data.json": '{"user":"me"}' });
    await becomesGone(place);
  });

  it("reads large data from the outbox when it writes a copy", async () => {
    const source = newSource();
    const project = unique("project");
    const namespace = await makeTarget(fixture.east, project);
    const data = { large: "x".repeat(100_000) };
    await fixture.offer(source, { project, data });
    await becomesCopied({ namespace, name: source.name }, data);
  });

  it("gives copies labels that the namespace allows", async () => {
    const source = newSource();
    const project = unique("project");
    const allowed = { [annotations.allowCopyKeys]: "example.com/*" };
    const namespace = await makeTarget(fixture.east, project, allowed);
    const others = { [annotations.copyLabels]: "example.com/tier=gold" };
    await fixture.offer(source, { project, annotations: others });
    const copy = await becomesCopied({ namespace, name: source.name }, { password: "canary" });
    expect(copy.metadata.labels).toMatchObject({ "example.com/tier": "gold" });
  });

  it("fills a placeholder, and empties it when the source is withdrawn", async () => {
    const { source, place } = await makeCopied();
    const asking = { namespace: place.namespace, name: unique("asking") };
    const metadata = {
      name: asking.name,
      labels: { [labels.sharedSecretNamespace]: "team-a", [labels.sharedSecretName]: source.name },
    };
    await fixture.east.arrange(post(secretPath({ namespace: place.namespace }), { metadata }));
    await becomesCopied(asking, { password: "canary" });
    await fixture.withdraw(source);
    await becomesGone(place);
    await becomesCopied(asking, {});
  });

  it("leaves a Secret that it does not manage, and reports the conflict", async () => {
    const source = newSource();
    const project = unique("project");
    const namespace = await makeTarget(fixture.east, project);
    const data = { password: base64("own") };
    const body = { metadata: { name: source.name }, data };
    await fixture.east.arrange(post(secretPath({ namespace }), body));
    await fixture.offer(source, { project });
    await becomesReported(source.uid, {
      desired: 1,
      synced: 0,
      conflicts: 1,
      reason: "NotManaged",
    });
    expect(await fixture.secret(namespace, source.name)).toMatchObject({ data });
  });

  it("reports what a quota refuses, and writes it when there is room", async () => {
    const source = newSource();
    const project = unique("project");
    const namespace = await makeTarget(fixture.east, project);
    const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
    const spec = { hard: { secrets: "0" } };
    await fixture.east.arrange(post(quotas, { metadata: { name: "none" }, spec }));
    await eventually(
      async () => {
        const { status } = await fixture.east.arrange(get(`${quotas}/none`));
        return JSON.stringify(status ?? {}).includes("used");
      },
      { what: "the quota to count" },
    );
    await fixture.offer(source, { project });
    await becomesReported(source.uid, { desired: 1, synced: 0, failed: 1, reason: "Forbidden" });
    await fixture.east.arrange(mergePatch(`${quotas}/none`, { spec: { hard: { secrets: "9" } } }));
    await becomesCopied({ namespace, name: source.name }, { password: "canary" });
    await becomesReported(source.uid, { desired: 1, synced: 1, failed: 0 });
  });

  it("removes what is withdrawn, and reports that it has nothing of it", async () => {
    const { source, place } = await makeCopied();
    await fixture.withdraw(source);
    await becomesGone(place);
    const done = async () => (await fixture.report()).done.has(source.uid);
    await eventually(done, { what: "the report of the withdrawal" });
    expect((await fixture.report()).sources.has(source.uid)).toBe(false);
  });

  it("keeps the copies of an entry that is missing, reports them, and removes them when they are withdrawn", async () => {
    const { source, place, copy } = await makeCopied();
    await becomesReported(source.uid, { synced: 1 });
    await fixture.forget(source);
    const unknown = async () => (await fixture.report()).unknown.get(source.uid);
    expect(await eventually(unknown, { what: "the report of the unknown source" })).toBe(
      `team-a/${source.name}`,
    );
    const still = await fixture.secret(place.namespace, place.name);
    expect(still.metadata.resourceVersion).toBe(copy.metadata.resourceVersion);
    await fixture.withdraw(source);
    await becomesGone(place);
    const done = async () => (await fixture.report()).done.has(source.uid);
    await eventually(done, { what: "the report of the withdrawal" });
  });

  it("keeps the copies of a newer format as they are", async () => {
    const { source, project, place } = await makeCopied();
    await fixture.annotate(source, { [annotations.outboxFormat]: "2" });
    await becomesReported(source.uid, { reason: "UnsupportedOption" });
    await becomesCopied(place, { password: "canary" });
    await fixture.offer(source, { project, data: { password: "again" } });
    await becomesCopied(place, { password: "again" });
    await fixture.annotate(source, { [`${annotations.syncFormat}-of-tomorrow`]: "x" });
    await becomesReported(source.uid, { reason: "UnsupportedOption" });
    await becomesCopied(place, { password: "again" });
  });

  it("writes nothing of an offer that would become a credential or another mark", async () => {
    const { project, place } = await makeCopied();
    const { copyAnnotations, copyLabels, syncFormat, syncSecretName, syncSecretType } = annotations;
    const hostile: readonly Readonly<Record<string, string>>[] = [
      ...["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "helm.sh/a"].map(
        (type) => ({ [syncSecretType]: type }),
      ),
      { [copyAnnotations]: "kubernetes.io/service-account.name=default" },
      { [copyAnnotations]: `${annotations.copyOf}=east//a/b` },
      { [copyLabels]: `${labels.sourceUid}=x` },
      { [syncSecretName]: "../../../configmaps/x" },
      { [syncFormat]: "{{ .data }}" },
    ];
    const offers = hostile.map((given) => ({ source: newSource(), given }));
    for (const { source, given } of offers)
      await fixture.offer(source, { project, annotations: given });
    for (const { source } of offers)
      await becomesReported(source.uid, { synced: 0, reason: "InvalidSyncOption" });
    const { namespace } = place;
    const listed = await fixture.east.arrange(get(secretPath({ namespace })));
    expect(listAt(listed, "items")).toHaveLength(1);
  });

  it("removes nothing for a tombstone that has the uid of another source", async () => {
    const { source, place, copy } = await makeCopied();
    const liar = { name: unique("liar"), uid: source.uid };
    await fixture.withdraw(liar);
    const done = async () => (await fixture.report()).done.has(liar.uid);
    await eventually(done, { what: "the report of the tombstone" });
    const still = await fixture.secret(place.namespace, place.name);
    expect(still.metadata.resourceVersion).toBe(copy.metadata.resourceVersion);
  });

  it("gives no data to what a tenant marks as a copy, and does not say what exists", async () => {
    const { source, place } = await makeCopied();
    const other = await makeTarget(fixture.east, unique("project"));
    const make = (namespace: string, metadata: Readonly<Record<string, unknown>>) => {
      const data = { password: base64("forged") };
      return fixture.east.arrange(post(secretPath({ namespace }), { metadata, data }));
    };
    const name = unique("forged");
    for (const namespace of [place.namespace, other])
      await make(namespace, {
        name,
        labels: { [labels.outboxUid]: source.uid },
        annotations: {
          [annotations.copyOf]: `east//team-a/${source.name} -> ${namespace}/${name}`,
        },
      });
    for (const namespace of [place.namespace, other]) await becomesGone({ namespace, name });
    const answerTo = async (asked: string): Promise<string> => {
      const asking = { [labels.sharedSecretNamespace]: "team-a", [labels.sharedSecretName]: asked };
      const request = { namespace: other, name: unique("asking") };
      await make(other, { name: request.name, labels: asking });
      const error = await eventually(
        async () => {
          const { metadata } = await fixture.secret(request.namespace, request.name);
          return metadata.annotations?.[annotations.clusterSyncError];
        },
        { what: "the answer to a placeholder" },
      );
      await becomesCopied(request, { password: "forged" });
      return error.replaceAll(asked, "NAME");
    };
    expect(await answerTo(source.name)).toBe(await answerTo(newSource().name));
  });

  it("and a Latchkey of the cluster leave each other's copies alone", async () => {
    const { east } = fixture;
    await applyLatchkey(east.controlPlane, () => {});
    const controller = await east.run();
    await controller.waitReady();
    const project = unique("project");
    const namespace = await makeTarget(east, project);
    // The sources of the outbox are in a namespace of this name, too.
    const own = "team-a";
    await east.arrange(postNamespace(own));
    const share = async (name: string): Promise<string> => {
      const shared = `/apis/${apiVersion}/namespaces/${own}/sharedsecrets`;
      const metadata = { name, annotations: { [annotations.syncToProjects]: project } };
      const spec = { data: { password: base64("own") } };
      await east.arrange(post(shared, { apiVersion, kind: "SharedSecret", metadata, spec }));
      return `${shared}/${name}`;
    };
    const first = newSource();
    const local = await east.arrange(get(await share(first.name)));
    await becomesCopied({ namespace, name: first.name }, { password: "own" });
    await fixture.offer(first, { project });
    await becomesReported(first.uid, { desired: 1, synced: 0, conflicts: 1, reason: "NotManaged" });

    const second = newSource();
    await fixture.offer(second, { project });
    await becomesCopied({ namespace, name: second.name }, { password: "canary" });
    const path = await share(second.name);
    await eventually(
      async () => {
        const { status } = await east.arrange(get(path));
        return recordAt(status, "sync")["conflicts"] === 1;
      },
      { what: "the conflict of the SharedSecret" },
    );
    await becomesCopied({ namespace, name: first.name }, { password: "own" });
    await becomesCopied({ namespace, name: second.name }, { password: "canary" });

    const before = await fixture.secret(namespace, first.name);
    const forged = { name: first.name, uid: String(local.metadata["uid"]) };
    await fixture.withdraw(forged);
    const done = async () => (await fixture.report()).done.has(forged.uid);
    await eventually(done, { what: "the report of the forged tombstone" });
    expect(await fixture.secret(namespace, first.name)).toEqual(before);
    await controller.stop();
  });

  it("goes on after kill -9, with what happened meanwhile", async () => {
    const { source, project, place } = await makeCopied();
    const withdrawn = await makeCopied();
    const { agent } = fixture;
    agent.kill("SIGSTOP");
    await fixture.offer(source, { project, data: { password: "later" } });
    await fixture.withdraw(withdrawn.source);
    const { starts } = agent;
    agent.kill("SIGKILL");
    await eventually(() => agent.starts > starts, { what: "the agent to start again" });
    await becomesCopied(place, { password: "later" });
    await becomesGone(withdrawn.place);
    await agent.waitReady();
  });

  it("keeps copies and repairs them while the outbox is forbidden", async () => {
    const { source, project, place } = await makeCopied();
    const binding = `/apis/rbac.authorization.k8s.io/v1/namespaces/${outboxNamespace("east")}/rolebindings`;
    const path = `${binding}/latchkey-cluster-agent`;
    const { metadata, roleRef, subjects } = await fixture.central.arrange(get(path));
    await fixture.central.arrange(remove(path));
    const isRefused = async () =>
      /resource="sharedsecrets",code="Forbidden"} [1-9]/.test(
        await (await fetch(`${fixture.agent.url}/metrics`)).text(),
      );
    await eventually(isRefused, { what: "the outbox to be forbidden", within: 90_000 });
    await fixture.east.arrange(remove(secretPath(place)));
    await becomesCopied(place, { password: "canary" });
    const { name, labels: given } = metadata;
    await fixture.central.arrange(
      post(binding, { metadata: { name, labels: given }, roleRef, subjects }),
    );
    await fixture.offer(source, { project, data: { password: "heard" } });
    await becomesCopied(place, { password: "heard" });
  });

  it("writes nothing as a duplicate, until its outbox is given to it", async () => {
    const { source, project, place, copy } = await makeCopied();
    const hold = (holderIdentity: string) =>
      fixture.central.arrange(mergePatch(centralLeasePath, { spec: { holderIdentity } }));
    const readiness = async () => await (await fetch(`${fixture.agent.url}/readyz`)).text();
    await hold("uid-of-another-cluster");
    const isDuplicate = async () => (await readiness()).includes("uid-of-another-cluster");
    await eventually(isDuplicate, { what: "the agent to see the duplicate" });
    await fixture.offer(source, { project, data: { password: "not yet" } });
    await new Promise((wake) => setTimeout(wake, 3_000));
    const still = await fixture.secret(place.namespace, place.name);
    expect(still.metadata.resourceVersion).toBe(copy.metadata.resourceVersion);
    await hold("");
    await becomesCopied(place, { password: "not yet" });
    await fixture.agent.waitReady();
  });

  it("creates nothing and still removes where a policy is missing", async () => {
    const withdrawn = await makeCopied();
    const binding =
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/latchkey-project-assignment";
    const { metadata, spec } = await fixture.east.arrange(get(binding));
    await fixture.east.arrange(remove(binding));
    // The report of the test before may still say that the agent is a duplicate.
    const isMissing = async () => (await fixture.report()).problem?.reason === "PoliciesMissing";
    await eventually(isMissing, { what: "the report of the policy" });
    const source = newSource();
    const project = unique("project");
    const namespace = await makeTarget(fixture.east, project);
    await fixture.offer(source, { project });
    await fixture.withdraw(withdrawn.source);
    await becomesGone(withdrawn.place);
    expect((await fixture.secret(namespace, source.name)).code).toBe(404);
    const { name, labels: given } = metadata;
    const collection = binding.replace(/\/[^/]*$/, "");
    await fixture.east.arrange(post(collection, { metadata: { name, labels: given }, spec }));
    await becomesCopied({ namespace, name: source.name }, { password: "canary" });
  });

  it(
    "goes on where a policy of the platform labels everything",
    skippedFor(
      process.env.KUBERNETES_MINOR === "1.35"
        ? "MutatingAdmissionPolicy v1 needs Kubernetes 1.36"
        : undefined,
    ),
    async () => {
      const { central } = fixture;
      const admission = "/apis/admissionregistration.k8s.io/v1";
      const policies = `${admission}/mutatingadmissionpolicies`;
      const bindings = `${admission}/mutatingadmissionpolicybindings`;
      const metadata = { name: "platform" };
      const outbox = `/api/v1/namespaces/${outboxNamespace("east")}`;
      await central.arrange(post(policies, { metadata, spec: labelsEverything }));
      const binding = { metadata, spec: { policyName: "platform" } };
      await central.arrange(post(bindings, binding));
      const isLabelled = async (path: string) =>
        (await central.arrange(get(path))).metadata.labels?.["platform"] === "x";
      try {
        const touch = mergePatch(outbox, { metadata: { annotations: { touched: unique("at") } } });
        const isNamespaceLabelled = async () => {
          await central.arrange(touch);
          return isLabelled(outbox);
        };
        await eventually(isNamespaceLabelled, { what: "the policy to work" });
        const { source } = await makeCopied();
        await becomesReported(source.uid, { desired: 1, synced: 1 });
        const report = `${outbox}/configmaps/${reportName(reportNumberOf(source.uid))}`;
        for (const path of [report, centralLeasePath])
          await eventually(() => isLabelled(path), { what: `${path} to be written` });
      } finally {
        for (const path of [bindings, policies])
          await central.arrange(remove(`${path}/${metadata.name}`));
      }
    },
  );

  it("keeps copies while its credential is refused, and reads the next one without a restart", async () => {
    const { place, copy } = await makeCopied();
    await fixture.agent.stop();
    const { controlPlane } = fixture.central;
    const file = join(fixture.east.controlPlane.directory, "central-kubeconfig");
    const login = (token: string): void =>
      writeKubeconfig(file, controlPlane, { [agentUser]: { token } });
    login("of-a-deleted-key");
    const agent = await fixture.startAgent([`--central-kubeconfig=${file}`]);
    const readiness = async () => await (await fetch(`${agent.url}/readyz`)).text();
    const isWaiting = async () => (await readiness()).includes("the outbox has not been read yet");
    await eventually(isWaiting, { what: "the agent to wait" });
    const still = await fixture.secret(place.namespace, place.name);
    expect(still.metadata.resourceVersion).toBe(copy.metadata.resourceVersion);
    login(controlPlane.tokens[agentUser] ?? "");
    await agent.waitReady();
    await fixture.east.arrange(remove(secretPath(place)));
    await becomesCopied(place, { password: "canary" });
    await agent.stop();
  });

  it("deletes all copies after --delete-after-disconnect, also across a restart", async () => {
    const running = await fixture.startAgent([fixture.credential]);
    const [{ place }, other] = await Promise.all([makeCopied(), makeCopied()]);
    await running.stop();
    const lease =
      "/apis/coordination.k8s.io/v1/namespaces/latchkey-system/leases/latchkey-cluster-agent";
    const unheard = (seconds: string) =>
      fixture.east.arrange(
        mergePatch(lease, { metadata: { annotations: { [annotations.unheardSeconds]: seconds } } }),
      );
    const file = join(fixture.east.controlPlane.directory, "no-central-kubeconfig");
    const { certificateAuthority } = fixture.central.controlPlane;
    const away = { url: `https://127.0.0.1:${await freePort()}`, certificateAuthority };
    writeKubeconfig(file, away, { [agentUser]: { token: "x" } });
    const args = [`--central-kubeconfig=${file}`, "--delete-after-disconnect=1h"];
    await unheard("3000");
    const patient = await fixture.startAgent(args);
    const counts = async () => {
      const { metadata } = await fixture.east.arrange(get(lease));
      return Number(metadata.annotations?.[annotations.unheardSeconds]) > 3000;
    };
    await eventually(counts, { what: "the agent to count" });
    expect((await fixture.secret(place.namespace, place.name)).code).toBe(200);
    await patient.stop();
    await unheard("3599");
    const agent = await fixture.startAgent(args);
    await becomesGone(place);
    await becomesGone(other.place);
    await agent.stop();
  });

  it("has no value in its log", async () => {
    const { readFile } = await import("node:fs/promises");
    const log = await readFile(fixture.agent.log, "utf8");
    expect(log).not.toContain("canary");
    expect(log).not.toContain(base64("canary"));
  });
});
