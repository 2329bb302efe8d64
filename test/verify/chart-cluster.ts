import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { get } from "../support/cluster-connection.ts";
import { startConnectProxy } from "../support/connect-proxy.ts";
import { type DedicatedCluster, startDedicatedCluster } from "../support/dedicated-cluster.ts";
import { findHelm } from "../support/helm.ts";
import { kubectl } from "../support/kubectl.ts";
import type { ControllerProcess, WebhookProcess } from "../support/latchkey-process.ts";
import { webhookHost } from "../support/trust.ts";
import { packageCharts } from "../dedicated/chart-fixture.ts";

/** The processes of an installation, which run beside a control plane without nodes. */
export interface ChartProcesses {
  readonly controller: ControllerProcess;
  readonly webhook: WebhookProcess;
  stop(): Promise<void>;
}

/** A control plane on which helm installs charts. */
export interface ChartCluster {
  readonly cluster: DedicatedCluster;
  /** The charts of these sources: of the central cluster, and of a connected one. */
  readonly chart: string;
  readonly connectedChart: string;
  /** Runs helm as the administrator; throws with what it prints if it fails. */
  helm(...args: readonly string[]): Promise<string>;
  /**
   * Starts what the pods of an installation would run, with its accounts. kube-apiserver reaches the
   * webhook by its Service, as in a cluster.
   */
  startProcesses(at: {
    readonly namespace: string;
    /** That of the processes before, so that the files of trust-config stay valid. */
    readonly address?: string;
  }): Promise<ChartProcesses>;
  /** The uids of what `helm uninstall` keeps, by kind and name. */
  keptUids(): Promise<Readonly<Record<string, string>>>;
  stop(): Promise<void>;
}

/** Starts it; nothing of Latchkey is installed. */
export async function startChartCluster(): Promise<ChartCluster> {
  const charts = await packageCharts();
  const files = mkdtempSync(join(tmpdir(), "egress-"));
  const services: Record<string, string> = {};
  const socket = join(files, "proxy.sock");
  const proxy = await startConnectProxy(services, { socket });
  const cluster = await startDedicatedCluster({
    install: "nothing",
    extraApiServerFlags: [`--egress-selector-config-file=${egressFile(files, socket)}`],
  });
  const { controlPlane } = cluster;
  const helm = await findHelm({ kubeconfig: controlPlane.adminKubeconfig });
  return {
    cluster,
    chart: join(charts.directory, "latchkey"),
    connectedChart: join(charts.directory, "latchkey-connected"),
    async helm(...args) {
      const { code, stdout, stderr } = await helm(args);
      if (code !== 0) throw new Error(`helm ${args.join(" ")}: ${stderr}`);
      return stdout;
    },
    async startProcesses({ namespace, address }) {
      const options = { namespace, restart: "at-once" } as const;
      const webhook = await cluster.runWebhook({
        ...options,
        args: [`--certificate-names=${webhookHost}`],
        ...(address !== undefined && { address }),
      });
      const service = await cluster.arrange(
        get(`/api/v1/namespaces/${namespace}/services/latchkey-webhook`),
      );
      services[`${stringAt(recordAt(service, "spec"), "clusterIP")}:443`] = webhook.webhookUrl;
      const controller = await cluster.run(options);
      await Promise.all([webhook.waitReady(), controller.waitReady()]);
      const stop = async () => void (await Promise.all([controller.stop(), webhook.stop()]));
      return { controller, webhook, stop };
    },
    async keptUids() {
      const { items }: { items: readonly unknown[] } = JSON.parse(
        await kubectl(controlPlane, ["get", keptKinds(cluster), "-o=json"]),
      );
      return Object.fromEntries(
        items.map((item) => {
          const metadata = recordAt(item, "metadata");
          const name = `${stringAt(item, "kind")} ${stringAt(metadata, "name")}`;
          return [name, stringAt(metadata, "uid") ?? ""];
        }),
      );
    },
    async stop() {
      await cluster.stop();
      await proxy.stop();
      charts.remove();
    },
  };
}

/** The cluster has no others of these kinds. */
function keptKinds({ stampedBy }: DedicatedCluster): string {
  const always = ["crd", "validatingadmissionpolicy", "validatingadmissionpolicybinding"];
  const since136 = ["mutatingadmissionpolicy", "mutatingadmissionpolicybinding"];
  return [...always, ...(stampedBy === "policy" ? since136 : [])].join(",");
}

/**
 * kube-apiserver connects to Services through this proxy (Kubernetes, EgressSelectorConfiguration):
 * without nodes, nothing serves their addresses.
 */
function egressFile(directory: string, udsName: string): string {
  const file = join(directory, "egress.json");
  const connection = { proxyProtocol: "HTTPConnect", transport: { uds: { udsName } } };
  const selections = [{ name: "cluster", connection }];
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: "apiserver.k8s.io/v1beta1",
      kind: "EgressSelectorConfiguration",
      egressSelections: selections,
    }),
  );
  return file;
}
