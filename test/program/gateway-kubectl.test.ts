import { beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import { kubectlThrough } from "../support/gateway-client.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { startKubectl } from "../support/kubectl-process.ts";
import { becomes } from "../support/becomes.ts";
import { api, bind, unique } from "../support/policy-request.ts";

const editors = unique("editors");

describe.skipIf(inject("gateway") === undefined).each([
  ["HTTP/2", true],
  ["HTTP/1.1", false],
])("kubectl through the gateway over %s", (_protocol, http2) => {
  const namespace = unique("kubectl");
  let key: KnownKey;

  const run = async (args: readonly string[], input = "", env = {}) =>
    kubectlThrough(key.key, [...args, `--namespace=${namespace}`], { http2, input, env });
  const succeed = async (args: readonly string[], input = ""): Promise<string> => {
    const { code, stdout, stderr } = await run(args, input);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };

  beforeAll(async () => {
    await bind({ kind: "Group", name: editors }, "cluster-admin");
    key = await makeKey({ spec: { user: "alice", groups: [editors] } });
    await becomes("the key to work", () => run(["get", "namespaces"]), { code: 0 });
    await succeed(["create", "namespace", namespace]);
  });

  it("shows the user of the key", async () => {
    const stdout = await succeed(["auth", "whoami"]);
    expect(stdout).toMatch(/Username +alice/);
    expect(stdout).toContain(key.uid);
  });

  it("lists what the user may do", async () => {
    expect(await succeed(["auth", "can-i", "--list"])).toMatch(/\*\.\* +\[\] +\[\] +\[\*\]/);
    expect(await succeed(["auth", "can-i", "get", "secrets"])).toBe("yes\n");
  });

  it("discovers and explains resources", async () => {
    expect(await succeed(["api-resources"])).toContain("ownedaccesskeys");
    expect(await succeed(["api-versions"])).toContain("management.service/v1");
    expect(await succeed(["explain", "ownedaccesskeys.spec.ttl"])).toContain("ttl");
    expect(await succeed(["version", "--output=json"])).toContain("serverVersion");
  });

  it("applies, compares, patches and deletes an object and waits for its end", async () => {
    const manifest = (value: string): string =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "settings" },
        data: { value },
      });
    const apply = ["apply", "--server-side", "--filename=-"];
    await succeed(apply, manifest("1"));
    const { code, stdout } = await run(["diff", "--server-side", "--filename=-"], manifest("2"));
    expect([code, stdout]).toEqual([1, expect.stringContaining("+  value: ")]);
    await succeed(apply, manifest("2"));
    for (const [type, patch] of [
      ["merge", '{"data":{"value":"3"}}'],
      ["json", '[{"op":"replace","path":"/data/value","value":"4"}]'],
      ["strategic", '{"data":{"value":"5"}}'],
    ] as const) {
      await succeed(["patch", "configmap", "settings", `--type=${type}`, `--patch=${patch}`]);
    }
    const get = ["get", "configmap", "settings", "--output=jsonpath={.data.value}"];
    expect(await succeed(get)).toBe("5");
    await succeed(["replace", "--filename=-"], manifest("6"));
    expect(await succeed(get)).toBe("6");
    await succeed(["delete", "configmap", "settings", "--wait"]);
    expect((await run(get)).stderr).toContain('configmaps "settings" not found');
  });

  it.each([
    ["SharedSecret", "sharedsecrets", { displayName: "before" }],
    ["OwnedAccessKey", "oak", { user: "alice", groups: [editors], displayName: "before" }],
    ["DirectClusterEndpointToken", "dcet", { ttl: 600 }],
  ])("gets, creates, edits, patches and deletes a %s", async (kind, resource, spec) => {
    const name = unique("kubectl");
    const annotations = { "example.com/state": "before" };
    const manifest = { apiVersion, kind, metadata: { name, annotations }, spec };
    const get = async (): Promise<unknown> =>
      JSON.parse(await succeed(["get", resource, name, "--output=json"]));
    const state = (value: string) => ({
      metadata: { annotations: { "example.com/state": value } },
    });
    const created = await run(["create", "--filename=-"], JSON.stringify(manifest));
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/created\n$/) });
    expect(await get()).toMatchObject({ ...manifest, metadata: { name } });
    const edited = await run(["edit", resource, name], "", {
      KUBE_EDITOR: "sed -i s/before/after/",
    });
    expect(edited).toMatchObject({ code: 0, stdout: expect.stringMatching(/edited\n$/) });
    expect(await get()).toMatchObject({
      ...state("after"),
      spec: JSON.parse(JSON.stringify(spec).replace("before", "after")),
    });
    const patch = '[{"op":"add","path":"/metadata/annotations/example.com~1state","value":"last"}]';
    await succeed(["patch", resource, name, "--type=json", `--patch=${patch}`]);
    expect(await get()).toMatchObject(state("last"));
    expect(await run(["delete", resource, name, "--wait"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/deleted/),
    });
    expect((await run(["get", resource, name])).stderr).toContain(`"${name}" not found`);
  });

  it("lists in pages", async () => {
    const names = Array.from({ length: 25 }, (_, at) => `page-${at}`);
    const items = names.map((name) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
    }));
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    await succeed(["apply", "--server-side", "--filename=-"], list);
    const stdout = await succeed(["get", "configmaps", "--chunk-size=10", "--output=name"]);
    expect(stdout.match(/page-/g)).toHaveLength(25);
  });

  it("watches", async () => {
    const args = ["get", "secrets", `--namespace=${namespace}`, "--watch", "--output=name"];
    const watch = startKubectl(key.key, args, { env: http2 ? {} : { DISABLE_HTTP2: "1" } });
    try {
      const seen = await eventually(
        async () => {
          await api.create(`/api/v1/namespaces/${namespace}/secrets`, {
            metadata: { generateName: "watched-" },
            type: "Opaque",
          });
          return watch.stdout().includes("secret/watched-") && watch.stdout().toString();
        },
        { what: "the watch to show a Secret", every: 200 },
      );
      expect(seen).not.toContain("configmap");
    } finally {
      watch.kill();
    }
  });

  it("waits for a condition", async () => {
    await succeed(["create", "deployment", "web", "--image=none"]);
    const { code, stderr } = await run([
      "wait",
      "deployment/web",
      "--for=condition=Available",
      "--timeout=1s",
    ]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("timed out")]);
    await succeed(["wait", "deployment/web", "--for=jsonpath={.spec.replicas}=1", "--timeout=10s"]);
  });

  it("says what a user may not do, as kube-apiserver does", async () => {
    const poor = await makeKey({ spec: { user: "bob" } });
    const get = () => kubectlThrough(poor.key, ["get", "secrets"], { http2 });
    const { stderr } = await eventually(
      async () => {
        const result = await get();
        return result.stderr.includes("Forbidden") && result;
      },
      { what: "the key to be known" },
    );
    expect(stderr).toContain('User "bob" cannot list resource "secrets"');
  });

  it("refuses a key that does not exist", async () => {
    const { code, stderr } = await kubectlThrough("nothing", ["get", "secrets"], { http2 });
    expect([code, stderr]).toEqual([1, expect.stringContaining("Unauthorized")]);
  });

  it("refuses --as", async () => {
    const { code, stderr } = await run(["get", "secrets", "--as=root"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("remove --as")]);
  });
});
