import { afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import { api, unique } from "../support/policy-request.ts";
import { type CliOptions, type RunningCli, startCli } from "../support/run-cli.ts";
import { base64, makeSharedSecret, secretPath } from "../support/shared-secret-requests.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const [namespace, target, project] = ["live-status", "live-target", "live-project"].map(unique) as [
  string,
  string,
  string,
];
const canary = "canary-value-of-live-status";

describe.skipIf(inject("cli") === undefined)("kubectl latchkey status that goes on", () => {
  const running: RunningCli[] = [];
  const outputs: string[] = [];
  const start = (args: readonly string[], options: CliOptions = {}) => {
    const cli = startCli(["status", "-n", namespace, "--interval=1s", ...args], options);
    running.push(cli);
    return cli;
  };
  afterEach(async () => {
    for (const cli of running.splice(0)) {
      await cli.stop("SIGKILL");
      outputs.push(cli.stdout(), cli.stderr());
    }
  });
  const says = (look: () => string, text: string) =>
    eventually(() => look().includes(text), { what: `the text ${text}` });

  beforeAll(async () => {
    const path = "/api/v1/namespaces";
    const accepting = {
      labels: { [labels.project]: project },
      annotations: { [annotations.sync]: "enabled" },
    };
    await api.create(path, { metadata: { name: namespace } });
    await api.create(path, { metadata: { name: target, ...accepting } });
    await makeSharedSecret({
      namespace,
      name: "shared",
      annotations: { [annotations.syncToProjects]: project },
      spec: {
        data: { password: base64(canary) },
        access: [{ verbs: ["get"], users: ["bob"] }],
      },
    });
    await eventually(async () => (await arrangeCopy()) !== undefined, { what: "the copy" });
  });
  const arrangeCopy = async () => api.get(secretPath(target, "shared"));

  it("--serve goes on when the API server was away, and says so on the page", async () => {
    const { url } = inject("controlPlane");
    const proxy = await startTcpProxy(Number(new URL(url).port));
    const serve = start(["--serve", `--server=https://127.0.0.1:${proxy.port}`]);
    try {
      await says(serve.stdout, "\n");
      const page = new URL(serve.stdout().trim());
      const headers = { authorization: `Bearer ${page.hash.slice(1)}` };
      const problem = async (): Promise<unknown> =>
        JSON.parse(await (await fetch(new URL("/api/status", page), { headers })).text()).problem;
      expect(await problem()).toBeUndefined();
      proxy.reset(1);
      const isAway = async () => String(await problem()).includes("does not answer");
      await eventually(isAway, { what: "the problem" });
      proxy.reset(0);
      await eventually(async () => (await problem()) === undefined, { what: "the end of it" });
      expect(await serve.stop("SIGINT")).toBe(0);
    } finally {
      await proxy.stop();
    }
  });

  it("--serve rejects a server that never answers", async () => {
    const serve = start(["--serve", "--server=https://127.0.0.1:1"]);
    expect(await serve.ended).toBe(1);
    expect(serve.stderr()).toContain("ECONNREFUSED");
  });

  it("--serve serves the report of the user to the holder of the URL, until SIGTERM", async () => {
    const serve = start(["--serve"]);
    await says(serve.stdout, "\n");
    expect(serve.stdout()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}\n$/);
    const url = new URL(serve.stdout().trim());
    expect(await (await fetch(url)).text()).toContain("<title>Latchkey status</title>");
    const data = new URL("/api/status", url);
    expect((await fetch(data)).status).toBe(401);
    const headers = { authorization: `Bearer ${url.hash.slice(1)}` };
    const text = await (await fetch(data, { headers })).text();
    outputs.push(text);
    expect(JSON.parse(text)).toMatchObject({
      title: expect.stringContaining(`namespace ${namespace} at https://`),
      report: {
        sharedSecrets: [
          {
            object: { kind: "SharedSecret", namespace, name: "shared" },
            secrets: [{ object: { namespace: target, name: "shared" }, target: "synced" }],
          },
        ],
      },
    });
    expect(await serve.stop()).toBe(0);
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    expect(serve.stdout().split("\n")).toHaveLength(2);
  });

  it.each([
    [["--serve", "--output=json"], "--serve has a page instead of an output"],
    [["--port=8000"], "--port has no effect without --serve"],
  ])("refuses %j", async (args, sentence) => {
    const cli = start(args);
    expect(await cli.ended).toBe(2);
    expect(cli.stderr()).toContain(sentence);
  });

  it("has printed and served no value in any of these runs", () => {
    const said = outputs.join("\n");
    expect(outputs.length).toBeGreaterThan(5);
    expect(said).not.toContain(canary);
    expect(said).not.toContain(base64(canary).slice(0, 24));
  });
});
