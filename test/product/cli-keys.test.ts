import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { worksAs } from "../support/key-request.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { allow, api, bind, unique } from "../support/policy-request.ts";
import { managementPath } from "../support/gateway-address.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { type CliOptions, runCli } from "../support/run-cli.ts";
import { gatewayKnows } from "../support/ways-in.ts";

const digest = /^sha256:[0-9a-f]{16}\.[0-9a-f]{64}$/;

/** A kubeconfig with a new key of bob, whose server is the gateway. */
async function gatewayOfBob(directory: string): Promise<string> {
  const { stdout } = await runCli([
    ...["keys", "create", unique("parent"), "--user=bob", "--group=devs"],
  ]);
  const key = stdout.trim();
  // The gateway rejects a key, and the webhook its requests, until they know it.
  await Promise.all([gatewayKnows({ key }), worksAs({ key })]);
  return gatewayWith(directory, key);
}

/** A kubeconfig with a key, whose server is the gateway. */
function gatewayWith(directory: string, key: string): string {
  const { gatewayUrl = "", gatewayCa = "" } = inject("cli") ?? {};
  const path = join(directory, unique("gateway"));
  writeKubeconfig(
    path,
    { url: `${gatewayUrl}${managementPath}`, certificateAuthority: gatewayCa },
    { key: { token: key } },
  );
  return path;
}

describe.skipIf(inject("cli") === undefined)("kubectl latchkey keys", () => {
  const directory = mkdtempSync(join(tmpdir(), "cli-keys-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  beforeAll(() => allowRequesters("devs"));
  const stored = async (name: string) =>
    recordAt(await api.get(`/apis/management.service/v1/ownedaccesskeys/${name}`), "spec");

  it("create prints the key once and stores a bound digest", async () => {
    const name = unique("made");
    const file = join(directory, name);
    const args = ["keys", "create", name, "--ttl=1h", "--project=web", `--output-file=${file}`];
    const made = await runCli(args, { user: "bob" });
    expect(made).toMatchObject({ code: 0, stdout: "" });
    expect(made.stderr).toContain(`ownedaccesskey/${name} created: Active`);
    expect(made.stderr).toMatch(/ ends 1h after its creation, at \S+Z$/m);
    const key = readFileSync(file, "utf8");
    expect(key).toMatch(/^lk_\w+\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await stored(name)).toMatchObject({
      user: "bob",
      ttl: 3600,
      scope: { projects: [{ project: "web" }] },
      key: expect.stringMatching(digest),
    });
    const again = await runCli(args, { user: "bob" });
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("already exists") });
    const tested = await runCli(["keys", "test"], { input: key });
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining("Username: bob\n") });
  });

  it.each(["kube-apiserver", "gateway"])(
    "create prints a kubeconfig for the server of the context: %s",
    async (server) => {
      const { gatewayUrl = "" } = inject("cli") ?? {};
      const isGateway = server === "gateway";
      const options: CliOptions = isGateway
        ? { kubeconfig: await gatewayOfBob(directory) }
        : { user: "bob" };
      const name = unique("config");
      const file = join(directory, name);
      const args = ["keys", "create", name, "--ttl=1h", "-o", "kubeconfig"];
      const made = await runCli([...args, `--output-file=${file}`], options);
      expect(made).toMatchObject({ code: 0, stdout: "" });
      expect(made.stderr).not.toContain("lk_");
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const url = isGateway ? `${gatewayUrl}${managementPath}` : inject("controlPlane").url;
      expect(load(readFileSync(file, "utf8"))).toMatchObject({
        "current-context": `latchkey-${name}`,
        clusters: [{ cluster: { server: url, "certificate-authority-data": expect.any(String) } }],
        users: [{ user: { token: expect.stringMatching(/^lk_/) } }],
      });
      const whoami = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
      const { stdout } = await tryKubectl(
        { ...inject("controlPlane"), kubeconfigs: { own: file } },
        whoami,
        { user: "own" },
      );
      expect(stdout).toBe("bob");
      expect((await runCli(["check"], { kubeconfig: file })).stdout).toContain("bob");
    },
  );

  it("create prints variables that a shell and a dotenv reader read alike", async () => {
    const args = ["keys", "create", unique("env"), "-o", "env"];
    const { code, stdout } = await runCli(args, { user: "bob" });
    expect(code).toBe(0);
    const { url, certificateAuthority } = inject("controlPlane");
    const variables = parseEnv(stdout);
    expect(variables).toEqual({
      LATCHKEY_ACCESS_KEY: expect.stringMatching(/^lk_/),
      LATCHKEY_SERVER: url,
      LATCHKEY_CERTIFICATE_AUTHORITY_DATA: Buffer.from(certificateAuthority).toString("base64"),
    });
    const file = join(directory, "variables");
    writeFileSync(file, stdout);
    const script = `set -a; . ${file}; printf "%s" "$LATCHKEY_ACCESS_KEY"`;
    const inShell = execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" });
    expect(inShell === variables["LATCHKEY_ACCESS_KEY"]).toBe(true);
    const input = variables["LATCHKEY_ACCESS_KEY"] ?? "";
    expect((await runCli(["keys", "test"], { input })).stdout).toContain("Username: bob\n");
  });

  it.each(["kube-apiserver", "gateway"])(
    "every command connects with the printed variables, at the %s",
    async (where) => {
      const { gatewayUrl = "", gatewayCa = "" } = inject("cli") ?? {};
      const gateway = [`--gateway=${gatewayUrl}`, `--gateway-ca=${join(directory, "ca")}`];
      writeFileSync(join(directory, "ca"), gatewayCa);
      const args = ["keys", "create", unique("env"), "-o", "env", "--role=serviceCLI"];
      const made = await runCli([...args, ...(where === "gateway" ? gateway : [])], {
        user: "bob",
      });
      const variables = parseEnv(made.stdout);
      const key = variables["LATCHKEY_ACCESS_KEY"] ?? "";
      const env = { ...variables, HOME: directory };
      const checked = await runCli(["check"], { kubeconfig: "", env });
      expect(checked).toMatchObject({ code: 0, stderr: "" });
      expect(checked.stdout).toMatch(/^User "bob" .*connection is that of LATCHKEY_SERVER and /m);
      // A scope that does not cover the request, a kubeconfig that the user may mean, a flag.
      const forbidden = await runCli(["keys", "disable", "any"], { kubeconfig: "", env });
      expect(forbidden.code).toBe(5);
      expect(forbidden.stderr).toMatch(
        /LATCHKEY_ACCESS_KEY; unset them, or set --kubeconfig or --context, to use a kubeconfig\n/,
      );
      const both = await runCli(["check"], { user: "admin", env });
      expect(both.stdout).toMatch(/^User "bob" /m);
      expect(both.stderr).toContain(`the connection to ${variables["LATCHKEY_SERVER"]} is that of`);
      const { stdout } = await runCli(["check", "--context=admin"], { user: "admin", env });
      expect(stdout).toMatch(/^User "admin" /m);
      const said = [checked, forbidden, both].flatMap((run) => [run.stdout, run.stderr]).join("");
      expect(said).not.toContain(key);
    },
  );

  it.each<[string, Readonly<Record<string, string>>, number, string]>([
    [
      "a wrong key",
      { LATCHKEY_ACCESS_KEY: "canary-key-0123456789" },
      1,
      "does not accept the cred",
    ],
    ["no key", { LATCHKEY_ACCESS_KEY: "" }, 2, "LATCHKEY_ACCESS_KEY is not, or is empty; set both"],
    [
      "another CA",
      {
        LATCHKEY_ACCESS_KEY: "canary-key-0123456789",
        LATCHKEY_CERTIFICATE_AUTHORITY_DATA: "",
      },
      1,
      "is not trusted",
    ],
    ["no URL", { LATCHKEY_SERVER: "canary", LATCHKEY_ACCESS_KEY: "canary" }, 2, "must be a URL"],
  ])("variables with %s are said, without the key", async (_what, given, code, sentence) => {
    const { url, certificateAuthority } = inject("controlPlane");
    const ca = Buffer.from(certificateAuthority).toString("base64");
    const server = { LATCHKEY_SERVER: url, LATCHKEY_CERTIFICATE_AUTHORITY_DATA: ca };
    const env = { ...server, HOME: directory, ...given };
    const ended = await runCli(["list"], { kubeconfig: "", env });
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(sentence) });
    expect(ended.stderr).not.toContain("canary");
  });

  it("create prints the key and the server as json, and once", async () => {
    const name = unique("json");
    const { stdout, stderr } = await runCli(["keys", "create", name, "-o", "json"], {
      user: "bob",
    });
    const made: unknown = JSON.parse(stdout);
    expect(made).toMatchObject({ name, subject: "user:bob", server: inject("controlPlane").url });
    const { key } = recordAt({ made }, "made");
    expect(stdout.split(String(key))).toHaveLength(2);
    expect(stderr).not.toContain(String(key));
  });

  it("create removes the file where the API server refuses the key", async () => {
    const name = unique("refused");
    const file = join(directory, name);
    const args = ["keys", "create", name, "--user=alice", `--output-file=${file}`];
    const { code, stderr } = await runCli(args, { user: "bob" });
    expect([code, stderr]).toEqual([5, expect.stringContaining("requires the verb impersonate")]);
    expect(() => statSync(file)).toThrow("ENOENT");
  });

  it("list and describe show bob his keys, and no key", async () => {
    const name = unique("shown");
    const { stdout: key } = await runCli(["keys", "create", name], { user: "bob" });
    for (const output of [[], ["-o", "json"], ["-o", "yaml"], ["-o", "name"]]) {
      const { stdout } = await runCli(["keys", "list", ...output], { user: "bob" });
      expect(stdout).toContain(name);
      expect(stdout).not.toMatch(/sha256:|lk_/);
    }
    const { stdout } = await runCli(["keys", "list"], { user: "bob" });
    expect(stdout).toMatch(/^NAME +READY +REASON +SUBJECT +REQUESTER +SCOPE +EXPIRES /);
    expect(stdout).toMatch(
      new RegExp(`^${name} +True +Active +user:bob +bob +no scope: all rights of bob +`, "m"),
    );
    const described = await runCli(["keys", "describe", name], { user: "bob" });
    expect(described.stdout).toMatch(/^Requester: +bob$/m);
    expect(described.stdout).not.toContain(key.trim());
    const foreign = await runCli(["keys", "describe", name], { user: "alice" });
    expect(foreign).toMatchObject({ code: 5, stderr: expect.stringContaining("cannot get") });
  });

  it("disable, enable and delete change what the key may do", async () => {
    const name = unique("switched");
    const { stdout: key } = await runCli(["keys", "create", name, "--user=alice"]);
    const isAccepted = async () => (await runCli(["keys", "test"], { input: key })).code === 0;
    expect(await isAccepted()).toBe(true);
    expect((await runCli(["keys", "disable", name])).stdout).toBe(
      `ownedaccesskey/${name} disabled\n`,
    );
    await eventually(async () => !(await isAccepted()), { what: "the key to be refused" });
    const { stderr } = await runCli(["keys", "test"], { input: key });
    expect(stderr).toMatch(/the server does not accept this key(?: any more: the access|: it is)/);
    expect((await runCli(["keys", "enable", name])).stdout).toBe(
      `ownedaccesskey/${name} enabled\n`,
    );
    await eventually(isAccepted, { what: "the key to be accepted" });
    expect((await runCli(["keys", "delete", name])).stdout).toContain(`${name} deleted`);
    expect((await runCli(["keys", "describe", name])).code).toBe(4);
  });

  it("set changes the texts, the lifetime and the scope, and not the key", async () => {
    const name = unique("changed");
    const set = (...flags: readonly string[]) => runCli(["keys", "set", name, ...flags]);
    await runCli(["keys", "create", name, "--user=alice", "--role=serviceCLI", "--project=web"]);
    const before = await stored(name);
    const texts = ["--display-name=Shop", "--description=Pipeline of the shop"];
    expect(await set("--ttl=2h", "--space=web/dev", ...texts)).toMatchObject({
      code: 0,
      stdout: `ownedaccesskey/${name} set displayName, description, ttl, scope\n`,
      stderr: [
        `kubectl latchkey: OwnedAccessKey "${name}" ends 2h after its creation`,
        `kubectl latchkey: OwnedAccessKey "${name}" has another scope: space=web/dev, ` +
          "instead of role=serviceCLI,project=web",
        "",
      ].join("\n"),
    });
    const changed = {
      user: "alice",
      type: "User",
      key: before["key"],
      ttl: 7200,
      displayName: "Shop",
      description: "Pipeline of the shop",
      scope: { spaces: [{ project: "web", space: "dev" }] },
    };
    expect(await stored(name)).toEqual(changed);
    const tried = await set("--clear-scope", "--dry-run=server");
    expect(tried.stdout).toBe(`ownedaccesskey/${name} set scope (server dry run)\n`);
    expect(tried.stderr).not.toContain("warning");
    expect(await stored(name)).toEqual(changed);
    const cleared = ["--clear-scope", "--display-name=", "--description=", "--ttl=0"];
    expect(await set(...cleared)).toMatchObject({ code: 0 });
    expect(await stored(name)).toEqual({ ...before, scope: undefined, ttl: 0 });
  });

  it("set lets a requester describe and shorten its key, and names what it may not do", async () => {
    const name = unique("shortened");
    const set = (...flags: readonly string[]) =>
      runCli(["keys", "set", name, ...flags], { user: "bob" });
    await runCli(["keys", "create", name], { user: "bob" });
    expect((await set("--ttl=1h", "--description=mine")).code).toBe(0);
    expect(await stored(name)).toMatchObject({ ttl: 3600, description: "mine" });
    expect(await set("--ttl=0")).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("bob may not change spec.ttl of OwnedAccessKey"),
    });
    expect(await set("--project=web")).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("bob may not change spec.scope of OwnedAccessKey"),
    });
  });

  it("delete ends for a requester, whose grant ends before the object", async () => {
    const name = unique("own");
    await runCli(["keys", "create", name], { user: "bob" });
    const { code, stdout, stderr } = await runCli(["keys", "delete", name], { user: "bob" });
    expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(/ (?:is being )?deleted/)]);
  });

  it("rotate makes a successor, and ends the old key after the overlap", async () => {
    const name = unique("old");
    await runCli(["keys", "create", name, "--user=alice", "--project=web"]);
    const rotated = await runCli(["keys", "rotate", name, "--overlap=10m", "-o", "json"]);
    expect(rotated.code).toBe(0);
    const made: unknown = JSON.parse(rotated.stdout);
    const successor = String(recordAt({ made }, "made")["name"]);
    expect(successor).toMatch(new RegExp(`^${name}-r\\d{12}$`));
    expect(await stored(successor)).toMatchObject({
      user: "alice",
      scope: { projects: [{ project: "web" }] },
    });
    expect(await stored(name)).toMatchObject({ ttl: expect.any(Number) });
  });

  it("a key without any right disables itself, and cannot delete itself", async () => {
    const name = unique("self");
    const made = await runCli(["keys", "create", name, "--user=bob", "--role=serviceCLI"]);
    const key = made.stdout.trim();
    await Promise.all([gatewayKnows({ key }), worksAs({ key })]);
    const kubeconfig = gatewayWith(directory, key);
    expect(await runCli(["keys", "disable"], { kubeconfig })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("set either NAME or --self"),
    });
    expect(await runCli(["keys", "disable", "--self"], { kubeconfig })).toMatchObject({
      code: 0,
      stdout: `ownedaccesskey/${name} disabled\n`,
    });
    expect(await stored(name)).toMatchObject({ disabled: true });
    expect(await runCli(["keys", "disable", "--self"], { user: "bob" })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--self requires that the kubeconfig has an access key"),
    });
  });

  it("a key that wants to delete itself reads how to disable itself", async () => {
    const name = unique("self");
    const made = await runCli(["keys", "create", name, "--user=root", "--group=system-admins"]);
    const key = made.stdout.trim();
    await bind({ kind: "Group", name: "system-admins" }, "cluster-admin");
    await Promise.all([gatewayKnows({ key }), worksAs({ key })]);
    const kubeconfig = gatewayWith(directory, key);
    expect(await runCli(["keys", "delete", name], { kubeconfig })).toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringContaining("kubectl latchkey keys disable --self"),
    });
    expect(await stored(name)).not.toMatchObject({ disabled: true });
  });

  it("a requester disables its own key, ends it with rotate, and cannot enable it", async () => {
    const name = unique("leaked");
    const asBob = (command: string) => runCli(["keys", command, name], { user: "bob" });
    await asBob("create");
    expect(await asBob("rotate")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`ownedaccesskey/${name} set ttl; it ends in 24h`),
    });
    expect((await asBob("disable")).code).toBe(0);
    expect(await stored(name)).toMatchObject({ disabled: true });
    expect(await asBob("enable")).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("bob may not change spec.disabled of OwnedAccessKey"),
    });
  });

  it("rotate explains to a user who may not change the old key how to end it", async () => {
    const name = unique("kept");
    await runCli(["keys", "create", name, "--user=bob"]);
    await allow({ kind: "User", name: "bob" }, [
      {
        apiGroups: ["management.service"],
        resources: ["ownedaccesskeys"],
        resourceNames: [name],
        verbs: ["get"],
      },
    ]);
    const { code, stderr } = await runCli(["keys", "rotate", name], { user: "bob" });
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`run: kubectl latchkey keys delete ${name}`),
    ]);
  });

  it("create makes a key for one namespace, whose labels say which space it is", async () => {
    const [space, project, name] = [unique("space"), unique("project"), unique("key")];
    const path = `/api/v1/namespaces`;
    await api.create(path, { apiVersion: "v1", kind: "Namespace", metadata: { name: space } });
    const args = ["keys", "create", name, "--user=alice", `--for-namespace=${space}`];
    const { code, stderr } = await runCli(args);
    expect(code).toBe(1);
    for (const [, label = ""] of stderr.matchAll(/kubectl label namespace \S+ (\S+=[-\w]+)/g)) {
      const [key = "", value = ""] = label.split("=");
      const labels = { [key]: value === "PROJECT" ? project : value };
      await api.merge(`${path}/${space}`, { metadata: { labels } });
    }
    expect((await runCli(args)).code).toBe(0);
    expect(await stored(name)).toMatchObject({ scope: { spaces: [{ project, space }] } });
  });

  it("a manifest of rotate is a key that works, beside the old one", async () => {
    const name = unique("git");
    await runCli(["keys", "create", name, "--user=alice"]);
    const before = await stored(name);
    const file = join(directory, name);
    const rotated = await runCli(["keys", "rotate", name, "-o", "manifest", `--key-file=${file}`]);
    expect(rotated).toMatchObject({ code: 0, stderr: "" });
    expect(await stored(name)).toEqual(before);
    const manifest: unknown = load(rotated.stdout);
    const successor = String(recordAt(recordAt({ manifest }, "manifest"), "metadata")["name"]);
    const collection = "/apis/management.service/v1/ownedaccesskeys";
    expect((await api.find(`${collection}/${successor}`)).code).toBe(404);
    await api.create(collection, recordAt({ manifest }, "manifest"));
    const input = readFileSync(file, "utf8");
    const works = async () => (await runCli(["keys", "test"], { input })).code === 0;
    await eventually(works, { what: "the successor to work" });
  });

  it("revoke ends what a user has, twice the same, and names the binding for more", async () => {
    const [user, team, own, others, shared] = ["mallory", "team", "own", "ci", "shared"].map(
      unique,
    );
    await bind({ kind: "User", name: user ?? "" }, "latchkey-requester");
    const asUser = (...args: readonly string[]) =>
      runCli([...args, `--as=${user}`, `--as-group=${team}`]);
    await asUser("keys", "create", own ?? "", `--user=${user}`);
    const token = await asUser("token", "create", "--for-cluster=east");
    const [, tokenName = ""] = /token\/(\S+) created/.exec(token.stderr) ?? [];
    expect(tokenName).toMatch(/^mallory-[-\w]+-\w{5}$/);
    await runCli(["keys", "create", others ?? "", `--user=${user}`]);
    await runCli(["keys", "create", shared ?? "", `--team=${team}`]);
    const revoke = (...flags: readonly string[]) => runCli(["revoke", `--user=${user}`, ...flags]);
    expect(await revoke()).toMatchObject({ code: 2, stdout: "" });
    const tried = await revoke("--dry-run=server");
    expect([tried.code, (await stored(own ?? ""))["disabled"]]).toEqual([0, undefined]);
    const { code, stdout } = await revoke("--yes");
    expect(code).toBe(0);
    for (const name of [own, others])
      expect(stdout).toMatch(new RegExp(`^disable +OwnedAccessKey "${name}" `, "m"));
    expect(stdout).toMatch(new RegExp(`^info +OwnedAccessKey "${shared}" .* team "${team}"`, "m"));
    expect(stdout).toMatch(/^info +ClusterRoleBinding .* create ownedaccesskeys, create direct/m);
    expect(await stored(own ?? "")).toMatchObject({ disabled: true });
    expect(await stored(others ?? "")).toMatchObject({ disabled: true });
    expect(await stored(shared ?? "")).not.toHaveProperty("disabled");
    const path = `/apis/management.service/v1/directclusterendpointtokens/${tokenName}`;
    expect((await api.find(path)).code).toBe(404);
    const again = await revoke("--yes");
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining("is left to revoke")]);
  });

  it("take-over makes the object that of the administrator", async () => {
    const name = unique("taken");
    await runCli(["keys", "create", name], { user: "bob" });
    const before = await stored(name);
    const { code, stdout, stderr } = await runCli(["keys", "take-over", name]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^lk_\w+\n$/)]);
    expect(stderr).toContain("warning: ");
    expect(stderr).toContain(`ownedaccesskey/${name} taken over: Active; it does not expire`);
    expect((await stored(name))["key"]).not.toBe(before["key"]);
    const described = await runCli(["keys", "describe", name]);
    expect(described.stdout).toMatch(/^Requester: +admin$/m);
  });

  it.each([
    ["", 2, "the input is not a key"],
    ["a b", 2, "the input is not a key"],
    ["unknown-key-0123456789", 1, "the server does not accept this key"],
  ])("test refuses %j", async (input, code, sentence) => {
    const result = await runCli(["keys", "test"], { input });
    expect(result).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(sentence) });
    expect(result.stderr).not.toContain("0123456789");
  });
});
