import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { requesters } from "../support/actions.ts";
import { type Caller, get } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { applyChart, type Charts, startCharts, withRenderer } from "../dedicated/chart-fixture.ts";
import { policiesCount, repository } from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import { postNamespace, postToken } from "../support/latchkey-objects.ts";

const namespace = "keys";
const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;

describe.skipIf(!hasDedicatedClusters)("the chart in another namespace", withRenderer, () => {
  let charts: Charts;
  let cluster: DedicatedCluster;

  beforeAll(async () => {
    [charts, cluster] = await Promise.all([
      startCharts(),
      startDedicatedCluster({ install: "nothing" }),
    ]);
    const values = { requesters: { groups: [requesters] } };
    await cluster.arrange(postNamespace(namespace));
    await applyChart(charts, cluster.controlPlane, { namespace, values });
    const [controller] = await Promise.all([
      cluster.run({ namespace, env: await variablesOf("latchkey-controller") }),
      policiesCount(cluster.controlPlane),
    ]);
    await controller.waitReady();
  });
  afterAll(async () => {
    await cluster?.stop();
    charts?.remove();
  });

  /** The variables of a Deployment's container that have values, as the kubelet expands them. */
  async function variablesOf(deployment: string): Promise<Readonly<Record<string, string>>> {
    const { spec } = await cluster.arrange(get(`${deployments}/${deployment}`));
    const pod = recordAt(recordAt({ spec }, "spec"), "template");
    const [container] = listAt(recordAt(pod, "spec"), "containers");
    const variables = listAt(container, "env").flatMap((variable) => {
      const value = stringAt(variable, "value")?.replace("$(LATCHKEY_NAMESPACE)", namespace);
      return value === undefined ? [] : [[String(stringAt(variable, "name")), value] as const];
    });
    return Object.fromEntries(variables);
  }

  test("copies a SharedSecret and writes its status", async () => {
    for (const sample of ["namespaces", "database"])
      await kubectl(cluster.controlPlane, [
        ...["apply", "--server-side", "-f", `${repository}/config/samples/${sample}.yaml`],
      ]);
    const wait = ["-n", "team-a", "wait", "sharedsecret/database", "--for=condition=Ready"];
    await kubectl(cluster.controlPlane, [...wait, "--timeout=150s"]);
    const copy = await cluster.arrange(get("/api/v1/namespaces/web-dev/secrets/database"));
    expect(copy["data"]).toMatchObject({ DB_USER: "b3JkZXJz" });
  });

  test("mints a token whose issuer has the name of the namespace", async (context) => {
    const reason = "before 1.36, kube-apiserver asks the Service of the webhook about tokens";
    context.skip(cluster.stampedBy === "webhook", reason);
    const alice: Caller = { user: "alice", groups: [requesters] };
    const made = await cluster.ask(alice, postToken("laptop", {}));
    expect(made).toMatchObject({ code: 201 });
    const token = await eventually(
      async () => {
        const { status } = await cluster.arrange(get(`${postToken("", {}).path}/laptop`));
        return stringAt(status, "token");
      },
      { what: "the token of laptop" },
    );
    expect(decodeJwt(token).iss).toBe(`https://latchkey.${namespace}.svc`);
  });

  test("has a webhook that publishes its CA in its configuration", async () => {
    const webhook = await cluster.runWebhook({ namespace });
    await webhook.waitReady();
    const path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/latchkey";
    const client = await eventually(
      async () => {
        const [first] = listAt(await cluster.arrange(get(path)), "webhooks");
        const found = recordAt(first, "clientConfig");
        return stringAt(found, "caBundle") !== undefined && found;
      },
      { what: "caBundle of the webhook configuration" },
    );
    expect(client).toMatchObject({ service: { namespace, name: "latchkey-webhook" } });
  });
});
