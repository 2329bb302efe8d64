import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { isRecord, listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { connectedKubeconfig } from "../support/connected-cluster.ts";
import { kubeconfigFor } from "../support/control-plane-handle.ts";
import { eventually } from "../support/eventually.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { api, unique } from "../support/policy-request.ts";
import { runCli } from "../support/run-cli.ts";

const audience = "management.service/direct";
const jwt = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/;

describe.skipIf(inject("cli") === undefined)("kubectl latchkey token and kubeconfig", () => {
  const directory = mkdtempSync(join(tmpdir(), "cli-tokens-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  beforeAll(() => allowRequesters("devs"));
  const claimsOf = (token: string): unknown =>
    JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
  const credentialOf = (text: string): unknown => JSON.parse(text);

  /** The claims of the token in an ExecCredential of bob. */
  async function claimsWith(...flags: readonly string[]): Promise<Record<string, unknown>> {
    const args = ["token", "create", "--exec-credential", ...flags];
    const { stdout } = await runCli(args, { user: "bob" });
    const token = stringAt(recordAt(credentialOf(stdout), "status"), "token") ?? "";
    return recordAt({ claims: claimsOf(token) }, "claims");
  }

  it("create prints the token of a new object", async () => {
    const name = unique("token");
    const args = ["token", "create", name, "--ttl=15m", "--cluster=east"];
    const { code, stdout } = await runCli(args, { user: "bob" });
    expect(code).toBe(0);
    expect(stdout.trim()).toMatch(jwt);
    expect(claimsOf(stdout)).toMatchObject({ sub: "bob", aud: `${audience}/east` });
    const path = `/apis/management.service/v1/directclusterendpointtokens/${name}`;
    expect((await api.get(path)).spec).toMatchObject({
      ttl: 900,
      scope: { clusters: [{ cluster: "east" }] },
    });
  });

  it("list and describe show the requester its token, and never the token itself", async () => {
    const name = unique("shown");
    const asBob = (...args: readonly string[]) => runCli(["token", ...args], { user: "bob" });
    const { stdout: made } = await asBob("create", name, "--for-cluster=east");
    for (const output of [[], ["-o", "json"], ["-o", "yaml"], ["-o", "name"]]) {
      const { code, stdout } = await asBob("list", ...output);
      expect([code, stdout]).toEqual([0, expect.stringContaining(name)]);
      expect(stdout).not.toContain("eyJ");
    }
    // The admin may list tokens; bob may read this one by its name.
    for (const listed of [await asBob("list"), await runCli(["token", "list"])])
      expect(listed.stdout).toMatch(
        new RegExp(`^${name} +True +Minted +east +bob +no scope: all rights of bob +\\S+Z`, "m"),
      );
    for (const output of [[], ["-o", "json"], ["-o", "yaml"]]) {
      const { stdout } = await asBob("describe", name, ...output);
      expect(stdout).toContain("east");
      expect(stdout).not.toContain("eyJ");
    }
    expect((await asBob("describe", name)).stdout).toMatch(/^Requester: +bob$/m);
    expect(made.trim()).toMatch(jwt);
    const foreign = await runCli(["token", "describe", name], { user: "alice" });
    expect(foreign).toMatchObject({ code: 5, stderr: expect.stringContaining("cannot get") });
  });

  it("delete deletes the tokens of the requester, and of no one else", async () => {
    const [name, other] = [unique("left"), unique("left")];
    for (const made of [name, other]) await runCli(["token", "create", made], { user: "bob" });
    const remove = (user: string, ...args: readonly string[]) =>
      runCli(["token", "delete", ...args], { user });
    expect(await remove("alice", name)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("cannot delete"),
    });
    expect(await remove("bob", name, "--dry-run=server")).toMatchObject({
      code: 0,
      stdout: `directclusterendpointtoken/${name} deleted (server dry run)\n`,
    });
    const pathOf = (made: string) =>
      `/apis/management.service/v1/directclusterendpointtokens/${made}`;
    expect((await api.find(pathOf(name))).code).toBe(200);
    const deleted = await remove("bob", name, unique("never"), other);
    expect(deleted.code).toBe(5);
    const said = deleted.stdout + deleted.stderr;
    expect(said.match(/ (?:is being )?deleted/g)).toHaveLength(2);
    const areGone = async () =>
      (await Promise.all([name, other].map((made) => api.find(pathOf(made))))).every(
        ({ code }) => code === 404,
      );
    await eventually(areGone, { what: "the tokens to go" });
  });

  it("delete --requester deletes the tokens of a user for one cluster", async () => {
    const [east, west] = [unique("east"), unique("west")];
    const asBob = { user: "bob" };
    await runCli(["token", "create", east, `--for-cluster=${east}`], asBob);
    await runCli(["token", "create", west, `--for-cluster=${west}`], asBob);
    const args = ["token", "delete", "--requester=bob", `--cluster=${east}`];
    const deleted = await runCli(args);
    expect([deleted.code, deleted.stdout]).toEqual([0, expect.stringContaining(`${east} deleted`)]);
    const path = "/apis/management.service/v1/directclusterendpointtokens";
    expect((await api.find(`${path}/${east}`)).code).toBe(404);
    expect((await api.find(`${path}/${west}`)).code).toBe(200);
  });

  it("create prints a token that one cluster accepts, which has no scope", async () => {
    const args = ["token", "create", unique("token"), "--for-cluster=east"];
    const { code, stdout, stderr } = await runCli(args, { user: "bob" });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^kubectl latchkey: directclusterendpointtoken\/token-\w+ created; it ends 1h after its creation, at \S+Z\n$/,
      ),
    });
    const claims = recordAt({ claims: claimsOf(stdout) }, "claims");
    expect(claims).toMatchObject({ aud: `${audience}/east` });
    expect(claims["management.service"]).not.toHaveProperty("scope");
    const open = await runCli(["token", "create", unique("token")], { user: "bob" });
    expect(claimsOf(open.stdout)).toMatchObject({ aud: audience });
    expect(open.stderr).toContain("the token is valid at every connected cluster");
    const none = await runCli(["token", "create", "--for-cluster=East"], { user: "bob" });
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--for-cluster: "East" must be the name of a connected'),
    });
  });

  it("--exec-credential makes a token of its own for each cluster", async () => {
    const create = (...flags: readonly string[]) => claimsWith("--ttl=3h", ...flags);
    const [east, west] = ["--for-cluster=east", "--for-cluster=west"];
    const first = await create(east);
    expect(first).toMatchObject({ aud: `${audience}/east` });
    expect(await create(west)).toMatchObject({ aud: `${audience}/west` });
    expect(await create()).toMatchObject({ aud: audience });
    expect(await create(east)).toEqual(first);
  });

  it("--exec-credential makes another token once its own was deleted", async () => {
    const create = () => claimsWith("--ttl=4h", "--for-cluster=east");
    const name = stringAt(recordAt(await create(), "management.service"), "name") ?? "";
    expect(name).toMatch(/^bob-\w{5}$/);
    const path = "/apis/management.service/v1/directclusterendpointtokens";
    await api.delete(`${path}/${name}`);
    await eventually(async () => (await api.find(`${path}/${name}`)).code === 404, {
      what: "the token to be gone",
    });
    const created = await create();
    expect(created).toMatchObject({ aud: `${audience}/east` });
    expect(created).not.toMatchObject({ "management.service": { name } });
  });

  it("--exec-credential reuses the token while it is fresh, from a file of its user alone", async () => {
    const home = mkdtempSync(join(directory, "home-"));
    const args = ["token", "create", "--exec-credential", "--ttl=2h"];
    const options = {
      user: "bob",
      env: {
        XDG_CACHE_HOME: home,
        KUBERNETES_EXEC_INFO: '{"apiVersion":"client.authentication.k8s.io/v1beta1"}',
      },
    };
    const first = await runCli(args, options);
    const second = await runCli(args, options);
    expect(first.code).toBe(0);
    expect(second.stdout).toBe(first.stdout);
    const credential = credentialOf(first.stdout);
    expect(credential).toMatchObject({
      apiVersion: "client.authentication.k8s.io/v1beta1",
      kind: "ExecCredential",
      status: { token: expect.stringMatching(jwt), expirationTimestamp: expect.any(String) },
    });
    const { token: minted = "", expirationTimestamp = "" } = recordAt(credential, "status");
    const { exp } = recordAt({ claims: claimsOf(String(minted)) }, "claims");
    expect(Number(exp) * 1000 - Date.parse(String(expirationTimestamp))).toBe(10_000);
    const alice = await runCli(args, { ...options, user: "alice" });
    const token = stringAt(recordAt(credentialOf(alice.stdout), "status"), "token") ?? "";
    expect(claimsOf(token)).toMatchObject({ sub: "alice" });
    const kept = join(home, "kubectl-latchkey");
    const modes = readdirSync(kept).map((file) => statSync(join(kept, file)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600]);
    const { stdout } = await runCli(["list", "-n", "default"], { ...options, user: "admin" });
    expect(stdout).not.toContain("eyJ");
  });

  it("kubeconfig has an exec plugin that this client answers", async () => {
    const file = join(directory, "east.yaml");
    const args = ["kubeconfig", "east", "--address=https://east.example.com"];
    const { code } = await runCli([...args, `--output-file=${file}`], { user: "bob" });
    expect(code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const config: unknown = load(readFileSync(file, "utf8"));
    expect(config).toMatchObject({
      "current-context": "latchkey-east",
      clusters: [{ cluster: { server: "https://east.example.com" } }],
      users: [
        {
          user: {
            exec: {
              command: "kubectl-latchkey",
              args: expect.arrayContaining(["--exec-credential", "--for-cluster=east"]),
            },
          },
        },
      ],
    });
    const used = await runCli(["version"], { kubeconfig: file });
    expect(used).toMatchObject({ code: 1, stderr: expect.stringContaining("does not answer") });
  });

  it("the exec plugin of a kubeconfig reads that of now if it is one file", async () => {
    const own = kubeconfigFor(inject("controlPlane"), "bob");
    const argsWith = async (kubeconfig: string): Promise<readonly string[]> => {
      const args = ["kubeconfig", "east", "--address=https://east.example.com"];
      const { stdout } = await runCli(args, { kubeconfig });
      const config: unknown = load(stdout);
      const [user = {}] = listAt(config, "users").filter(isRecord);
      return stringsAt(recordAt(recordAt(user, "user"), "exec"), "args");
    };
    expect(await argsWith(own)).toContain(`--kubeconfig=${own}`);
    const several = await argsWith([own, join(directory, "none.yaml")].join(delimiter));
    expect(several).toContain("--exec-credential");
    expect(several.filter((arg) => arg.startsWith("--kubeconfig"))).toEqual([]);
  });

  it("kubeconfig takes the direct address from the list of the gateway", async () => {
    const name = unique("listed");
    const [server, ca] = [
      "https://direct.example.com:6443",
      "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    ];
    const connected = { url: "https://a.example.com", certificateAuthority: ca, token: "unused" };
    await api.create("/api/v1/namespaces/latchkey-clusters/secrets", {
      metadata: { name, labels: { "management.service/cluster": name } },
      stringData: {
        kubeconfig: JSON.stringify(connectedKubeconfig(connected)),
        "direct-server": server,
        "direct-ca.crt": ca,
      },
    });
    const printed = async () => {
      const { code, stdout } = await runCli(["kubeconfig", name], { user: "bob" });
      return code === 0 && stdout;
    };
    const text = await eventually(printed, { what: "the cluster to be listed" });
    expect(load(text)).toMatchObject({
      clusters: [
        { cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } },
      ],
      users: [{ user: { exec: { args: expect.arrayContaining(["--exec-credential"]) } } }],
    });
  });

  it("kubeconfig names what is missing", async () => {
    const unlisted = await runCli(["kubeconfig", "nowhere"], { user: "bob" });
    expect(unlisted).toMatchObject({ code: 4, stdout: "" });
    const both = ["kubeconfig", "east", "--address=https://a", "--key-file=b"];
    expect((await runCli(both)).code).toBe(2);
    const named = await runCli(["kubeconfig", "East", "--address=https://a"], { user: "bob" });
    expect(named).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('CLUSTER: "East" must be the name of a connected cluster'),
    });
  });

  it("works at the gateway with a key in a file", async () => {
    const name = unique("gateway");
    const { stdout: key } = await runCli(["keys", "create", name, "--user=bob"]);
    const { gatewayUrl = "", gatewayCa = "" } = inject("cli") ?? {};
    const [ca, keyFile, kubeconfig] = ["ca.crt", "key", "gateway.yaml"].map((file) =>
      join(directory, file),
    );
    writeFileSync(ca ?? "", gatewayCa);
    writeFileSync(keyFile ?? "", key);
    writeFileSync(
      kubeconfig ?? "",
      JSON.stringify({
        "current-context": "g",
        contexts: [{ name: "g", context: { cluster: "g", user: "g" } }],
        clusters: [
          {
            name: "g",
            cluster: {
              server: `${gatewayUrl}/kubernetes/management`,
              "certificate-authority": "ca.crt",
            },
          },
        ],
        users: [{ name: "g", user: { tokenFile: "key" } }],
      }),
    );
    const checked = await runCli(["check"], { kubeconfig: kubeconfig ?? "" });
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining("bob") });
  });
});
