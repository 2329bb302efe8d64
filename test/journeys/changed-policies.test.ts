import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { guardingPolicies } from "../../src/domain/policies/guarding-policies.ts";
import { get, mergePatch } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayCa } from "../support/gateway-address.ts";
import { askGateway, openGatewayStream } from "../support/gateway-request.ts";
import { applyGateway, applyValidatingPolicies, policiesCount } from "../support/install.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import { runInProcess } from "../support/run-cli.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const changed = ["latchkey-mint-guard", "latchkey-requester-lock"];
const key = "k".repeat(43);

describe.skipIf(!hasDedicatedClusters)("policies that are not those of Latchkey", () => {
  let cluster: DedicatedCluster;
  let server: { readonly url: string; readonly certificateAuthority: string };

  const path = "/kubernetes/management/api/v1/namespaces/default/configmaps";
  const uses = async () => (await askGateway({ server, key, path })).status;
  /** What the metric of a controller says that starts now: it looks again only after a minute. */
  const series = async () => {
    const controller = await cluster.run();
    await controller.waitReady();
    const read = async () => {
      const text = await (await fetch(`${controller.url}/metrics`)).text();
      const all = [...text.matchAll(/^latchkey_policy_shipped\{policy="(.+)"\} ([01])$/gm)];
      return all.length === guardingPolicies.length ? all : undefined;
    };
    const found = await eventually(read, { what: "the metric" });
    await controller.stop();
    return found.flatMap(([, name, value]) => (value === "0" ? [name] : []));
  };
  const said = async (command: "check" | "status") => {
    const env = { KUBECONFIG: cluster.controlPlane.adminKubeconfig, PATH: "", HOME: "" };
    const { stdout } = await runInProcess([command, "-o", "json"], env);
    return listAt(JSON.parse(stdout), "items").flatMap((item) =>
      stringAt(item, "reason") === "PolicyChanged"
        ? [stringAt(recordAt(item, "object"), "name")]
        : [],
    );
  };

  beforeAll(async () => {
    cluster = await startDedicatedCluster();
    await applyGateway(cluster.controlPlane);
    await policiesCount(cluster.controlPlane);
    await cluster.arrange(makeRoot);
    await cluster.arrange(postKey("used", { user: "root", key }));
    const gateway = await cluster.runGateway();
    await gateway.waitReady();
    const certificateAuthority = await gatewayCa(cluster.controlPlane);
    server = { url: gateway.gatewayUrl, certificateAuthority };
    await eventually(async () => (await uses()) === 200, { what: "the key to work" });
  });
  afterAll(() => cluster?.stop());

  test("are said, and change nothing: keys in use work before, meanwhile and after", async () => {
    expect([await series(), await said("check"), await said("status")]).toEqual([[], [], []]);
    const watch = openGatewayStream({ server, key, path: `${path}?watch=1&resourceVersion=0` });
    expect(await watch.opened).toBe(200);
    let isOver = false;
    void watch.ended.then(() => (isOver = true));
    const { spec } = await cluster.arrange(get(`${policies}/latchkey-mint-guard`));
    const { matchConstraints } = Object(spec);
    const weaker = { ...matchConstraints, objectSelector: { matchLabels: { reason: "never" } } };
    for (const name of changed)
      await cluster.arrange(
        mergePatch(`${policies}/${name}`, { spec: { matchConstraints: weaker } }),
      );
    expect([await said("check"), await said("status")]).toEqual([changed, changed]);
    expect(await series()).toEqual(changed);
    expect([await uses(), isOver]).toEqual([200, false]);
    const made = await cluster.ask({}, postKey("made", { user: "root", key: "m".repeat(43) }));
    expect(made).toMatchObject({ code: 201 });
    // The upgrade of the policies, or their repair.
    await applyValidatingPolicies(cluster.controlPlane);
    expect([await said("check"), await said("status")]).toEqual([[], []]);
    expect(await series()).toEqual([]);
    expect([await uses(), isOver]).toEqual([200, false]);
    watch.close();
  });
});
