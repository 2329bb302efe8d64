import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mergePatch, patchTypes, remove } from "../support/cluster-connection.ts";
import { alice, type DirectFixture, directPath, tokenPath } from "../support/direct-fixture.ts";
import { type EchoServer, startEchoServer } from "../support/echo-server.ts";
import { keysPath, postKey, withKey } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import type { FakeKubelet } from "../support/fake-kubelet.ts";
import { askGateway, cutWithinMs, type GatewayStream } from "../support/gateway-request.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { tryKubectl } from "../support/kubectl.ts";
import {
  type KubectlProcess,
  startKubectlAt,
  streamProtocols,
} from "../support/kubectl-process.ts";
import { isRunning, type KubectlInPod, openInPod, podActions } from "../support/kubectl-streams.ts";
import { type RunningPod, runningPodRequests } from "../support/pod-requests.ts";
import { cutEnd, openStatus, shownEnd, streamClients } from "../support/stream-clients.ts";

const pod: RunningPod = { namespace: "default", name: "streams" };
const clients = streamClients(directPath);
/** Its kubelet answers nothing; over WebSocket, kube-apiserver answers before the kubelet does. */
const silentPod: RunningPod = { namespace: "default", name: "silent" };
const waiting = clients.filter(({ name }) => /^logs|SPDY$/.test(name));

/** How a token loses its access. */
interface Loss {
  readonly name: string;
  /** Makes the token, and what ends it: resolves with the instant, by `performance.now()`. */
  readonly begin: () => Promise<{ readonly token: string; readonly lose: () => Promise<number> }>;
}

/** The tests of streams at a direct endpoint; the kubelet is that of the connected cluster. */
export function describeStreams(
  given: () => { readonly fixture: DirectFixture; readonly kubelet: FakeKubelet },
): void {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-direct-"));
  const started: KubectlProcess[] = [];
  let fixture: DirectFixture;
  let kubelet: FakeKubelet;
  let echo: EchoServer;

  beforeAll(async () => {
    ({ fixture, kubelet } = given());
    const { arrange } = fixture;
    const node = { name: "node", kubeletPort: kubelet.port };
    await arrange(runningPodRequests(pod, node).node);
    for (const made of [pod, silentPod]) {
      const requests = runningPodRequests(made, node);
      // The controller manager creates the default service account of a namespace.
      await eventually(() => arrange(requests.pod), { what: "a pod to be admitted" });
      await arrange({ ...requests.status, type: patchTypes.merge });
    }
    echo = await startEchoServer();
  });
  afterAll(() => {
    for (const child of started) child.kill();
    echo?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** kubectl with a token at the endpoint. */
  function kubectlWith(token: string, env: Readonly<Record<string, string>>): KubectlInPod {
    const { connected, server } = fixture;
    const kubeconfig = join(directory, `${randomBytes(8).toString("hex")}.kubeconfig`);
    const at = { ...server, url: server.url + directPath };
    writeKubeconfig(kubeconfig, at, { token: { token } });
    const access = { ...connected, kubeconfigs: { token: kubeconfig } };
    return {
      pod,
      echo,
      directory,
      run: (args) => tryKubectl(access, args, { user: "token", env }),
      start(args) {
        const child = startKubectlAt({ ...connected, kubeconfig }, args, { env });
        started.push(child);
        return child;
      },
    };
  }

  const now = () => performance.now();

  /** A key of alice, and a token that was requested with it. */
  async function child(name: string): Promise<{ readonly token: string; readonly key: string }> {
    const spec = { user: "alice", ttl: 3600, key: `parent-${randomBytes(24).toString("hex")}` };
    const { metadata } = await fixture.central.arrange(postKey(name, spec));
    const token = await fixture.mint(name, {}, withKey(alice, metadata));
    return { token, key: `${keysPath}/${name}` };
  }

  const losses: readonly Loss[] = [
    {
      name: "when the object of their token is deleted",
      async begin() {
        const token = await fixture.mint("deleted");
        const lose = () => fixture.central.arrange(remove(tokenPath("deleted"))).then(now);
        return { token, lose };
      },
    },
    {
      name: "when the key that their token was requested with is disabled",
      async begin() {
        const { token, key } = await child("disabled");
        const disable = mergePatch(key, { spec: { disabled: true } });
        return { token, lose: () => fixture.central.arrange(disable).then(now) };
      },
    },
    {
      name: "when the key that their token was requested with is deleted",
      async begin() {
        const { token, key } = await child("orphaned");
        return { token, lose: () => fixture.central.arrange(remove(key)).then(now) };
      },
    },
    {
      name: "at the exp of their token",
      async begin() {
        const token = await fixture.mint("short", { ttl: 20 });
        const payload: { exp: number } = JSON.parse(
          Buffer.from(token.split(".")[1] ?? "", "base64url").toString(),
        );
        return { token, lose: async () => now() + payload.exp * 1000 - Date.now() };
      },
    },
  ];

  const open = async (token: string): Promise<readonly GatewayStream[]> => {
    const at = { key: token, server: fixture.server };
    const isServed = async () =>
      (await askGateway({ ...at, path: `${directPath}/api/v1/namespaces/default/pods` })).status ===
      200;
    await eventually(isServed, { what: "the token to work" });
    const streams = clients.map((client) => client.open(at, pod));
    const statuses = await Promise.all(streams.map(({ opened }) => opened));
    expect(clients.map(({ name }, index) => [name, statuses[index]])).toEqual(
      clients.map(({ name }) => [name, openStatus(name)]),
    );
    return streams;
  };

  it.each(losses)("end $name", async ({ name, begin }) => {
    const { token, lose } = await begin();
    const bystanders = await open(
      await fixture.mint(`bystander-${losses.findIndex((one) => one.name === name)}`),
    );
    const streams = await open(token);
    let early = 0;
    for (const { ended } of streams) void ended.then(() => (early += 1));
    await new Promise(setImmediate);
    expect(early).toBe(0);
    const lost = await lose();
    const ends = await Promise.all(streams.map(({ ended }) => ended));
    const took = clients.map((client, at) => ({
      name: client.name,
      ms: Math.round((ends[at]?.at ?? Infinity) - lost),
    }));
    const times = took.map((one) => `${one.name} ${one.ms}`).join(", ");
    process.stdout.write(`direct endpoint, ${name}, in ms: ${times}\n`);
    expect(Math.max(...took.map(({ ms }) => ms))).toBeLessThan(cutWithinMs);
    const shown = await Promise.all(
      streams.map((stream, at) => shownEnd(clients[at]?.name ?? "", stream)),
    );
    expect(clients.map((client, at) => [client.name, shown[at]])).toEqual(
      clients.map((client) => [client.name, cutEnd(client.name, 401)]),
    );
    const refused = { key: token, server: fixture.server };
    const { status } = await askGateway({ ...refused, path: `${directPath}/api/v1/pods` });
    expect(status).toBe(401);
    let others = 0;
    for (const { ended } of bystanders) void ended.then(() => (others += 1));
    await pause(0);
    expect(others).toBe(0);
    for (const stream of bystanders) stream.close();
  });

  const works = (client: KubectlInPod) =>
    eventually(async () => (await client.run(["version"])).code === 0, {
      what: "the token to work",
    });

  describe.each(streamProtocols)("kubectl over $protocol", ({ protocol, env }) => {
    it.each(podActions)("$name", async ({ name, outcome, expected }) => {
      const at = podActions.findIndex((action) => action.name === name);
      const token = await fixture.mint(`${protocol.toLowerCase()}-${at}`);
      const client = kubectlWith(token, env);
      await works(client);
      expect(await outcome(client)).toEqual(expected(client));
    });

    it("is cut when the object of its token is deleted", async () => {
      const name = `${protocol.toLowerCase()}-deleted`;
      const client = kubectlWith(await fixture.mint(name), env);
      await works(client);
      const { pid, ...open } = await openInPod(client);
      await fixture.central.arrange(remove(tokenPath(name)));
      const lost = now();
      const ends = await Promise.all(
        Object.entries(open).map(async ([what, { ended }]) => ({ what, ...(await ended) })),
      );
      const times = ends.map(({ what, at }) => `${what} ${Math.round(at - lost)}`).join(", ");
      process.stdout.write(`direct endpoint, kubectl over ${protocol}, in ms: ${times}\n`);
      expect(Math.max(...ends.map(({ at }) => at)) - lost).toBeLessThan(cutWithinMs);
      // Over SPDY, kubectl takes the end of any connection for the success of its command.
      expect([protocol, (await open.exec.ended).code]).not.toEqual(["WebSocket", 0]);
      expect((await open.forward.ended).code).toBe(1);
      // The API server has ended its connection to the node: the command reads the end of its input.
      await eventually(() => !isRunning(pid), { what: "the command to end", within: cutWithinMs });
    });
  });

  it("answers 504 when the API server sends no head for 75 s, and serves others meanwhile", async () => {
    const at = { key: await fixture.mint("waits"), server: fixture.server };
    await works(kubectlWith(at.key, {}));
    const streams = waiting.map((client) => client.open(at, silentPod));
    const others = await open(at.key);
    const statuses = await Promise.all(streams.map(({ opened }) => opened));
    expect(waiting.map(({ name }, index) => [name, statuses[index]])).toEqual(
      waiting.map(({ name }) => [name, 504]),
    );
    const metrics = await (await fetch(`${fixture.endpoint.url}/metrics`)).text();
    expect(metrics).toMatch(/^latchkey_gateway_requests_total\{.*code="504".*\} \d+$/m);
    let ends = 0;
    for (const { ended } of others) void ended.then(() => (ends += 1));
    await pause(0);
    expect(ends).toBe(0);
    for (const stream of others) stream.close();
  });
}
