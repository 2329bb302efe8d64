import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import {
  agentUser,
  type AgentFixture,
  makeTarget,
  newSource,
  startAgentFixture,
} from "../support/agent-fixture.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { type ConnectProxy, startConnectProxy } from "../support/connect-proxy.ts";
import { connectedKubeconfig, prepareConnectedCluster } from "../support/connected-cluster.ts";
import { arranging, connect, patchTypes, post } from "../support/cluster-connection.ts";
import { type StartedControlPlane, startControlPlane } from "../support/control-plane.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeKubelet, kubeletModule, startFakeKubelet } from "../support/fake-kubelet.ts";
import { gatewayCa } from "../support/gateway-address.ts";
import { askGateway, openGatewayUpgrade } from "../support/gateway-request.ts";
import { buildModule } from "../support/go-module.ts";
import { applyGateway } from "../support/install.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import type { GatewayProcess, LatchkeyProcess } from "../support/latchkey-process.ts";
import { runningPodRequests } from "../support/pod-requests.ts";
import { unique } from "../support/policy-request.ts";
import { isMissing, type Missing, orMissing } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";
import { startSocksProxy } from "../support/socks-proxy.ts";

/** Names that no DNS has: only the proxies know the way to the clusters. */
const names = { central: "central.example:6443", west: "west.example:6443" };
const login = "me:can@ry";
/** The certificate of kube-apiserver is for this name, among others. */
const within = { "tls-server-name": "kubernetes" };

const withLogin = ({ url }: ConnectProxy): string => url.replace("://", "://me:can%40ry@");
const logOf = ({ log }: LatchkeyProcess): string => readFileSync(log, "utf8");
const says = (process: LatchkeyProcess, words: RegExp): Promise<unknown> =>
  eventually(async () => words.test(logOf(process)), {
    what: `${String(words)} in ${process.log}`,
    within: 60_000,
  });

/** No line has a login of the proxy, and every failure has a reason. */
function expectPlain(process: LatchkeyProcess): void {
  const log = logOf(process);
  expect(log).not.toMatch(/can@ry|can%40ry|Y2Fu|bWU6/);
  const reasons = log.split("\n").flatMap((line) => {
    const fields: unknown = line.startsWith("{") ? JSON.parse(line) : {};
    return [stringAt(fields, "why"), stringAt(recordAt(fields, "error"), "message")];
  });
  expect(reasons.filter((reason) => reason !== undefined && /^$|: *$/.test(reason))).toEqual([]);
}

const report = (line: string) => void process.stderr.write(`connected cluster: ${line}\n`);
const program = await orMissing(buildModule(kubeletModule, { report }));

describe.skipIf(!hasDedicatedClusters)("behind a proxy", () => {
  let fixture: AgentFixture;
  let proxy: ConnectProxy;
  let directory: string;

  /** The argument with the agent's credential at an address that only the proxy knows. */
  const credential = (change: object = {}): string => {
    const { url: _url, certificateAuthority, tokens } = fixture.central.controlPlane;
    const access = {
      url: `https://${names.central}`,
      certificateAuthority,
      token: tokens[agentUser] ?? "",
    };
    const path = join(directory, `${unique("central")}.kubeconfig`);
    const config = connectedKubeconfig(access, { cluster: { ...within, ...change } });
    writePrivately(path, JSON.stringify(config));
    return `--central-kubeconfig=${path}`;
  };
  const arrives = async (): Promise<void> => {
    const [source, project] = [newSource(), unique("project")];
    const namespace = await makeTarget(fixture.east, project);
    await fixture.offer(source, { project });
    await fixture.arrives({ namespace, name: source.name }, { password: "canary" });
  };

  beforeAll(async () => {
    fixture = await startAgentFixture();
    await fixture.agent.stop();
    ({ directory } = fixture.central.controlPlane);
    const routes = { [names.central]: fixture.central.controlPlane.url };
    proxy = await startConnectProxy(routes, { login });
  });
  afterAll(async () => {
    await fixture?.stop();
    await proxy?.stop();
  });

  it("an agent works, says which answer of the proxy stops it, and works again", async () => {
    const agent = await fixture.startAgent([credential()], "agent", {
      env: { HTTPS_PROXY: withLogin(proxy) },
    });
    await agent.waitReady();
    await arrives();
    // Its own API server is on this machine.
    expect(new Set(proxy.asked)).toEqual(new Set([names.central]));
    proxy.refuse(407);
    await says(agent, /the proxy http:\/\/127\.0\.0\.1:\d+ answered 407 Proxy Authentication Req/);
    proxy.refuse(undefined);
    await arrives();
    expectPlain(agent);
    await agent.stop();
  });

  it("an agent does not use it for names in NO_PROXY", async () => {
    const before = proxy.asked.length;
    const env = { HTTPS_PROXY: withLogin(proxy), NO_PROXY: "10.0.0.0/8, .example" };
    const agent = await fixture.startAgent([credential()], "agent", { env });
    await says(agent, /ENOTFOUND|EAI_AGAIN/);
    expect(proxy.asked.length).toBe(before);
    expectPlain(agent);
    await agent.stop();
  });

  it.each([
    [
      "its variable",
      { HTTPS_PROXY: "ftp://me:can@ry@proxy" },
      {},
      /HTTPS_PROXY has the scheme "ftp"/,
    ],
    [
      "its kubeconfig",
      {},
      { "proxy-url": "http://me:can%40ry@p" },
      /has a proxy-url, which is not/,
    ],
  ])("an agent stops at once, because of %s", async (_what, env, cluster, words) => {
    const agent = await fixture.startAgent([credential(cluster)], "agent", {
      env,
      restart: "never",
    });
    expect((await agent.exited()).code).not.toBe(0);
    expect(logOf(agent)).toMatch(words);
    expectPlain(agent);
  });

  describe("the gateway", () => {
    const key = randomBytes(24).toString("base64url");
    const pod = { namespace: "default", name: "proxied" };
    let kubelet: FakeKubelet | Missing;
    let west: StartedControlPlane;
    let socks: ConnectProxy;
    let gateway: GatewayProcess;
    let server: { readonly url: string; readonly certificateAuthority: string };
    const path = "/kubernetes/cluster/west/api/v1/configmaps";
    const ask = () => askGateway({ key, path, server });

    beforeAll(async () => {
      const { central } = fixture;
      const management = central.controlPlane;
      kubelet = isMissing(program) ? program : await startFakeKubelet(report);
      west = await startControlPlane(await findOrBuildControlPlane(report), {
        extraApiServerFlags: isMissing(kubelet) ? [] : kubelet.apiServerFlags,
      });
      const connection = await connect(west.adminKubeconfig);
      const arrange = arranging(connection);
      socks = await startSocksProxy({ [names.west]: west.url }, login);
      await applyGateway(management);
      await central.arrange(makeRoot);
      await arrange(makeRoot);
      if (!isMissing(kubelet)) {
        const requests = runningPodRequests(pod, { name: "node", kubeletPort: kubelet.port });
        await arrange(requests.node);
        // The controller manager creates the default service account of a namespace.
        await eventually(() => arrange(requests.pod), { what: "a pod to be admitted" });
        await arrange({ ...requests.status, type: patchTypes.merge });
      }
      await connection.pool.destroy();
      await central.arrange(postKey("proxied", { user: "root", key }));
      const access = await prepareConnectedCluster(west, 1);
      const config = connectedKubeconfig(
        { ...access, url: `https://${names.west}` },
        { cluster: within },
      );
      await central.arrange(
        post("/api/v1/namespaces/latchkey-clusters/secrets", {
          metadata: { name: "west", labels: { "management.service/cluster": "west" } },
          data: { kubeconfig: Buffer.from(JSON.stringify(config)).toString("base64") },
        }),
      );
      gateway = await central.runGateway({ env: { https_proxy: withLogin(socks) } });
      await gateway.waitReady();
      server = { url: gateway.gatewayUrl, certificateAuthority: await gatewayCa(management) };
      const isConnected = async () => (await ask()).status === 200;
      await eventually(isConnected, { what: "the cluster behind the proxy", within: 60_000 });
    });
    afterAll(async () => {
      await socks?.stop();
      await west?.stop();
      if (kubelet !== undefined && !isMissing(kubelet)) await kubelet.stop();
    });

    it("reaches a connected cluster", async () => {
      expect(JSON.parse((await ask()).text)).toMatchObject({ kind: "ConfigMapList" });
      expect(new Set(socks.asked)).toEqual(new Set([names.west]));
    });

    /** A command in a pod, over a WebSocket, as kubectl sends it. */
    const exec = () =>
      openGatewayUpgrade(
        {
          key,
          server,
          path:
            `/kubernetes/cluster/west/api/v1/namespaces/${pod.namespace}/pods/${pod.name}` +
            "/exec?command=echo&command=arrived&stdout=true",
          headers: {
            "sec-websocket-key": randomBytes(16).toString("base64"),
            "sec-websocket-version": "13",
            "sec-websocket-protocol": "v5.channel.k8s.io",
          },
        },
        "websocket",
      );

    it("runs a command in a pod there", skippedWithout(program), async () => {
      const upgrade = exec();
      expect(await upgrade.opened).toBe(101);
      const hasOutput = async () => upgrade.text().includes("arrived");
      await eventually(hasOutput, { what: "the output of the command", within: 30_000 });
      upgrade.close();
    });

    it("says that the proxy lets nothing through, and in its log what it answers", async () => {
      socks.refuse(2);
      const upgrade = exec();
      expect(await upgrade.opened).toBe(502);
      upgrade.close();
      // Connections are kept for 5 s.
      const isRefused = async () => (await ask()).text.includes("the proxy of the gateway");
      const pace = { every: 6_000, within: 60_000 };
      await eventually(isRefused, { what: "a request over a new connection", ...pace });
      await says(gateway, /the proxy socks5:\/\/127\.0\.0\.1:\d+ failed: the connection is not/);
      expectPlain(gateway);
    });
  });
});
