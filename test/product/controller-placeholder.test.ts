import { afterAll, describe, expect, inject, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { becomes, becomesExactly, becomesGone } from "../support/becomes.ts";
import { api, as, type Answer, makeNamespace, unique } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  makeTarget,
  secretPath,
  sharedSecretPath,
  view,
  type Place,
} from "../support/shared-secret-requests.ts";
import { expectNoTrouble, expectWrites } from "./controller-oracle.ts";
import {
  afterAnotherReconcile,
  currentCopy,
  dataOf,
  eventsAt,
  makeSecret,
  stateOf,
  to,
} from "./sync-fixture.ts";

afterAll(expectNoTrouble);

/** A SharedSecret that names a project, and a namespace of the project that does not ask. */
interface Scene {
  readonly source: Place;
  readonly project: string;
  readonly target: string;
}

const namespacePath = (name: string) => `/api/v1/namespaces/${name}`;
const annotate = (given: Readonly<Record<string, string | null>>) => ({
  metadata: { annotations: given },
});

async function makeScene(others: Readonly<Record<string, string>> = {}): Promise<Scene> {
  const project = unique("project");
  const namespace = await makeNamespace();
  const target = await makeTarget(project, namespace);
  await api.merge(
    namespacePath(target),
    annotate({ [annotations.sync]: null, [annotations.allowCopyKeys]: "tier" }),
  );
  const source = await makeSharedSecret({
    namespace,
    annotations: to(project, others),
    spec: { data: dataOf("first", "second") },
  });
  return { source, project, target };
}

const asking = ({ namespace, name }: { readonly namespace: string; readonly name: string }) => ({
  [labels.sharedSecretName]: name,
  [labels.sharedSecretNamespace]: namespace,
});

/** Creates a placeholder for the source; returns its path. */
async function makePlaceholder(
  { source, target }: Scene,
  {
    metadata = {},
    ...rest
  }: { readonly metadata?: object; readonly [field: string]: unknown } = {},
): Promise<string> {
  const name = unique("placeholder");
  await makeSecret(target, name, {
    data: {},
    ...rest,
    metadata: { name, labels: asking(source), ...metadata },
  });
  return secretPath(target, name);
}

const errorOf = ({ metadata }: Answer) =>
  stringAt(recordAt(metadata, "annotations"), annotations.syncError);

async function becomesFilled(path: string, source: Place, data: object): Promise<void> {
  const see = async () => {
    const seen = await api.find(path);
    return { ...seen, data: recordAt(seen, "data"), error: errorOf(seen) ?? "none" };
  };
  await becomes("the placeholder to be filled", see, { ...currentCopy(source, {}), error: "none" });
  await becomesExactly("the data", async () => recordAt(await api.find(path), "data"), data);
}

/** Waits until a Secret has no data of Latchkey and none of its marks. */
async function becomesEmpty(path: string, least: object = {}): Promise<Answer> {
  return eventually(
    async () => {
      const seen = await api.find(path);
      expect(recordAt(seen, "data")).toEqual(least);
      const { metadata } = seen;
      expect(recordAt(metadata, "labels")).not.toHaveProperty([labels.sourceUid]);
      expect(recordAt(metadata, "annotations")).not.toHaveProperty([annotations.copyOf]);
      expect(recordAt(metadata, "annotations")).not.toHaveProperty([annotations.filled]);
      return seen;
    },
    { what: "the Secret to be empty" },
  );
}

describe.concurrent("a placeholder", () => {
  it("is filled in one write, and keeps its name, type, labels and annotations", async () => {
    const scene = await makeScene({ [annotations.copyLabels]: "tier=gold" });
    const { source, target } = scene;
    // A controller that has not seen the source yet records that it does not exist.
    const isSeen = { conditions: { Ready: { status: "True" } } };
    await becomes("the source to be seen", () => view(source), isSeen);
    const own = { theirs: "kept" };
    const path = await makePlaceholder(scene, {
      type: "example.com/own",
      metadata: { labels: { ...own, ...asking(source) }, annotations: own },
      data: { former: base64("former") },
    });
    await becomesFilled(path, source, dataOf("first", "second"));
    const seen = await api.find(path);
    expect(seen).toMatchObject({
      type: "example.com/own",
      metadata: { labels: { ...own, ...asking(source) }, annotations: { ...own } },
    });
    expect(recordAt(seen.metadata, "labels")).not.toHaveProperty("tier");
    const name = path.slice(path.lastIndexOf("/") + 1);
    await expectWrites({ target, name }, ["update"]);
    await becomes("the status", () => view(source), {
      sync: { desired: 1, synced: 1, conflicts: 0, failed: 0 },
      conditions: { Synced: { status: "True" } },
    });
  });

  it("picks and renames data keys, and follows them", async () => {
    const scene = await makeScene();
    const { source } = scene;
    const { first = "", second = "" } = dataOf("first", "second");
    const path = await makePlaceholder(scene, {
      metadata: {
        labels: asking(source),
        annotations: { [annotations.syncKeys]: "DB_PASS=first,second" },
      },
    });
    await becomesFilled(path, source, { DB_PASS: first, second });
    await api.merge(source.path, { spec: { data: dataOf("third") } });
    await api.merge(path, annotate({ [annotations.syncKeys]: "DB_PASS=third" }));
    await becomesFilled(path, source, { DB_PASS: dataOf("third").third });
    const written = await stateOf(path);
    await api.merge(source.path, { spec: { data: dataOf("fourth") } });
    await afterAnotherReconcile({ ...scene, ...(await asksToo(scene)), copy: path });
    expect(await stateOf(path)).toEqual(written);
    await api.merge(path, annotate({ [annotations.syncKeys]: null }));
    await becomesFilled(path, source, dataOf("first", "second", "third", "fourth"));
  });

  it("has the data of the SharedSecret itself where copies have a derived form", async () => {
    const scene = await makeScene({ [annotations.syncFormat]: "json" });
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    await api.merge(scene.source.path, { spec: { data: { large: base64("x".repeat(20_000)) } } });
    await becomesFilled(path, scene.source, {
      ...dataOf("first", "second"),
      large: base64("x".repeat(20_000)),
    });
  });

  it("is repaired if its data or a mark is edited", async () => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    const data = dataOf("first", "second");
    await becomesFilled(path, scene.source, data);
    await api.merge(path, { data: { first: base64("edited"), other: base64("other") } });
    await becomesFilled(path, scene.source, data);
    await api.merge(path, annotate({ [annotations.filled]: null }));
    await becomes("the mark", () => api.find(path), annotate({ [annotations.filled]: "true" }));
    await api.merge(path, { metadata: { labels: { [labels.sourceUid]: null } } });
    await becomesFilled(path, scene.source, data);
  });

  const ends: { rule: string; end: (scene: Scene) => Promise<unknown>; says: RegExp }[] = [
    {
      rule: "the source is deleted",
      end: ({ source }) => api.delete(source.path),
      says: /is being deleted|does not exist, or/,
    },
    {
      rule: "the source names another project",
      end: ({ source }) => api.merge(source.path, annotate(to("none"))),
      says: /does not exist, or its annotation/,
    },
    {
      rule: "the namespace leaves the project",
      end: ({ target }) =>
        api.merge(namespacePath(target), { metadata: { labels: { [labels.project]: null } } }),
      says: /does not have the label/,
    },
    {
      rule: "the namespace does not take from the source",
      end: ({ target }) =>
        api.merge(namespacePath(target), annotate({ [annotations.syncFrom]: "other" })),
      says: /does not name namespace/,
    },
  ];
  it.each(ends)("is emptied, and not deleted, if $rule", async ({ end, says }) => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    const { metadata } = await api.find(path);
    await end(scene);
    await becomesEmpty(path);
    await becomes(
      "the reason",
      async () => errorOf(await api.find(path)) ?? "none",
      expect.stringMatching(says),
    );
    expect((await api.find(path)).metadata.uid).toBe(metadata.uid);
  });

  it("is filled again by a source that is created again", async () => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    await api.delete(scene.source.path);
    await becomesGone(scene.source.path);
    const { namespace, name } = scene.source;
    const again = await makeSharedSecret({
      namespace,
      name,
      annotations: to(scene.project),
      spec: { data: dataOf("again") },
    });
    await becomesFilled(path, again, dataOf("again"));
  });

  it("that exists before its SharedSecret says why, and is filled by it", async () => {
    const scene = await makeScene();
    const { namespace } = scene.source;
    const name = unique("later");
    const path = await makePlaceholder(scene, {
      metadata: { labels: asking({ namespace, name }) },
      data: { former: base64("former") },
    });
    await becomes(
      "the reason",
      async () => errorOf(await api.find(path)) ?? "none",
      expect.stringMatching(/does not exist, or its annotation/),
    );
    expect((await api.find(path)).data).toEqual({ former: base64("former") });
    await eventsAt(path, "NotFilled");
    const source = await makeSharedSecret({
      namespace,
      name,
      annotations: to(scene.project),
      spec: { data: dataOf("late") },
    });
    await becomesFilled(path, source, dataOf("late"));
    await eventsAt(path, "Synced");
  });

  it("does not learn whether a SharedSecret exists that does not permit it", async () => {
    const scene = await makeScene();
    const hidden = await makeSharedSecret({
      namespace: scene.source.namespace,
      annotations: to("other-project", { [annotations.syncSecretType]: "" }),
      spec: { data: dataOf("hidden") },
    });
    const [there, gone] = [hidden.name, unique("gone")];
    const [one, other] = await Promise.all(
      [there, gone].map(async (name) => {
        const labelled = { labels: asking({ namespace: hidden.namespace, name }) };
        const path = await makePlaceholder(scene, { metadata: labelled });
        const said = await eventually(async () => errorOf(await api.find(path)), {
          what: "the reason",
        });
        return said?.replaceAll(name, "NAME");
      }),
    );
    expect(one).toBe(other);
    await becomesReady(scene.source);
    expect(await view(hidden)).not.toMatchObject({ sync: { desired: 1 } });
  });

  it("that loses its labels gives its data up", async () => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    await api.merge(path, {
      metadata: {
        labels: { [labels.sharedSecretName]: null, [labels.sharedSecretNamespace]: null },
      },
    });
    expect(errorOf(await becomesEmpty(path))).toBeUndefined();
  });

  it("that loses all labels at once gives its data up", async () => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    const keys = [labels.sharedSecretName, labels.sharedSecretNamespace, labels.sourceUid];
    await api.merge(path, {
      metadata: { labels: Object.fromEntries(keys.map((key) => [key, null])) },
    });
    await becomesEmpty(path);
  });

  it("that loses all marks keeps its data as an unmanaged Secret", async () => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    const { metadata } = await api.find(path);
    const { resourceVersion } = metadata;
    await api.replace(path, {
      metadata: { name: path.slice(path.lastIndexOf("/") + 1), resourceVersion },
      data: dataOf("kept"),
    });
    await api.delete(scene.source.path);
    await becomesGone(scene.source.path);
    expect((await api.find(path)).data).toEqual(dataOf("kept"));
  });

  it("that asks for another SharedSecret has its data, or none", async () => {
    const scene = await makeScene();
    const { namespace } = scene.source;
    const other = await makeSharedSecret({
      namespace,
      annotations: to(scene.project),
      spec: { data: dataOf("other") },
    });
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    await api.merge(path, { metadata: { labels: asking(other) } });
    await becomesFilled(path, other, dataOf("other"));
    await api.merge(path, { metadata: { labels: asking({ namespace, name: "none" }) } });
    expect(errorOf(await becomesEmpty(path))).toMatch(/does not exist, or/);
  });
});

it.concurrent("a placeholder that asks for a SharedSecret that does not fit its type has no data of the former", async () => {
  const scene = await makeScene();
  const pair = { "tls.crt": base64("certificate"), "tls.key": base64("key") };
  await api.merge(scene.source.path, { spec: { data: { ...pair, first: null, second: null } } });
  const path = await makePlaceholder(scene, {
    type: "kubernetes.io/tls",
    data: { "tls.crt": "", "tls.key": "" },
  });
  await becomesFilled(path, scene.source, pair);
  const { uid } = (await api.find(path)).metadata;
  const other = await makeSharedSecret({
    namespace: scene.source.namespace,
    annotations: to(scene.project),
    spec: { data: dataOf("other") },
  });
  await api.merge(path, { metadata: { labels: asking(other) } });
  await becomesEmpty(path, { "tls.crt": "", "tls.key": "" });
  await becomes(
    "the reason",
    async () => errorOf(await api.find(path)) ?? "none",
    expect.stringMatching(/Invalid: .*tls\.(crt|key)/),
  );
  expect((await api.find(path)).metadata.uid).toBe(uid);
});

/** The namespace accepts copies, too, so that another copy can mark a reconcile. */
async function asksToo({ target }: Scene): Promise<object> {
  await api.merge(namespacePath(target), annotate({ [annotations.sync]: "enabled" }));
  return {};
}

/** Waits for an Event with a reason about an object. */
describe.concurrent("a placeholder that cannot have its data", () => {
  const cases: { rule: string; secret: object; says: RegExp }[] = [
    {
      rule: "names a data key that does not exist",
      secret: { annotations: { [annotations.syncKeys]: "a=none" } },
      says: /sync-keys: the SharedSecret has no data key "none"/,
    },
    {
      rule: "has an invalid sync-keys",
      secret: { annotations: { [annotations.syncKeys]: "a b=first" } },
      says: /sync-keys: "a b=first" is invalid/,
    },
    {
      rule: "has an empty sync-keys",
      secret: { annotations: { [annotations.syncKeys]: "" } },
      says: /sync-keys: is empty/,
    },
    { rule: "is immutable", secret: { immutable: true }, says: /immutable: is true/ },
    {
      rule: "has a type that the data does not fit",
      secret: { type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } },
      says: /Invalid: .*tls\.crt|Invalid: .*tls\.key/,
    },
  ];
  it.each(cases)("because it $rule keeps what it has, and says so", async ({ secret, says }) => {
    const scene = await makeScene();
    const { annotations: given, ...rest } = { annotations: {}, ...secret };
    const path = await makePlaceholder(scene, {
      data: { former: base64("former") },
      ...rest,
      metadata: { labels: asking(scene.source), annotations: given },
    });
    const before = await api.find(path);
    await becomes(
      "the reason",
      async () => errorOf(await api.find(path)) ?? "none",
      expect.stringMatching(says),
    );
    expect((await api.find(path)).data).toEqual(before.data);
    await becomes("the status", () => view(scene.source), {
      conditions: { Ready: { status: "True" }, Synced: { status: "False" } },
    });
  });

  it.each([
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
  ])("because it has the type %s is not written at all", async (type) => {
    const scene = await makeScene();
    // kube-controller-manager deletes a token of an account that does not exist.
    await api.create(`${namespacePath(scene.target)}/serviceaccounts`, {
      metadata: { name: "robot" },
    });
    const account = { "kubernetes.io/service-account.name": "robot" };
    const path = await makePlaceholder(scene, {
      type,
      metadata: { labels: asking(scene.source), annotations: account },
    });
    const isRefused = await becomesReported(scene.source);
    expect(isRefused).toMatch(/type: .* is not allowed/);
    expect(recordAt((await api.find(path)).metadata, "labels")).not.toHaveProperty([
      labels.sourceUid,
    ]);
  });

  it("and is of a type with required keys is emptied as far as the type allows", async () => {
    const types: Record<string, readonly [given: object, least: object]> = {
      "kubernetes.io/tls": [
        { "tls.crt": "", "tls.key": "" },
        { "tls.crt": "", "tls.key": "" },
      ],
      "kubernetes.io/basic-auth": [{ username: "" }, { username: "" }],
      "kubernetes.io/ssh-auth": [{ "ssh-privatekey": "IA==" }, { "ssh-privatekey": "IA==" }],
      "kubernetes.io/dockerconfigjson": [
        { ".dockerconfigjson": "e30=" },
        { ".dockerconfigjson": "e30=" },
      ],
      "kubernetes.io/dockercfg": [{ ".dockercfg": "e30=" }, { ".dockercfg": "e30=" }],
    };
    for (const [type, [given, least]] of Object.entries(types)) {
      const scene = await makeScene();
      const data = Object.fromEntries(
        Object.keys(given).map((key) => [key, base64(`{"auths":{}}`)]),
      );
      await api.merge(scene.source.path, {
        spec: { data: { ...data, first: null, second: null } },
      });
      const path = await makePlaceholder(scene, { type, data: given });
      await becomesFilled(path, scene.source, data);
      await api.merge(scene.source.path, annotate(to("none")));
      await becomesEmpty(path, least);
    }
  });
});

/** The message of the only failure in the status of a source. */
async function becomesReported(source: Place): Promise<string> {
  return eventually(
    async () => {
      const [failure] = listAt(recordAt({ sync: (await view(source)).sync }, "sync"), "failures");
      return stringAt(failure, "message");
    },
    { what: "the failure in the status" },
  );
}

describe.concurrent("a placeholder and copies", () => {
  it("with the name of a copy has what it asks for, and the other source says so", async () => {
    const scene = await makeScene();
    await asksToo(scene);
    const { source, project, target } = scene;
    const pushed = await makeSharedSecret({
      namespace: source.namespace,
      name: unique("pushed"),
      annotations: to(project),
      spec: { data: dataOf("pushed") },
    });
    await becomesReady(pushed);
    const path = secretPath(target, pushed.name);
    await api.merge(path, { metadata: { labels: asking(source) } });
    await becomesFilled(path, source, dataOf("first", "second"));
    await becomes("the conflict", () => view(pushed), {
      sync: { conflicts: 1, failures: [{ reason: "OtherRequest" }] },
    });
    await api.merge(path, {
      metadata: {
        labels: { [labels.sharedSecretName]: null, [labels.sharedSecretNamespace]: null },
      },
    });
    await becomesEmpty(path);
    await api.delete(path);
    await becomes("the copy", () => api.find(path), currentCopy(pushed, dataOf("pushed")));
  });

  it("with disable-sync is paused, and emptied all the same", async () => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    await api.merge(path, annotate({ [annotations.disableSync]: "true" }));
    await api.merge(scene.source.path, { spec: { data: dataOf("third") } });
    await becomes("the pause", () => view(scene.source), { sync: { desired: 0 } });
    expect((await api.find(path)).data).toEqual(dataOf("first", "second"));
    await api.merge(scene.source.path, annotate(to("none")));
    await becomesEmpty(path);
  });

  it("is deleted where its data is immutable and not permitted any more", async () => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    await api.merge(path, { immutable: true });
    await api.merge(scene.source.path, annotate(to("none")));
    await becomesGone(path);
  });
});

it.skipIf(!inject("hasPolicies"))(
  "Latchkey's account may empty a Secret that it has filled, and take no label off another",
  async () => {
    const scene = await makeScene();
    const path = await makePlaceholder(scene);
    await becomesFilled(path, scene.source, dataOf("first", "second"));
    const account = { user: "system:serviceaccount:latchkey-system:latchkey-controller" };
    const { metadata } = await api.find(path);
    const bare = { name: metadata.name, resourceVersion: metadata.resourceVersion };
    const kept = await as(account).replace(`${path}?dryRun=All`, {
      metadata: bare,
      data: dataOf("first"),
    });
    expect(kept.code).toBe(403);
    const emptied = await as(account).replace(`${path}?dryRun=All`, {
      metadata: bare,
      data: { first: "", second: "IA==", third: "e30=" },
    });
    expect(emptied.code).toBe(200);
  },
);

it("a namespace may ask only in a project, and in its own name", async () => {
  const { source } = await makeScene();
  const namespace = await makeNamespace();
  const name = unique("foreign");
  await makeSecret(namespace, name, { data: {}, metadata: { name, labels: asking(source) } });
  const path = secretPath(namespace, name);
  await becomes(
    "the reason",
    async () => errorOf(await api.find(path)) ?? "none",
    expect.stringMatching(/does not have the label management\.service\/project/),
  );
  expect(recordAt(await api.find(path), "data")).toEqual({});
  expect(await api.find(sharedSecretPath(namespace))).toMatchObject({
    code: 200,
  });
});
