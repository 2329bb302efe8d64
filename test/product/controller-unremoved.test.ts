import { afterAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { eventually, nextSecond } from "../support/eventually.ts";
import { api, arrange, unique } from "../support/policy-request.ts";
import { base64, becomesReady, makeSharedSecret, view } from "../support/shared-secret-requests.ts";
import { expectNoTrouble, expectWrites } from "./controller-oracle.ts";
import { dataOf, eventAbout, eventsAt, makeSynced, type Synced, to } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

const finalizer = "example.com/hold";
const admission = "/apis/admissionregistration.k8s.io/v1";

/** Keeps the copy from being deleted, by a finalizer; returns what removes it. */
async function hold({ copy }: Synced): Promise<() => Promise<unknown>> {
  await api.merge(copy, { metadata: { finalizers: [finalizer] } });
  return () => api.merge(copy, { metadata: { finalizers: null } });
}

/** Keeps the copy from being deleted, by a policy whose message has its data. */
async function freeze({ copy, target }: Synced): Promise<() => Promise<unknown>> {
  const name = unique("freeze");
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"] };
  const spec = {
    matchConstraints: {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": target } },
      resourceRules: [{ ...rule, operations: ["DELETE"] }],
    },
    validations: [
      { expression: "false", messageExpression: "'keep ' + string(oldObject.data['first'])" },
    ],
  };
  await api.create(`${admission}/validatingadmissionpolicies`, { metadata: { name }, spec });
  await api.create(`${admission}/validatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"] },
  });
  const isRefused = () =>
    arrange({ method: "DELETE", path: `${copy}?dryRun=All` }).then(
      () => false,
      () => true,
    );
  await eventually(isRefused, { what: "the policy to be in force" });
  return async () => {
    await api.delete(`${admission}/validatingadmissionpolicybindings/${name}`);
    await api.delete(`${admission}/validatingadmissionpolicies/${name}`);
  };
}

const withdraw = ({ target }: Synced) =>
  api.merge(`/api/v1/namespaces/${target}`, {
    metadata: { annotations: { [annotations.sync]: null } },
  });

const placeOf = ({ copy }: Synced) => copy.replace(/.*\/namespaces\/(.*)\/secrets\/(.*)/, "$1/$2");

/** Waits until the copy has no data, and still has its marks. */
async function becomesEmpty({ copy, source }: Synced): Promise<void> {
  const see = async () => {
    const { metadata, data } = await api.find(copy);
    return { labels: metadata.labels, values: Object.values(recordAt({ data }, "data")) };
  };
  await becomes("the copy to be empty", see, {
    labels: { [labels.sourceUid]: source.uid },
    values: [],
  });
}

/** Waits until the source says that its copy cannot be removed, and everything else is fine. */
async function isSaid(synced: Synced, why: RegExp): Promise<void> {
  const [namespace, name] = placeOf(synced).split("/");
  await becomes("the source to say so", () => view(synced.source), {
    conditions: {
      Ready: { status: "True" },
      Synced: {
        status: "False",
        reason: "RemovalBlocked",
        message: expect.stringContaining(`first: ${namespace}/${name}: `),
      },
    },
    sync: {
      unremoved: 1,
      failures: [
        { namespace, name, reason: "RemovalBlocked", message: expect.stringMatching(why) },
      ],
    },
  });
}

async function areRecorded({ source, copy }: Synced, reason: string): Promise<void> {
  await eventsAt(copy, reason);
  await eventAbout(source, reason);
}

describe.concurrent("a copy whose consent is gone and that is not deleted", () => {
  it.each([
    [
      "because a policy rejects it",
      freeze,
      /^the data is removed, .*rejected its removal: Invalid: ValidatingAdmissionPolicy .freeze-[^ ]* with binding [^ ]* denied request$/,
    ],
    [
      "because of a finalizer",
      hold,
      /^the data is removed, .* keep the Secret: "example.com\/hold"/,
    ],
  ])("is emptied, and the source and the namespace say why: %s", async (_, keep, why) => {
    const synced = await makeSynced();
    const release = await keep(synced);
    await withdraw(synced);
    await becomesEmpty(synced);
    await isSaid(synced, why);
    await areRecorded(synced, "RemovalBlocked");
    await release();
    // A rejected delete is repeated after some time.
    await api.merge(synced.source.path, { spec: { description: "again" } });
    await becomesGone(synced.copy);
    await becomes("the source to be well", () => view(synced.source), {
      conditions: { Synced: { status: "False", reason: "NoTargets" } },
      sync: expect.not.objectContaining({ unremoved: 1 }),
    });
  });

  it("is said not to be removed if it is immutable, and does not keep its source", async () => {
    const synced = await makeSynced();
    await api.merge(synced.copy, { immutable: true });
    const release = await hold(synced);
    await withdraw(synced);
    await isSaid(synced, /^the data is still there, because the Secret is immutable; finalizers/);
    await api.delete(synced.source.path);
    await becomesGone(synced.source.path);
    await release();
    await becomesGone(synced.copy);
  });

  it("has its data again once there is consent again", async () => {
    const synced = await makeSynced();
    await hold(synced);
    await withdraw(synced);
    await becomesEmpty(synced);
    await api.merge(`/api/v1/namespaces/${synced.target}`, {
      metadata: { annotations: { [annotations.sync]: "enabled" } },
    });
    await becomes("the data to be back", async () => (await api.find(synced.copy)).data, {
      ...dataOf("first", "second"),
    });
  });
});

describe.concurrent("a source that is deleted", () => {
  it.each([
    ["rejected by a policy", freeze],
    ["kept by a finalizer", hold],
  ])("goes once a copy is emptied whose deletion is %s", async (_, keep) => {
    const synced = await makeSynced();
    const release = await keep(synced);
    await api.delete(synced.source.path);
    await becomesGone(synced.source.path);
    await becomesEmpty(synced);
    await areRecorded(synced, "RemovalBlocked");
    await release();
  });

  it("waits for a copy that is not emptied either, and says so", async () => {
    const synced = await makeSynced({ [annotations.syncSecretType]: "example.com/typed" });
    await api.merge(synced.copy, { immutable: true });
    const release = await freeze(synced);
    await api.delete(synced.source.path);
    await becomes("the source to say so", () => view(synced.source), {
      conditions: {
        Ready: {
          status: "False",
          reason: "RemovalBlocked",
          message: expect.stringContaining(
            "the data is still there, because the Secret is immutable",
          ),
        },
      },
      sync: { unremoved: 1 },
    });
    await release();
    await becomesGone(synced.source.path);
    await becomesGone(synced.copy);
  });

  it("passes its copy in one write to the source that asks for the same Secret", async () => {
    const synced = await makeSynced();
    const { source, project, target, copy } = synced;
    await nextSecond();
    const next = await makeSharedSecret({
      namespace: source.namespace,
      annotations: to(project, { [annotations.syncSecretName]: source.name }),
      spec: { data: { first: base64("next") } },
    });
    await becomesReady(next);
    const { uid } = (await api.find(copy)).metadata;
    await api.delete(source.path);
    await becomesGone(source.path);
    expect(await api.find(copy)).toMatchObject({
      data: { first: base64("next") },
      metadata: { uid, labels: { [labels.sourceUid]: next.uid } },
    });
    await expectWrites({ target, name: source.name }, ["create", "update"]);
    await areRecorded(synced, "HandedOver");
    await eventAbout(next, "HandedOver");
  });
});
