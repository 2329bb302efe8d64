import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Agent, fetch } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuditRecord, latchkeyRecords } from "../support/audit-log.ts";
import { get, mergePatch, post, remove } from "../support/cluster-connection.ts";
import {
  connectCluster,
  connectVirtualCluster,
  prepareConnectedCluster,
} from "../support/connected-cluster.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { startControlPlane, type StartedControlPlane } from "../support/control-plane.ts";
import { derivedRequests } from "../support/derived-requests.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { alice, connectedName, type DirectFixture, tokenPath } from "../support/direct-fixture.ts";
import { keysPath, postKey, withKey } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayCa, managementPath } from "../support/gateway-address.ts";
import {
  apply,
  applyDirectAuthorizerRbac,
  applyGateway,
  policiesCount,
  repository,
} from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import {
  type GatewayProcess,
  startDirectAuthorizer,
  type WebhookProcess,
} from "../support/latchkey-process.ts";
import { unique } from "../support/policy-request.ts";
import { isAtLength } from "../support/property-runs.ts";
import {
  comparable,
  coversByLabel,
  coversByPath,
  scopedObjects,
  scopedRequests,
  scopeRows,
} from "../support/scope-table.ts";
import { trustTokens } from "../support/trust.ts";
import { askAt, gatewayKnows, type KeyedRequest, type WayIn } from "../support/ways-in.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { startTrustingCluster, type TrustingCluster } from "../support/trusting-cluster.ts";
import { describeTokens } from "./direct-tokens.ts";

const parent = `${keysPath}/parent`;
const rule = (verbs: readonly string[], resource: string, namespaces: readonly string[] = []) => ({
  rules: [{ verbs, resources: [{ group: "", resources: [resource] }], namespaces }],
});

const names = { web: unique("web"), pay: unique("pay"), other: unique("other") };
const requests = scopedRequests(names);
const inCluster = (...clusters: readonly string[]) => ({
  rules: clusters.map((cluster) => ({ cluster, requestTargets: ["Cluster"] })),
});
const connectedScopes = [
  ...scopeRows(names.web),
  ["this cluster", { clusters: [{ cluster: "east" }] }],
  // A token for one other cluster is not accepted at all.
  ["other clusters", { clusters: [{ cluster: "west" }, { cluster: "north" }] }],
  ["a rule for this cluster", inCluster("east")],
  ["rules for other clusters", inCluster("west", "north")],
] as const;
/** Every eighth scope, and all of them in `make verify`. */
const askedScopes = connectedScopes.filter((_row, index) => isAtLength || index % 8 === 0);
/** The scopes that cover the first request, which is to list ConfigMaps of a namespace. */
const allowsFirst: ReadonlySet<string> = new Set([
  ...[...coversByLabel, "all clusters", "this cluster", "a rule for this cluster"],
  "a rule with the target Cluster",
]);
const [firstRequest = { path: "" }] = requests;

const ofScopes = [
  ...["namespaces", "selfsubjectreviews"],
  ...["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
];

let fixture: TrustingCluster;

beforeAll(async () => {
  if (hasDedicatedClusters) fixture = await startTrustingCluster(allowRequesters);
});
afterAll(() => fixture?.stop());

describe.skipIf(!hasDedicatedClusters)("a connected cluster that trusts direct tokens", () => {
  describeTokens(() => fixture);
});

describe.skipIf(!hasDedicatedClusters)("the authorizer of a connected cluster", () => {
  let central: DirectFixture["central"];
  let connected: DirectFixture["connected"];
  /** Another connected cluster, which only the gateway reaches. */
  let west: StartedControlPlane;
  let controller: DirectFixture["controller"];
  let endpoint: DirectFixture["endpoint"];
  let authorizer: WebhookProcess;
  let dispatcher: Agent;
  let printed: string;
  let gateway: GatewayProcess;
  let ways: Readonly<Record<"server" | "endpoint" | "gateway" | "virtual", WayIn>>;

  const mint: DirectFixture["mint"] = (...wanted) => fixture.mint(...wanted);

  async function ask(server: string, token: string, path: string) {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(server + path, { dispatcher, headers });
    return { status: response.status, text: await response.text() };
  }
  const atServer = (token: string, path: string) => ask(connected.url, token, path);
  const atEndpoint = (token: string, path: string) =>
    ask(`${endpoint.endpointUrl}/kubernetes/cluster`, token, path);

  /** Waits until the second API server refuses the token, and prints how long it took. */
  async function refusedAfter(what: string, token: string): Promise<void> {
    const began = Date.now();
    const isRefused = async () => (await atServer(token, "/api/v1/pods")).status === 403;
    await eventually(isRefused, { what: `the token to be refused: ${what}` });
    process.stderr.write(`authorizer: refused ${Date.now() - began} ms after ${what}\n`);
    expect((await atServer(token, "/api/v1/pods")).text).toContain("the token was revoked");
  }

  beforeAll(async () => {
    ({ central, connected, controller, endpoint } = fixture);
    const { controlPlane: management, program } = central;
    const { issuerUrl: issuer } = controller;
    const issuerAuthority = join(connected.directory, "issuer-ca.crt");
    await applyDirectAuthorizerRbac(connected);
    authorizer = await startDirectAuthorizer({
      controlPlane: connected,
      program,
      restart: "never",
      args: [
        ...[`--cluster-name=${connectedName}`, `--issuer=${issuer}`],
        `--certificate-authority=${issuerAuthority}`,
      ],
    });
    await authorizer.waitReady();
    const { webhookUrl } = authorizer;
    ({ printed } = await trustTokens(connected, {
      management,
      issuer,
      name: connectedName,
      authorizer: { webhookUrl, issuerAuthority },
    }));
    await applyGateway(management);
    gateway = await central.runGateway();
    await gateway.waitReady();
    const access = await prepareConnectedCluster(connected, 1);
    await connectCluster(management, "east", access);
    await connectVirtualCluster(management, "v1", { ...access, project: names.web });
    const { certificateAuthority: endpointCa } = fixture.server;
    const at = (url: string, certificateAuthority: string) => ({
      server: { url, certificateAuthority },
    });
    ways = {
      server: { prefix: "", server: connected },
      endpoint: { prefix: "/kubernetes/cluster", ...at(endpoint.endpointUrl, endpointCa) },
      gateway: {
        prefix: "/kubernetes/cluster/east",
        ...at(gateway.gatewayUrl, await gatewayCa(management)),
      },
      virtual: {
        prefix: `/kubernetes/project/${names.web}/virtualcluster/v1`,
        ...at(gateway.gatewayUrl, await gatewayCa(management)),
      },
    };
    const ca = [connected.certificateAuthority, endpointCa];
    dispatcher = new Agent({ connect: { ca } });
    west = await startControlPlane(
      await findOrBuildControlPlane((line) => void process.stderr.write(`west: ${line}\n`)),
    );
    for (const cluster of [management, connected, west])
      await kubectl(cluster, [
        ...["create", "clusterrolebinding", "administrators", "--clusterrole=cluster-admin"],
        "--group=devs",
      ]);
    for (const request of scopedObjects(names)) {
      await fixture.arrange(request);
      await central.arrange(request);
    }
    await policiesCount(management);
    const first = await mint("first");
    const isTrusted = async () => (await atServer(first, "/api/v1/pods")).status === 200;
    await eventually(isTrusted, { what: "kube-apiserver to trust the issuer" });
    const reader = await mint("reader", { scope: { roles: [{ role: names.web }] } });
    for (const way of [atServer, atEndpoint]) {
      const hasRole = async () => (await way(reader, firstRequest.path)).status === 200;
      await eventually(hasRole, { what: "the role to be published" });
    }
  });
  afterAll(async () => {
    await dispatcher?.close();
    await gateway?.stop();
    await authorizer?.stop();
    await west?.stop();
  });

  const paths = [
    "/api/v1/pods",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/secrets",
    "/api/v1/namespaces/latchkey-system/secrets",
    "/api/v1/nodes",
    "/apis",
    "/metrics",
  ];
  it.for<[string, object | undefined, readonly number[]]>([
    ["none", undefined, [200, 200, 200, 200, 200, 200, 200, 200, 200]],
    ["pods", rule(["get", "list"], "pods"), [200, 200, 403, 403, 403, 403, 403, 200, 403]],
    [
      "pods of a namespace",
      rule(["list"], "pods", ["default"]),
      [403, 200, 403, 403, 403, 403, 403, 200, 403],
    ],
    [
      "this cluster",
      { clusters: [{ cluster: "east" }] },
      [200, 200, 200, 200, 403, 403, 200, 200, 200],
    ],
    [
      "other clusters",
      { clusters: [{ cluster: "west" }, { cluster: "north" }] },
      [403, 403, 403, 403, 403, 403, 403, 200, 403],
    ],
  ])("gives the verdicts of the direct endpoint: %s", async ([name, scope, expected]) => {
    const token = await mint(`scope-${name.replaceAll(" ", "-")}`, scope && { scope });
    const statuses = async (way: typeof atServer) =>
      Promise.all(paths.map(async (path) => (await way(token, path)).status));
    const [server, direct] = [await statuses(atServer), await statuses(atEndpoint)];
    expect(server).toEqual(direct);
    expect(server).toEqual(expected);
  });

  /** A key of this scope that the gateway knows. */
  const credential = async (scope: object | undefined) => {
    const key = { key: `row-${randomBytes(24).toString("hex")}` };
    const spec = { user: "alice", groups: ["devs"], ...key, ...(scope && { scope }) };
    await central.arrange(postKey(unique("row"), spec));
    await gatewayKnows(key, ways.gateway);
    return key;
  };

  it.concurrent.for(askedScopes)(
    "gives the verdicts of every other way in: %s",
    async ([name, scope]) => {
      const token = { key: await mint(unique("row"), scope && { scope }) };
      const key = await credential(scope);
      const through = async (by: typeof key, way: WayIn) => {
        const answers = [];
        for (const request of requests) {
          const answer = comparable(await askAt(by, request, way));
          answers.push([request.method ?? "GET", request.path, answer] as const);
        }
        return answers;
      };
      const [server, direct, gated] = await Promise.all([
        through(token, ways.server),
        through(token, ways.endpoint),
        through(key, ways.gateway),
      ]);
      expect(direct).toEqual(server);
      expect(gated).toEqual(server);
      expect(server[0]?.[2].isScope).toBe(!allowsFirst.has(name));
      const virtual = comparable(await askAt(key, firstRequest, ways.virtual));
      expect(virtual.isScope).toBe(!coversByPath.has(name));
    },
  );

  it("gives a role the meaning that it has in the central cluster now", async () => {
    const name = unique("reader");
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    const readable = { apiGroups: [""], resources: ["configmaps"], verbs: ["list"] };
    const labels = { "management.service/scope-role": name };
    // A ClusterRole of the connected cluster with the same label means nothing.
    const wide = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
    await fixture.arrange(post(roles, { metadata: { name, labels }, rules: [wide] }));
    const scope = { roles: [{ role: name }] };
    const [token, key] = [{ key: await mint(name, { scope }) }, await credential(scope)];
    const inProject = `/api/v1/namespaces/${names.web}`;
    const asked = [
      ...[`${inProject}/configmaps`, `${inProject}/configmaps/one`, `${inProject}/secrets`],
      ...["/api/v1/configmaps", `/api/v1/namespaces/${names.other}/configmaps`],
    ];
    const become = (expected: readonly number[]) =>
      eventually(
        async () => {
          const codes = async (by: typeof key, way: WayIn) =>
            Promise.all(asked.map(async (path) => (await askAt(by, { path }, way)).code));
          const found = await Promise.all([
            ...[codes(token, ways.server), codes(token, ways.endpoint)],
            ...[codes(key, ways.gateway), codes(key, ways.virtual)],
          ]);
          // Everything in the virtual cluster is in its project.
          const all = expected[0] === 200 ? [200, 403, 403, 200, 200] : asked.map(() => 403);
          return isDeepStrictEqual(found, [expected, expected, expected, all]);
        },
        { what: `the role to mean ${expected.join(" ")} at all fronts` },
      );
    expect(await become([403, 403, 403, 403, 403])).toBe(true);
    await central.arrange(post(roles, { metadata: { name, labels }, rules: [readable] }));
    expect(await become([200, 403, 403, 403, 403])).toBe(true);
    await central.arrange(mergePatch(`${roles}/${name}`, { rules: [] }));
    expect(await become([403, 403, 403, 403, 403])).toBe(true);
  });

  describe("labels of namespaces", () => {
    const way = () => ({ ...ways.gateway, prefix: "/kubernetes/cluster/west" });
    const labelled = (name: string, project: string) =>
      kubectl(west, ["label", "namespace", name, `management.service/project=${project}`]);
    const become = (statuses: object, key: { readonly key: string }) =>
      eventually(
        async () => {
          const answers = Object.keys(statuses).map(async (name) => {
            const path = `/api/v1/namespaces/${name}/configmaps`;
            return [name, (await askAt(key, { path }, way())).code] as const;
          });
          const found = Object.fromEntries(await Promise.all(answers));
          return JSON.stringify(found) === JSON.stringify(statuses);
        },
        { what: JSON.stringify(statuses) },
      );

    it("count in a cluster once it has the policy that guards them, those from before, too", async () => {
      await connectCluster(central.controlPlane, "west", await prepareConnectedCluster(west, 1));
      await kubectl(west, ["delete", "-k", join(repository, "config", "connected-policies")]);
      const [before, later, other] = [unique("before"), unique("later"), unique("other")];
      for (const name of [before, later, other]) await kubectl(west, ["create", "namespace", name]);
      await labelled(before, names.web);
      await labelled(other, names.pay);
      const key = await credential({ projects: [{ project: names.web }] });
      const path = `/api/v1/namespaces/${before}/configmaps`;
      const isConnected = async () => (await askAt(key, { path }, way())).code === 403;
      await eventually(isConnected, { what: "the cluster to be connected" });
      expect((await askAt(key, { path }, way())).message).toContain(
        'cover nothing in this cluster: ValidatingAdmissionPolicy "latchkey-project-assignment" ' +
          "does not exist in this cluster",
      );
      await apply(west, join("config", "connected-policies"));
      await become({ [before]: 200, [later]: 403, [other]: 403 }, key);
      await labelled(later, names.web);
      await become({ [before]: 200, [later]: 200, [other]: 403 }, key);
      expect((await askAt(key, { path: "/api/v1/configmaps" }, way())).code).toBe(403);
      await kubectl(west, ["delete", "namespace", before, "--wait=false"]);
      await kubectl(west, ["label", "namespace", later, "management.service/project-"]);
      await become({ [later]: 403, [other]: 403 }, key);
    });

    it("are not set by a tenant, who may change the namespace", async () => {
      const name = unique("tenant");
      await kubectl(west, ["create", "namespace", name]);
      const may = ["--verb=get,update,patch", "--resource=namespaces"];
      await kubectl(west, ["create", "clusterrole", name, ...may]);
      await kubectl(west, [
        ...["create", "clusterrolebinding", name, `--clusterrole=${name}`, `--user=${name}`],
      ]);
      const label = `management.service/project=${names.web}`;
      await expect(
        kubectl(west, ["label", "namespace", name, label, `--as=${name}`]),
      ).rejects.toThrow("requires the verb assign");
      await kubectl(west, ["label", "namespace", name, "another=label", `--as=${name}`]);
    });
  });

  describe("derived credentials", () => {
    const everything = { rules: [{}], projects: [{ project: names.web }] };
    const rows = derivedRequests(names.web);
    /** A token at the fronts of the connected cluster, and a key at the gateway. */
    const credentials = async (scope?: object) => {
      const key = await credential(scope);
      return { token: { key: await mint(unique("derived"), scope && { scope }) }, key };
    };
    const opaque: KeyedRequest = {
      method: "POST",
      path: `/api/v1/namespaces/${names.web}/secrets?dryRun=All`,
      body: { metadata: { name: "derived" } },
    };

    it.each<[string, object | undefined, readonly string[]]>([
      ["this cluster", { clusters: [{ cluster: "east" }] }, []],
      ["everything", { ...everything, clusters: [{ cluster: "*" }] }, ["management"]],
      ["no scope", undefined, ["management"]],
    ])("are denied at every front in every cluster: %s", async (_what, scope, more) => {
      const { token, key } = await credentials(scope);
      const management = { ...ways.gateway, prefix: managementPath };
      const fronts = [
        ...[["kube-apiserver", token, ways.server] as const],
        ...[["direct endpoint", token, ways.endpoint] as const],
        ...[["gateway", key, ways.gateway] as const],
        ...more.map((name) => [name, key, management] as const),
      ];
      const denied = rows.filter(({ deniedBy }) => scope !== undefined || deniedBy === "policy");
      for (const [name, by, way] of fronts) {
        expect([name, (await askAt(by, opaque, way)).code]).toEqual([name, 201]);
        const answers = [];
        for (const row of denied) {
          const { code, message } = await askAt(by, row, way);
          const policy = message.includes("latchkey-derived-credentials") ? "policy" : "scope";
          answers.push([row.what, code, row.deniedBy === "policy" ? policy : "scope"]);
        }
        expect([name, answers]).toEqual([
          name,
          denied.map(({ what, deniedBy }) => [what, 403, deniedBy]),
        ]);
      }
    });

    it("are denied by the gateway in a cluster without the policy, and by the policy once it is there", async () => {
      const way = { ...ways.gateway, prefix: "/kubernetes/cluster/west" };
      const { key } = await credentials({ clusters: [{ cluster: "west" }] });
      const unscoped = (await credentials()).key;
      await connectCluster(central.controlPlane, "west", await prepareConnectedCluster(west, 1));
      const policies = join("config", "connected-policies");
      await kubectl(west, ["delete", "-k", join(repository, policies)]);
      await kubectl(west, ["create", "namespace", names.web]);
      const works = async () => (await askAt(unscoped, opaque, way)).code === 201;
      await eventually(works, { what: "the cluster to be connected" });
      expect(await askAt(key, opaque, way)).toMatchObject({
        code: 403,
        message: expect.stringContaining("apply config/connected-policies"),
      });
      const configMap = { ...opaque, path: opaque.path.replace("secrets", "configmaps") };
      expect((await askAt(key, configMap, way)).code).toBe(201);
      await apply(west, policies);
      const isGuarded = async () => (await askAt(key, opaque, way)).code === 201;
      await eventually(isGuarded, { what: "the policy to be old enough" });
      const [accountToken] = rows;
      if (accountToken === undefined) throw new Error("no row");
      expect(await askAt(key, accountToken, way)).toMatchObject({
        code: 403,
        message: expect.stringContaining("latchkey-derived-credentials"),
      });
    });
  });

  it.each([
    ["direct-endpoint", [...ofScopes, "secrets", "selfsubjectaccessreviews"]],
    ["direct-authorizer", [...ofScopes, "secrets"]],
  ])(
    "needs nothing of the cluster but what the shipped RBAC allows: %s",
    async (name, resources) => {
      const account = `system:serviceaccount:latchkey-system:latchkey-${name}`;
      const ownRecords = () =>
        latchkeyRecords(connected.auditLogPath ?? "").filter(
          ({ user, impersonatedUser }) =>
            user.username === account && impersonatedUser === undefined,
        );
      const kind = ({ verb, objectRef }: AuditRecord) => `${verb} ${objectRef?.resource ?? "path"}`;
      const isServed = ({ responseStatus }: AuditRecord) => (responseStatus?.code ?? 500) < 300;
      // While kube-apiserver restarts, it has no roles yet: what it refuses then is asked again.
      const neverServed = () => {
        const own = ownRecords();
        const served = new Set(own.filter(isServed).map(kind));
        return own.map(kind).filter((one) => !served.has(one));
      };
      await expect.poll(neverServed).toEqual([]);
      const own = ownRecords();
      const asked = new Set(own.flatMap(({ objectRef }) => objectRef?.resource ?? []));
      expect([...asked].toSorted()).toEqual(resources.toSorted());
      expect(own.map(({ requestURI }) => requestURI)).toContain("/version");
    },
  );

  it.each(["direct-endpoint", "direct-authorizer"])(
    "creates the Secret of its certificates again, which the policies allow: %s",
    async (program) => {
      const secret = `/api/v1/namespaces/latchkey-system/secrets/latchkey-${program}-certificates`;
      const { metadata } = await fixture.arrange(get(secret));
      await fixture.arrange(remove(secret));
      const isNew = async () => (await fixture.arrange(get(secret))).metadata.uid !== metadata.uid;
      const isMade = () => isNew().catch(() => false);
      expect(await eventually(isMade, { what: "a new Secret" })).toBe(true);
    },
  );

  it("says in its files what it decides, and what it cannot end", () => {
    expect(printed).toContain("--authorization-config=");
    expect(printed).toContain("continues until it ends");
  });

  it("refuses the token of a deleted object", async () => {
    const token = await mint("deleted");
    expect((await atServer(token, "/api/v1/pods")).status).toBe(200);
    const path = tokenPath("deleted");
    expect(await central.ask(alice, remove(path))).toMatchObject({ code: 200 });
    await refusedAfter("its object was deleted", token);
  });

  it("refuses a token while its key is disabled, and after its key is deleted", async () => {
    const spec = { user: "alice", ttl: 3600, key: `parent-${"k".repeat(40)}` };
    const { metadata } = await central.arrange(postKey("parent", spec));
    const token = await mint("child-of-key", {}, withKey(alice, metadata));
    await central.arrange(mergePatch(parent, { spec: { disabled: true } }));
    await refusedAfter("its key was disabled", token);
    await central.arrange(mergePatch(parent, { spec: { disabled: false } }));
    const works = async () => (await atServer(token, "/api/v1/pods")).status === 200;
    await eventually(works, { what: "the token of a key that works again" });
    await central.arrange(remove(parent));
    await refusedAfter("its key was deleted", token);
    expect((await atEndpoint(token, "/api/v1/pods")).status).toBe(401);
  });

  it("returns nothing to a client without the certificate of kube-apiserver", async () => {
    const anyone = new Agent({ connect: { rejectUnauthorized: false } });
    const answers = ["/access-review", "/token-review"].map(async (path) => {
      const init = { dispatcher: anyone, method: "POST", body: "{}" };
      const response = await fetch(authorizer.webhookUrl + path, init);
      return [response.status, (await response.text()).includes("scope")];
    });
    const [review, other] = await Promise.all(answers);
    expect(review).toEqual([401, false]);
    expect(other).toEqual([404, false]);
    await anyone.close();
  });

  it("still decides while the central cluster is away, also after a restart; and direct tokens are denied while the authorizer is away", async () => {
    const [valid, revoked] = [await mint("valid"), await mint("gone")];
    await central.arrange(remove(tokenPath("gone")));
    await refusedAfter("its object was deleted", revoked);
    const isKept = async () => {
      const data = await kubectl(connected, [
        ...["get", "secret", "latchkey-direct-authorizer-keys", "--namespace=latchkey-system"],
        "--output=jsonpath={.data}",
      ]);
      return data.includes("revoked.jwt");
    };
    await eventually(isKept, { what: "the list to be kept" });
    // Each replica keeps at most one list in 5 s.
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    controller.kill("SIGKILL");
    await controller.exited();
    authorizer.kill("SIGKILL");
    await authorizer.exited();
    // kube-apiserver answers 500 when an authorizer does not.
    const isAway = async () => (await atServer(valid, "/api/v1/pods")).status === 500;
    await eventually(isAway, { what: "direct tokens to be denied without the authorizer" });
    await kubectl(connected, ["get", "pods", "--all-namespaces"]);
    authorizer.start();
    await authorizer.waitReady();
    const works = async () => (await atServer(valid, "/api/v1/pods")).status === 200;
    await eventually(works, { what: "a valid token to be accepted" });
    expect((await atServer(revoked, "/api/v1/pods")).status).toBe(403);
  });
});
