import { load } from "js-yaml";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl } from "../support/kubectl.ts";
import { api, unique } from "../support/policy-request.ts";
import { runCli } from "../support/run-cli.ts";
import { listAt } from "../../src/api/parse.ts";
import { reportProblems } from "../support/report-shape.ts";

const namespace = unique("cli-list");
const secretValue = "c2VjcmV0LWluLWxpc3Q=";

async function sharedSecret(name: string, access: readonly object[]): Promise<void> {
  await api.create(`/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`, {
    apiVersion: "management.service/v1",
    kind: "SharedSecret",
    metadata: { name },
    spec: { data: { password: secretValue }, access, displayName: `The ${name}\u001b[31m` },
  });
}

describe.skipIf(inject("cli") === undefined)("kubectl latchkey", () => {
  beforeAll(async () => {
    await api.create("/api/v1/namespaces", { metadata: { name: namespace } });
    await sharedSecret("alpha", [{ verbs: ["get"], users: ["bob"] }]);
    await sharedSecret("beta", [{ verbs: ["*"], users: ["alice"] }]);
    await eventually(
      async () =>
        (await runCli(["list", "-n", namespace, "-o", "name"], { user: "bob" })).stdout !== "",
      { what: "bob's grant" },
    );
  });

  it("version names itself and the API server, also as a plugin of kubectl", async () => {
    const own = await runCli(["version", "--output=json"]);
    const plugin = await runCli(["version", "--output=json"], { throughKubectl: true });
    expect(JSON.parse(own.stdout)).toEqual({
      client: latchkeyVersion,
      kubernetes: expect.stringMatching(/^v1\.\d+\./),
      controller: latchkeyVersion,
    });
    expect(plugin).toEqual(own);
    expect((await runCli(["--version", "--output=json"])).stdout).toBe(own.stdout);
    const bobs = await runCli(["version"], { user: "bob" });
    expect(bobs.stdout).toMatch(/^client: .*\nkubernetes: .*\n$/);
    expect(bobs.stderr).toContain("you may not get leases.coordination.k8s.io/latchkey-controller");
  });

  it("check finds nothing wrong for an administrator", async () => {
    const { code, stdout, stderr } = await runCli(["check"]);
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^Lease "latchkey-system\/latchkey-controller" +ok +".*" holds the Lease and renewed it \d+s ago\.$/m,
    );
    expect(stdout.match(/^\S.* ok +(?:The webhook|kube-apiserver) answered /gm)).toHaveLength(3);
    expect(stdout).toMatch(
      /^User ".*" +info +You may create ownedaccesskeys\.management\.service\.$/m,
    );
  });

  it("check shows bob what he may not see and not do", async () => {
    const { code, stdout } = await runCli(["check", "-n", namespace], { user: "bob" });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Lease .* +unknown .*"bob" cannot get resource "leases"/m);
    expect(stdout).toMatch(
      /^User "bob" +info +You may not list sharedsecrets\.management\.service in namespace cli-list-\w+\.$/m,
    );
  });

  it("check exits with 3 where no controller runs", async () => {
    const { code, stdout } = await runCli(["check", "--latchkey-namespace=default", "-o", "json"]);
    expect(code).toBe(3);
    const report: unknown = JSON.parse(stdout);
    expect(reportProblems(report, "check")).toEqual([]);
    const lease = { kind: "Lease", namespace: "default", name: "latchkey-controller" };
    expect(listAt(report, "items")).toContainEqual(
      expect.objectContaining({ object: lease, state: "problem", reason: "NotFound" }),
    );
  });

  it("list shows all SharedSecrets to an administrator", async () => {
    const { code, stdout, stderr } = await runCli(["list", "-n", namespace]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^NAME +READY [^]* DISPLAY-NAME +AGE\nalpha [^]*\nbeta /);
    for (const [row = ""] of stdout.matchAll(/^(?:alpha|beta) .*$/gm))
      expect(row).toMatch(/ The (?:alpha|beta)\u{fffd}\[31m /u);
  });

  it("status shows the display name beside the name, and in its items", async () => {
    const { stdout } = await runCli(["status", "-n", namespace]);
    expect(stdout).toContain(`${namespace}/alpha "The alpha\\u001b[31m" `);
    const json = await runCli(["status", "-n", namespace, "-o", "json"]);
    // Keys and tokens of other tests are items, too.
    expect(listAt(JSON.parse(json.stdout), "items")).toContainEqual(
      expect.objectContaining({ displayName: "The alpha\u001b[31m" }),
    );
  });

  it("kubectl get -o wide has the display name of SharedSecrets and keys", async () => {
    const key = unique("shown");
    await api.create("/apis/management.service/v1/ownedaccesskeys", {
      apiVersion: "management.service/v1",
      kind: "OwnedAccessKey",
      metadata: { name: key },
      spec: { user: "alice", displayName: "Key of alice" },
    });
    const wide = (...what: readonly string[]) =>
      kubectl(inject("controlPlane"), ["get", "-n", namespace, "-o", "wide", ...what]);
    expect(await wide("sharedsecrets")).toMatch(/ DISPLAY-NAME +AGE\nalpha .* The alpha/);
    expect(await wide("ownedaccesskeys", key)).toMatch(/ DISPLAY-NAME +AGE\n.* Key of alice +/);
    expect((await runCli(["keys", "list"])).stdout).toMatch(/^shown-.* Key of alice /m);
    await api.delete(`/apis/management.service/v1/ownedaccesskeys/${key}`);
  });

  it("list shows bob, who may not list, what his roles name", async () => {
    const { code, stdout } = await runCli(["-n", namespace, "list", "-o", "name"], { user: "bob" });
    expect([code, stdout]).toEqual([0, "sharedsecret.management.service/alpha\n"]);
  });

  it("list -A shows bob the namespace of the context, and says so", async () => {
    const { code, stdout, stderr } = await runCli(["list", "-A", "-n", namespace], { user: "bob" });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^NAMESPACE +NAME [^]*\ncli-list-\w+ +alpha /);
    expect(stderr).toContain("you may not list namespaces");
  });

  it.each(["json", "yaml", "name", undefined])("list -o %s prints no value", async (output) => {
    const flags = output === undefined ? [] : ["-o", output];
    for (const user of ["admin", "bob"]) {
      const { code, stdout } = await runCli(["list", "-n", namespace, ...flags], { user });
      expect(code).toBe(0);
      expect(stdout).toContain("alpha");
      expect(stdout).not.toContain(secretValue);
    }
  });

  it("list prints JSON or YAML as asked", async () => {
    const args = ["list", "-n", namespace, "-o"];
    const [json, yaml] = [await runCli([...args, "json"]), await runCli([...args, "yaml"])];
    expect(JSON.parse(json.stdout)).toMatchObject({ apiVersion: "v1", kind: "List" });
    expect(yaml.stdout).toMatch(/^apiVersion: v1\nkind: List\n/);
    expect(load(yaml.stdout)).toEqual(JSON.parse(json.stdout));
  });

  it("names the missing right and exits with 5", async () => {
    const { code, stderr } = await runCli(["list", "--as", "alice"], { user: "bob" });
    expect(code).toBe(5);
    expect(stderr).toMatch(/^kubectl latchkey: .* is forbidden: .*cannot impersonate.*\n$/);
  });

  it.each([
    ["a missing kubeconfig", ["list", "--kubeconfig=/missing"], 2, "cannot be read: ENOENT"],
    ["a missing context", ["list", "--context=nowhere"], 2, 'no context "nowhere"'],
    [
      "a server that does not answer",
      ["list", "--server=https://127.0.0.1:1"],
      1,
      "at 127.0.0.1:1 does not answer: ECONNREFUSED",
    ],
    ["a wrong token", ["list", "--token=wrong"], 1, "does not accept the credentials"],
    ["a wrong flag", ["list", "--nmespace=a"], 2, "did you mean --namespace?"],
  ])("says in one sentence: %s", async (_what, args, code, sentence) => {
    const result = await runCli(args);
    expect(result).toMatchObject({ code, stdout: "" });
    expect(result.stderr).toMatch(/^kubectl latchkey: [^\n]+\n$/);
    expect(result.stderr).toContain(sentence);
  });
});
