/*
 * A cluster of IPv6 alone: runs in a network whose only address is ::1, and prints what it found as
 * JSON. All servers of Latchkey listen at `:port`.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { apiVersion } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { connect, get, post, send } from "../support/cluster-connection.ts";
import { startDedicatedCluster } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { gatewayCa, managementPath } from "../support/gateway-address.ts";
import { apply, policiesCount } from "../support/install.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import { makeRoot, postKey, postNamespace } from "../support/latchkey-objects.ts";
import { trustWebhook } from "../support/trust.ts";

const cluster = await startDedicatedCluster({ install: "nothing" });
const { controlPlane, stampedBy } = cluster;
try {
  const suffix = stampedBy === "policy" ? "" : "-before-1.36";
  await apply(controlPlane, join("config", stampedBy === "policy" ? "default" : "before-1.36"));
  await apply(controlPlane, join("config", `gateway${suffix}`));
  const free = async () => ({
    address: `:${await freePort()}`,
    env: { LATCHKEY_HTTP_ADDRESS: `:${await freePort()}` },
  });
  // kube-apiserver restarts below, which may take longer than a Lease lasts.
  const controller = await cluster.run({ ...(await free()), restart: "at-once" });
  const webhook = await cluster.runWebhook(await free());
  const args = ["--external-names=localhost,::1", "--log-level=debug"];
  const gateway = await cluster.runGateway({ ...(await free()), args });
  await Promise.all([controller.waitReady(), webhook.waitReady(), gateway.waitReady()]);
  // kube-apiserver reaches no Service here, so its configurations get addresses.
  await kubectl(controlPlane, [
    ...["delete", "mutatingwebhookconfigurations", "--selector=app.kubernetes.io/name=latchkey"],
  ]);
  await cluster.askAtAdmission(webhook);
  await trustWebhook(controlPlane, webhook);
  await policiesCount(controlPlane);

  await cluster.arrange(makeRoot);
  const key = randomBytes(24).toString("hex");
  await cluster.arrange(postKey("first", { user: "root", key }));
  const { pool } = await connect(controlPlane.adminKubeconfig);
  const ask = async (authorization: string) =>
    (await send({ pool, headers: ["authorization", authorization] }, {}, get("/api/v1/namespaces")))
      .code;
  const atWebhook = await eventually(async () => (await ask(`Bearer ${key}`)) === 200, {
    what: "the key to work at kube-apiserver",
  });
  await pool.destroy();

  const certificateAuthority = await gatewayCa(controlPlane);
  const { port } = new URL(gateway.gatewayUrl);
  const through = async (host: string) => {
    const kubeconfig = join(controlPlane.directory, "through.kubeconfig");
    const url = `https://${host}:${port}${managementPath}`;
    writeKubeconfig(kubeconfig, { url, certificateAuthority }, { key: { token: key } });
    const access = { ...controlPlane, kubeconfigs: { key: kubeconfig } };
    const list = ["get", "namespaces", "--output=name"];
    return (await tryKubectl(access, list, { user: "key" })).stdout.includes("namespace/default");
  };
  const atGateway = [await through("[::1]"), await through("localhost")];

  await cluster.arrange(postNamespace("team-a"));
  const labels = { "management.service/project": "web" };
  const annotations = { "management.service/sync": "enabled" };
  await cluster.arrange(postNamespace({ name: "web", labels, annotations }));
  const metadata = {
    name: "database",
    annotations: { "management.service/sync-to-projects": "web" },
  };
  const database = { apiVersion, kind: "SharedSecret", metadata, spec: { data: { a: "Yg==" } } };
  await cluster.arrange(post(`/apis/${apiVersion}/namespaces/team-a/sharedsecrets`, database));
  const copy = get("/api/v1/namespaces/web/secrets/database");
  const isCopied = async () => (await cluster.arrange(copy)).code === 200;
  const atController = await eventually(isCopied, { what: "the copy" });

  const services: unknown = JSON.parse(
    await kubectl(controlPlane, ["get", "services", "-n=latchkey-system", "--output=json"]),
  );
  const families = listAt(services, "items").flatMap((service) =>
    stringsAt(recordAt(service, "spec"), "ipFamilies"),
  );
  const log = readFileSync(gateway.log, "utf8").trim().split("\n");
  const lines = log.filter((line) => line.startsWith("{")).map((line): unknown => JSON.parse(line));
  const said = (text: string) => lines.filter((line) => stringAt(line, "message") === text);
  process.stdout.write(
    `${JSON.stringify({
      found: { atWebhook, atGateway, atController, families: [...new Set(families)] },
      listens: said("gateway listens").map((line) => stringAt(line, "url")?.replace(/\d+$/, "")),
      renewed: said("certificates renewed").length,
    })}\n`,
  );
} finally {
  await cluster.stop();
}
