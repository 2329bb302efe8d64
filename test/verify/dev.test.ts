import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { type KubectlResult, tryKubectl } from "../support/kubectl.ts";
import { type DevProcess, startDev } from "./dev-process.ts";

describe.skipIf(!hasDedicatedClusters)("make dev CONNECTED=1", () => {
  let dev: DevProcess;
  const inside = (...path: readonly string[]) => join(dev.directory, ...path);
  const variable = (name: string): string => dev.variable(name);
  /** Runs the kubectl of the file to source, in a context. */
  const run = (context: string, args: readonly string[], input = ""): Promise<KubectlResult> =>
    tryKubectl(dev.access, [`--context=${context}`, ...args], { input });
  const answers = (url: string) =>
    fetch(url).then(
      () => true,
      // A server with a certificate of its own CA is there, too.
      (error: unknown) => !String(error instanceof Error ? error.cause : "").includes("REFUSED"),
    );

  beforeAll(async () => {
    dev = await startDev();
  });
  afterAll(() => dev?.remove());

  it("prints commands for the connected cluster", () => {
    expect(dev.printed).toContain("kubectl --context connected get secrets");
  });

  it("has a second API server, with a context of its administrator and logs of its own", async () => {
    const made = ["create", "configmap", "greeting", "--from-literal=text=hello"];
    expect(await run("connected", made)).toMatchObject({ code: 0 });
    const gone = await run("admin", ["get", "configmap", "greeting"]);
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining("NotFound") });
    expect(existsSync(inside("logs", "connected", "kube-apiserver.log"))).toBe(true);
    const config = await run("connected", ["config", "view", "--minify", "--raw"]);
    expect(config.stdout).toContain(`server: ${variable("LATCHKEY_CONNECTED_URL")}\n`);
    expect(readFileSync(variable("LATCHKEY_CONNECTED_CA"), "utf8")).toContain("BEGIN CERTIFICATE");
  });

  it("lists the connected cluster for every user", async () => {
    const list = ["--namespace=latchkey-system", "get", "configmap", "latchkey-clusters"];
    const read = await run("bob", [...list, "--output=jsonpath={.data.connected}"]);
    expect(read).toMatchObject({ code: 0 });
    const server = `${variable("LATCHKEY_GATEWAY_URL")}/kubernetes/cluster/connected`;
    const ca = readFileSync(variable("LATCHKEY_GATEWAY_CA")).toString("base64");
    expect(JSON.parse(read.stdout)).toEqual({
      gateway: { server, certificateAuthorityData: ca },
      direct: {
        server: variable("LATCHKEY_CONNECTED_URL"),
        certificateAuthorityData: readFileSync(variable("LATCHKEY_CONNECTED_CA")).toString(
          "base64",
        ),
      },
    });
  });

  it("runs the agent of the connected cluster, which has a copy of a sample", async () => {
    const copy = ["--namespace=web-edge", "get", "secret", "registry", "--output=jsonpath={.type}"];
    expect(await run("connected", copy)).toMatchObject({
      code: 0,
      stdout: "kubernetes.io/dockerconfigjson",
    });
    expect(existsSync(inside("logs", "cluster-agent.log"))).toBe(true);
  });

  it("opens the connected cluster to the kubeconfig that the client prints", async () => {
    const client = inside("bin", "kubectl-latchkey");
    const env = {
      PATH: `${inside("bin")}:${process.env["PATH"]}`,
      HOME: inside("."),
      KUBECONFIG: variable("KUBECONFIG"),
    };
    const kubeconfig = inside("connected.yaml");
    const flags = ["--context=alice", `--output-file=${kubeconfig}`];
    await promisify(execFile)(client, ["kubeconfig", "connected", ...flags], { env });
    const whoami = ["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"];
    const { stdout } = await promisify(execFile)(
      inside("bin", "kubectl"),
      [`--kubeconfig=${kubeconfig}`, ...whoami],
      { env },
    );
    expect(stdout).toBe("alice");
  });

  it.each([
    ["names it gets what alice may view, and no more", "near", "connected", 0],
    ["names another cluster gets nothing", "far", "elsewhere", 1],
  ])("a key whose scope %s", async (_what, name, cluster, code) => {
    const key = `${name}-${"k".repeat(40)}`;
    const spec = { user: "alice", key, ttl: 3600, scope: { clusters: [{ cluster }] } };
    const object = {
      apiVersion: "management.service/v1",
      kind: "OwnedAccessKey",
      metadata: { name },
      spec,
    };
    await run("admin", ["create", "--filename=-"], JSON.stringify(object));
    const through = (args: readonly string[]) =>
      run("gateway-connected", ["--token", key, ...args]);
    const get = ["get", "configmap", "kube-root-ca.crt"];
    const isAnswered = async () => {
      const answer = await through(get);
      return !answer.stderr.includes("Unauthorized") && answer;
    };
    const answer = await eventually(isAnswered, { what: "the key to be accepted" });
    const stderr = expect.stringContaining(code === 0 ? "" : "Forbidden");
    expect(answer).toMatchObject({ code, stderr });
    const secrets = await through(["get", "secrets"]);
    expect(secrets).toMatchObject({ code: 1, stderr: expect.stringContaining("Forbidden") });
  });

  /** Creates a direct token as alice, and waits until it is minted. */
  async function mint(name: string, spec: object = {}): Promise<string> {
    const kind = { apiVersion: "management.service/v1", kind: "DirectClusterEndpointToken" };
    const object = { ...kind, metadata: { name }, spec };
    await run("alice", ["create", "--filename=-"], JSON.stringify(object));
    const read = ["get", "directclusterendpointtoken", name];
    return eventually(
      async () =>
        (await run("alice", [...read, "--output=jsonpath={.status.token}"])).stdout || false,
      { what: "the token to be minted" },
    );
  }

  /** kube-apiserver of the connected cluster, and its direct endpoint. */
  const directWays = () => [
    [],
    [
      `--server=${variable("LATCHKEY_DIRECT_URL")}`,
      `--certificate-authority=${variable("LATCHKEY_DIRECT_CA")}`,
    ],
  ];

  it("lets a token with a scope read a ConfigMap there, and not list them, which alice may", async () => {
    const resources = [{ group: "", resources: ["configmaps"] }];
    const narrow = await mint("narrow", { scope: { rules: [{ verbs: ["get"], resources }] } });
    const wide = await mint("wide");
    for (const way of directWays()) {
      const get = (token: string, ...args: readonly string[]) =>
        run("direct", [`--token=${token}`, ...way, "get", ...args]);
      expect(await get(narrow, "configmap", "kube-root-ca.crt")).toMatchObject({ code: 0 });
      expect(await get(narrow, "configmaps")).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("the scope of this credential does not allow"),
      });
      expect(await get(wide, "configmaps")).toMatchObject({ code: 0 });
    }
  });

  it("opens the connected cluster to a direct token, at kube-apiserver and at its direct endpoint", async () => {
    const token = await mint("there");
    for (const way of directWays()) {
      const whoami = ["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"];
      const answer = await run("direct", [`--token=${token}`, ...way, ...whoami]);
      expect(answer).toMatchObject({ code: 0, stdout: "alice" });
    }
    expect(existsSync(inside("logs", "direct-endpoint.log"))).toBe(true);
    expect(existsSync(inside("logs", "direct-authorizer.log"))).toBe(true);
    await run("alice", ["delete", "directclusterendpointtoken", "there", "--wait=false"]);
    const raw = ["get", "--raw", "/api/v1/namespaces/default/pods"];
    const isRefused = async () =>
      (await run("direct", [`--token=${token}`, ...raw])).stderr.includes("Forbidden");
    await eventually(isRefused, { what: "kube-apiserver to refuse the deleted token" });
    const { stdout } = await promisify(execFile)(inside("bin", "latchkey"), ["--version"]);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("ends with everything that it started", async () => {
    const names = ["LATCHKEY_CONNECTED_URL", "LATCHKEY_GATEWAY_URL", "LATCHKEY_DIRECT_URL"];
    const servers = names.map(variable);
    expect(await Promise.all(servers.map(answers))).toEqual([true, true, true]);
    expect(await dev.stop("SIGINT")).toBe(0);
    expect(await Promise.all(servers.map(answers))).toEqual([false, false, false]);
  });
});
