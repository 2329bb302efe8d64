import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditLength, latchkeyRecords, mutations } from "../support/audit-log.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import {
  applyDirectAuthorizerRbac,
  applyDirectEndpointRbac,
  applyGateway,
} from "../support/install.ts";
import {
  type LatchkeyProcess,
  startDirectAuthorizer,
  startDirectEndpoint,
} from "../support/latchkey-process.ts";
import { webhookHost } from "../support/trust.ts";

const configurations = ["one", "other"].map((identity) => ({
  identity,
  name: `${identity}.example`,
}));
const names = configurations.map(({ name }) => name);

/** An issuer that does not answer: the servers show their certificates without it. */
const direct = ["--cluster-name=east", "--issuer=https://127.0.0.1:1"];

/** How often an object may be written in a minute. */
const mostInMinute = 2;

describe.skipIf(!hasDedicatedClusters)(
  "processes with two configurations beside each other",
  () => {
    let cluster: DedicatedCluster;
    let urls: readonly string[];
    let stopped: readonly LatchkeyProcess[] = [];

    beforeAll(async () => {
      cluster = await startDedicatedCluster();
      const { controlPlane, program } = cluster;
      await applyGateway(controlPlane);
      await applyDirectEndpointRbac(controlPlane);
      await applyDirectAuthorizerRbac(controlPlane);
      const processes = await Promise.all(
        configurations.flatMap(({ identity, name }) => {
          const external = `--external-names=localhost,127.0.0.1,${name}`;
          return [
            cluster
              .run({ identity: `controller-${identity}`, args: [external] })
              .then((controller) => ({ process: controller, url: controller.issuerUrl })),
            cluster
              .runWebhook({ identity, args: [`--certificate-names=${webhookHost},${name}`] })
              .then((webhook) => ({ process: webhook, url: webhook.webhookUrl })),
            cluster
              .runGateway({ identity, args: [external, `--external-url=https://${name}`] })
              .then((gateway) => ({ process: gateway, url: gateway.gatewayUrl })),
            startDirectEndpoint({
              ...{ controlPlane, program, identity, restart: "never" },
              args: [...direct, external],
            }).then((endpoint) => ({ process: endpoint, url: endpoint.endpointUrl })),
            startDirectAuthorizer({
              ...{ controlPlane, program, identity, restart: "never" },
              args: [...direct, `--certificate-names=${webhookHost},${name}`],
            }).then((authorizer) => ({ process: authorizer, url: authorizer.webhookUrl })),
          ];
        }),
      );
      // One of two controllers waits for the Lease.
      await eventually(async () => Promise.all(processes.map(({ url }) => namesAt(url))), {
        what: "all servers to answer",
        within: 120_000,
      });
      urls = processes.map(({ url }) => url);
      stopped = processes.map(({ process }) => process);
    });
    afterAll(async () => {
      await Promise.all(stopped.map((process) => process.stop()));
      await cluster?.stop();
    });

    it("serve the names of both", async () => {
      for (const url of urls)
        await expect.poll(() => namesAt(url)).toEqual(expect.arrayContaining(names));
    });

    it("write no object more often than twice a minute", async () => {
      const from = auditLength(cluster.audit);
      await pause(120_000);
      const writes = new Map<string, number>();
      for (const { objectRef } of mutations(latchkeyRecords(cluster.audit, from))) {
        const { resource, namespace = "", name = "" } = objectRef ?? { resource: "" };
        const object = `${resource} ${namespace}/${name}`;
        writes.set(object, (writes.get(object) ?? 0) + 1);
      }
      expect([...writes].filter(([, count]) => count > 2 * mostInMinute)).toEqual([]);
      // The address of the gateway in the list of clusters is that of either configuration.
      expect([...writes.keys()]).toContain("configmaps latchkey-system/latchkey-clusters");
    });
  },
);

/** The names of the certificate that a server shows. */
function namesAt(url: string): Promise<readonly string[]> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: hostname, port: Number(port), rejectUnauthorized: false },
      () => {
        const { raw } = socket.getPeerCertificate();
        socket.destroy();
        const { subjectAltName = "" } = new X509Certificate(raw);
        resolve(subjectAltName.split(", ").map((entry) => entry.replace(/^DNS:/, "")));
      },
    );
    socket.once("error", reject);
  });
}
