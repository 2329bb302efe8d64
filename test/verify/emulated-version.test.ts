import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectedPolicies, policyProblem } from "../../src/domain/gateway/connected-policy.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { type Connection, connect, send } from "../support/cluster-connection.ts";
import { minors } from "../support/control-plane-module.ts";
import { startControlPlane, type StartedControlPlane } from "../support/control-plane.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { derivedRequests } from "../support/derived-requests.ts";
import { eventually } from "../support/eventually.ts";
import { apply } from "../support/install.ts";

const emulated = hasDedicatedClusters ? minors.slice(1) : [];

describe.each(emulated)("the policies of a connected cluster of %s", (minor) => {
  let cluster: StartedControlPlane;
  let connection: Connection;

  beforeAll(async () => {
    const source = await findOrBuildControlPlane((line) => void process.stderr.write(`${line}\n`));
    const extraApiServerFlags = [`--emulated-version=${minor}`];
    cluster = await startControlPlane(source, { extraApiServerFlags });
    await apply(cluster, join("config", "connected-policies"));
    connection = await connect(cluster.adminKubeconfig);
  });
  afterAll(async () => {
    await connection?.pool.destroy();
    await cluster?.stop();
  });

  const root = { user: "root", groups: ["system:masters"] };
  const rows = derivedRequests("default").filter(({ deniedBy }) => deniedBy === "policy");

  it.each(rows)("deny $what to a credential of Latchkey alone", async (row) => {
    const { method = "GET", ...request } = row;
    const ask = { ...request, method };
    expect((await send(connection, root, ask)).code).toBe(201);
    const token = { ...root, extra: { "management.service/credential-id": ["uid"] } };
    const isDenied = async () => (await send(connection, token, ask)).code === 403;
    await eventually(isDenied, { what: "the policy to be enforced" });
  });

  it.each(Object.values(connectedPolicies))(
    "count as this API server stores them: $name",
    async (expected) => {
      const stored = (plural: string) => {
        const path = `/apis/admissionregistration.k8s.io/v1/${plural}/${expected.name}`;
        return send(connection, root, { method: "GET", path });
      };
      const policy = await stored("validatingadmissionpolicies");
      const binding = await stored("validatingadmissionpolicybindings");
      expect(policyProblem(expected, { policy, binding }, Infinity)).toBeUndefined();
    },
  );

  it("deny a tenant to label a namespace into a project", async () => {
    const tenant = { user: "tenant", groups: ["tenants"] };
    const rules = [{ apiGroups: [""], resources: ["namespaces"], verbs: ["create"] }];
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const post = async (by: typeof root, path: string, body: object) =>
      send(connection, by, { method: "POST", path, body });
    await post(root, `${rbac}/clusterroles`, { metadata: { name: "tenants" }, rules });
    await post(root, `${rbac}/clusterrolebindings`, {
      metadata: { name: "tenants" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "tenants" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "tenants" }],
    });
    const namespace = (labels: object) =>
      post(tenant, "/api/v1/namespaces?dryRun=All", { metadata: { name: "mine", labels } });
    const may = async () => (await namespace({})).code === 201;
    await eventually(may, { what: "the role of the tenant" });
    expect(await namespace({ "management.service/project": "web" })).toMatchObject({
      code: 403,
      message: expect.stringContaining("requires the verb assign"),
    });
  });

  it("deny an account of Latchkey the token of another one", async () => {
    const [row] = rows;
    if (row === undefined) throw new Error("no row");
    const user = "system:serviceaccount:latchkey-system:latchkey-direct-endpoint";
    const answer = await send(
      connection,
      { user, groups: ["system:masters"] },
      { method: "POST", path: row.path, body: row.body },
    );
    expect([answer.code, answer.message]).toEqual([
      403,
      expect.stringContaining("latchkey-own-secrets"),
    ]);
  });
});
