import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import {
  type ConnectedAccess,
  connectedKubeconfig,
  prepareConnectedCluster,
} from "../support/connected-cluster.ts";
import { startControlPlane, type StartedControlPlane } from "../support/control-plane.ts";
import { type CanI, canIAt, canIRights, randomQuestion, randomScope } from "../support/can-i.ts";
import { eventually } from "../support/eventually.ts";
import { askGateway, gatewayUrl, openGatewayStream } from "../support/gateway-request.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { repository } from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import { api, unique } from "../support/policy-request.ts";
import { seededRandom } from "../support/seeded-random.ts";

const policies = join(repository, "config", "connected-policies");
const secretsPath = "/api/v1/namespaces/latchkey-clusters/secrets";

describe.skipIf(inject("gateway") === undefined)("a connected cluster", () => {
  const cluster = unique("east");
  const user = unique("alice");
  let connected: StartedControlPlane;
  let access: ConnectedAccess;

  const kubeconfig = (change: Parameters<typeof connectedKubeconfig>[1] = {}) =>
    connectedKubeconfig(access, change);

  const connect = async (
    labels: Readonly<Record<string, string>>,
    config: object | "none" = kubeconfig(),
  ): Promise<string> => {
    const name = unique("cluster");
    const data =
      config === "none"
        ? {}
        : { kubeconfig: Buffer.from(JSON.stringify(config)).toString("base64") };
    await api.create(secretsPath, { metadata: { name, labels }, type: "Opaque", data });
    return name;
  };

  const named = (name: string) => ({ "management.service/cluster": name });

  const askKey = (key: KnownKey, path: string) => askGateway({ key: key.key, path });
  const keyWith = async (scope?: object): Promise<KnownKey> => {
    const key = await makeKey({ spec: { user, ...(scope === undefined ? {} : { scope }) } });
    await eventually(
      async () => (await askKey(key, "/kubernetes/management/version")).status === 200,
      { what: "the key to work" },
    );
    return key;
  };
  const eventsOf = async (name: string): Promise<readonly string[]> => {
    const printed = await kubectl(inject("controlPlane"), [
      ...["get", "events.events.k8s.io", "--namespace=latchkey-clusters", "--output=json"],
    ]);
    return listAt(JSON.parse(printed), "items")
      .filter((event) => stringAt(recordAt(event, "regarding"), "name") === name)
      .map((event) => `${stringAt(event, "reason") ?? ""}: ${stringAt(event, "note") ?? ""}`);
  };

  beforeAll(async () => {
    const report = (line: string) => void process.stderr.write(`connected cluster: ${line}\n`);
    connected = await startControlPlane(await findOrBuildControlPlane(report));
    access = await prepareConnectedCluster(connected, 1);
    await kubectl(connected, [
      "create",
      "clusterrolebinding",
      "reader",
      "--clusterrole=view",
      `--user=${user}`,
    ]);
    await connect(named(cluster));
  });
  afterAll(() => connected?.stop());

  it("serves a key of a user who has rights there", async () => {
    const key = await keyWith();
    const path = `/kubernetes/cluster/${cluster}/api/v1/configmaps`;
    await eventually(async () => (await askKey(key, path)).status === 200, {
      what: "the cluster to be connected",
    });
    const { text } = await askGateway({
      key: key.key,
      method: "POST",
      path: `/kubernetes/cluster/${cluster}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
    });
    expect(JSON.parse(text)).toMatchObject({ status: { userInfo: { username: user } } });
    expect((await askKey(key, `/kubernetes/cluster/${cluster}/api/v1/secrets`)).status).toBe(403);
  });

  it("is not there under another name, nor without a key", async () => {
    const key = await keyWith();
    expect((await askKey(key, "/kubernetes/cluster/west/api/v1/configmaps")).status).toBe(404);
    const path = `/kubernetes/cluster/${cluster}/api/v1/configmaps`;
    expect((await askGateway({ path })).status).toBe(401);
  });

  it.each([
    ["names it", { clusters: [{ cluster }] }, 200],
    ["names all clusters", { clusters: [{ cluster: "*" }] }, 200],
    ["names another cluster", { clusters: [{ cluster: "west" }] }, 403],
    ["names a project", { projects: [{ project: "*" }] }, 403],
    ["has a rule for it", { rules: [{ cluster, requestTargets: ["Cluster"] }] }, 200],
    ["has a rule for another target", { rules: [{ requestTargets: ["Management"] }] }, 403],
    ["is empty", {}, 403],
  ])("is in a scope that %s: %j gives %s", async (_what, scope, status) => {
    const key = await keyWith(scope);
    const path = `/kubernetes/cluster/${cluster}/api/v1/namespaces/default/configmaps`;
    const isAnswered = async () => (await askKey(key, path)).status === status;
    expect(await eventually(isAnswered, { what: `status ${status}` })).toBe(true);
  });

  it("answers kubectl auth can-i as it does requests", async () => {
    const asker = unique("asker");
    for (const args of canIRights(asker)) await kubectl(connected, args);
    const { ca: certificateAuthority = "" } = inject("gateway") ?? {};
    const way = {
      prefix: `/kubernetes/cluster/${cluster}`,
      server: { url: gatewayUrl().origin, certificateAuthority },
      kubectl: inject("controlPlane"),
    };
    const withScope = async (scope: object): Promise<CanI> => {
      const { key } = await makeKey({ spec: { user: asker, scope } });
      return canIAt(key, way);
    };
    const random = seededRandom(8);
    for (let scopes = 0; scopes < 5; scopes += 1) {
      const scope = randomScope(random, cluster);
      const canI = await withScope(scope);
      const questions = Array.from({ length: 4 }, () => randomQuestion(random));
      const answers = await Promise.all(questions.map((question) => canI.ask(question)));
      const all = questions.map((question, index) => ({ scope, ...question, ...answers[index] }));
      expect(all.filter(({ says, is }) => says !== is)).toEqual([]);
    }
    const canI = await withScope({ rules: [{ verbs: ["get", "list"], namespaces: ["web"] }] });
    const answerTo = async (args: readonly string[]) => (await canI.run(args)).stdout.trim();
    expect(await answerTo(["list", "pods", "--namespace=web"])).toBe("yes");
    expect(await answerTo(["delete", "pods", "--namespace=web"])).toBe(
      "no - the scope of this credential does not allow delete pods in namespace web: " +
        "no entry of the scope covers it",
    );
    for (const args of [
      ["*", "pods"],
      ["list", "*"],
      ["get", "pods", "--subresource=*"],
    ])
      expect(await answerTo([...args, "--namespace=web"])).toMatch(/^no - the scope of this/);
    const list = await canI.run(["--list", "--namespace=web"]);
    expect(list.stdout).toMatch(/^configmaps +/m);
    expect(list.stderr).toContain("the list may be incomplete: the credential narrows these rules");
  });

  it("has guarded namespaces of its own: where its policy says that Latchkey runs", async () => {
    const [name, reader] = [unique("edge"), unique("reader")];
    for (const args of [
      ["create", "namespace", "lk-edge"],
      ["-n", "lk-edge", "create", "secret", "generic", "latchkey-central"],
      ["-n", "default", "create", "secret", "generic", "another"],
      ["create", "clusterrolebinding", reader, "--clusterrole=edit", `--user=${reader}`],
    ])
      await kubectl(connected, args);
    const policy = await kubectl(connected, ["kustomize", policies]);
    await kubectl(connected, ["apply", "--server-side", "--force-conflicts", "--filename=-"], {
      input: policy.replaceAll("latchkey-system:", "lk-edge:"),
    });
    await connect(named(name));
    const keyFor = (namespaces: readonly string[]) =>
      makeKey({
        spec: {
          user: reader,
          scope: {
            rules: [
              { cluster: name, namespaces, resources: [{ group: "", resources: ["secrets"] }] },
            ],
          },
        },
      });
    const [anywhere, there] = [await keyFor([]), await keyFor(["lk-edge"])];
    const status = async (key: KnownKey, path: string) =>
      (await askKey(key, `/kubernetes/cluster/${name}/api/v1/namespaces/${path}`)).status;
    await eventually(async () => (await status(anywhere, "default/secrets/another")) === 200, {
      what: "the cluster to be connected",
    });
    expect(await status(anywhere, "lk-edge/secrets/latchkey-central")).toBe(403);
    expect(await status(there, "lk-edge/secrets/latchkey-central")).toBe(200);
  });

  it("is in no scope for a name that is not connected", async () => {
    const key = await keyWith({ clusters: [{ cluster: "*" }] });
    expect((await askKey(key, "/kubernetes/cluster/west/api/v1/configmaps")).status).toBe(403);
  });

  it("may be a virtual cluster of a project", async () => {
    await connect({
      "management.service/project": "web",
      "management.service/virtual-cluster": "dev",
    });
    const path = "/kubernetes/project/web/virtualcluster/dev/api/v1/configmaps";
    const key = await keyWith({ virtualClusters: [{ project: "web", virtualCluster: "dev" }] });
    await eventually(async () => (await askKey(key, path)).status === 200, {
      what: "the virtual cluster to be connected",
    });
    const other = await keyWith({ virtualClusters: [{ project: "web", virtualCluster: "prod" }] });
    expect((await askKey(other, path)).status).toBe(403);
  });

  it("is in a rule for the namespace of a virtual cluster, which its Secret names", async () => {
    const [name, annotation] = [unique("dev"), "management.service/virtual-cluster-namespace"];
    const secret = await connect({
      "management.service/project": "web",
      "management.service/virtual-cluster": name,
    });
    const annotate = (namespace: string) =>
      api.merge(`${secretsPath}/${secret}`, {
        metadata: { annotations: { [annotation]: namespace } },
      });
    const key = await keyWith({
      rules: [{ virtualClusters: [{ name: "", namespace: "vc-web" }] }],
    });
    const path = `/kubernetes/project/web/virtualcluster/${name}/api/v1/configmaps`;
    const becomes = (status: number) =>
      eventually(async () => (await askKey(key, path)).status === status, {
        what: `status ${status}`,
      });
    await becomes(403);
    await annotate("vc-web");
    await becomes(200);
    await annotate("vc-pay");
    await becomes(403);
    await annotate("no label");
    const isReported = async () =>
      (await eventsOf(secret)).find((event) => event.startsWith("InvalidVirtualClusterNamespace"));
    expect(await eventually(isReported, { what: "the Event" })).toContain("must be a DNS label");
  });

  it.each([
    [
      "a program",
      { user: { exec: { command: "touch", args: ["run-by-gateway"] } } },
      "users[].user.exec",
    ],
    ["a file", { user: { tokenFile: "/etc/passwd" } }, "users[].user.tokenFile"],
    ["another user", { user: { as: "root" } }, "users[].user.as"],
    [
      "no verification",
      { cluster: { "insecure-skip-tls-verify": true } },
      "insecure-skip-tls-verify",
    ],
    ["a proxy", { cluster: { "proxy-url": "http://proxy" } }, "clusters[].cluster.proxy-url"],
    ["plain HTTP", { cluster: { server: "http://127.0.0.1:1" } }, "clusters[].cluster.server"],
  ])(
    "is not connected by a kubeconfig with %s, and an Event says so",
    async (_what, change, field) => {
      const name = unique("bad");
      const secret = await connect(named(name), kubeconfig(change));
      await eventually(
        async () =>
          (await eventsOf(secret)).some(
            (event) => event.startsWith("InvalidKubeconfig") && event.includes(field),
          ),
        { what: "the Event" },
      );
      const key = await keyWith();
      expect((await askKey(key, `/kubernetes/cluster/${name}/api/v1/configmaps`)).status).toBe(404);
    },
  );

  it("is not there without a kubeconfig, which is no fault", async () => {
    const [name, broken] = [unique("agent"), unique("broken")];
    const secret = await connect(named(name), "none");
    const empty = await api.create(secretsPath, {
      metadata: { name: broken, labels: named(broken) },
      data: { kubeconfig: "" },
    });
    const key = await keyWith();
    const path = `/kubernetes/cluster/${name}/api/v1/configmaps`;
    const isReported = async () => (await eventsOf(empty.metadata.name ?? "")).length > 0;
    await eventually(isReported, { what: "the Event of an empty kubeconfig" });
    expect((await askKey(key, path)).status).toBe(404);
    expect(await eventsOf(secret)).toEqual([]);
    const change = (config: string | null) =>
      api.merge(`${secretsPath}/${secret}`, { data: { kubeconfig: config } });
    const becomes = (status: number) =>
      eventually(async () => (await askKey(key, path)).status === status, {
        what: `status ${status}`,
      });
    await change(Buffer.from(JSON.stringify(kubeconfig())).toString("base64"));
    await becomes(200);
    await change(null);
    await becomes(404);
    expect(await eventsOf(secret)).toEqual([]);
  });

  it("is that of the older of two Secrets; an Event is about the younger", async () => {
    const younger = await connect(
      named(cluster),
      kubeconfig({ cluster: { server: "https://127.0.0.1:1" } }),
    );
    await eventually(
      async () => (await eventsOf(younger)).some((event) => event.startsWith("DuplicateCluster")),
      { what: "the Event" },
    );
    const key = await keyWith();
    expect((await askKey(key, `/kubernetes/cluster/${cluster}/api/v1/configmaps`)).status).toBe(
      200,
    );
  });

  it("is reachable in the metrics, unless it refuses the credential or has no usable kubeconfig", async () => {
    const [refused, unusable] = [unique("refused"), unique("unusable")];
    await connect(named(refused), kubeconfig({ user: { token: "another" } }));
    await connect(named(unusable), {});
    const isShown = (text: string, name: string, value: 0 | 1) =>
      text.includes(`latchkey_connected_cluster_reachable{cluster="cluster/${name}"} ${value}\n`);
    const isWhole = async () => {
      const text = await (await fetch(`${inject("gateway")?.metricsUrls[0]}/metrics`)).text();
      return (
        [refused, unusable].every((name) => isShown(text, name, 0)) && isShown(text, cluster, 1)
      );
    };
    const what = "the state of the clusters in the metrics";
    expect(await eventually(isWhole, { what })).toBe(true);
  });

  it("ends its streams when its Secret changes or goes", async () => {
    const name = unique("changing");
    const secret = await connect(named(name));
    const key = await keyWith();
    const path = `/kubernetes/cluster/${name}/api/v1/configmaps`;
    await eventually(async () => (await askKey(key, path)).status === 200, {
      what: "it to be connected",
    });
    const stream = openGatewayStream({ key: key.key, path: `${path}?watch=1&resourceVersion=0` });
    expect(await stream.opened).toBe(200);
    await api.merge(`${secretsPath}/${secret}`, {
      data: { kubeconfig: Buffer.from("{}").toString("base64") },
    });
    await stream.ended;
    await eventually(async () => (await askKey(key, path)).status === 404, {
      what: "it to be gone",
    });
  });
});

describe.skipIf(inject("gateway") === undefined)("a space", () => {
  const [inside, outside] = [unique("inside"), unique("outside")];
  const space = "/kubernetes/project/web/space/dev";
  const admins = unique("admins");
  let key: KnownKey;

  beforeAll(async () => {
    for (const [name, labels] of [
      [inside, { "management.service/project": "web", "management.service/space": "dev" }],
      [outside, { "management.service/project": "web" }],
    ] as const) {
      await api.create("/api/v1/namespaces", { metadata: { name, labels } });
    }
    await api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: admins },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: admins }],
    });
    key = await makeKey({ spec: { user: "alice", groups: [admins] } });
    await eventually(
      async () => (await askGateway({ key: key.key, path: `${space}/version` })).status === 200,
      { what: "the key to work" },
    );
  });

  it.each([
    ["objects in its namespaces", () => `/api/v1/namespaces/${inside}/secrets`, 200],
    ["its namespaces", () => `/api/v1/namespaces/${inside}`, 200],
    ["discovery", () => "/apis", 200],
    ["objects in other namespaces", () => `/api/v1/namespaces/${outside}/secrets`, 403],
    ["other namespaces", () => `/api/v1/namespaces/${outside}`, 403],
    ["objects of all namespaces", () => "/api/v1/secrets", 403],
    ["the list of namespaces", () => "/api/v1/namespaces", 403],
    ["objects in no namespace", () => "/api/v1/nodes", 403],
    ["metrics of the API server", () => "/metrics", 403],
  ])("shows %s, whatever the user may do", async (_what, path, status) => {
    const answer = async () => (await askGateway({ key: key.key, path: space + path() })).status;
    const isAnswered = async () => (await answer()) === status;
    expect(await eventually(isAnswered, { what: `status ${status}` })).toBe(true);
  });

  it.each([
    ["is in the scope of a key that names it", "dev", 200],
    ["is in the scope of a key that names all spaces", "*", 200],
    ["is not in the scope of a key that names another space", "prod", 403],
  ])("%s", async (_what, named, status) => {
    const scope = { spaces: [{ project: "web", space: named }] };
    const scoped = await makeKey({ spec: { user: "alice", groups: [admins], scope } });
    const ask = (path: string) => askGateway({ key: scoped.key, path: space + path });
    const isAnswered = async () => {
      const answer = await ask(`/api/v1/namespaces/${inside}/configmaps`);
      const isScope = answer.text.includes("the scope of this credential");
      return answer.status === status && isScope === (status === 403);
    };
    expect(await eventually(isAnswered, { what: `status ${status}` })).toBe(true);
  });
});
