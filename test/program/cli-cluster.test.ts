import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load, loadAll } from "js-yaml";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { ownLabel } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import { startConnectProxy } from "../support/connect-proxy.ts";
import { askWith, worksAs } from "../support/key-request.ts";
import { eventually } from "../support/eventually.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { kubectl } from "../support/kubectl.ts";
import { allow, api, type Ask, request, unique } from "../support/policy-request.ts";
import { reportProblems } from "../support/report-shape.ts";
import { type CliOptions, runCli } from "../support/run-cli.ts";

const namespaceOf = (name: string): string => `latchkey-cluster-${name}`;
const secretPath = (name: string): string => `/api/v1/namespaces/latchkey-clusters/secrets/${name}`;
const outboxPath = (name: string): string => `/api/v1/namespaces/${namespaceOf(name)}`;
const leasePath = (name: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/${namespaceOf(name)}/leases/latchkey-cluster-agent`;
const cluster = (words: readonly string[], options?: CliOptions) =>
  runCli(["cluster", ...words], options);
const connect = (name: string, ...words: readonly string[]) => cluster(["connect", name, ...words]);

/** The names of the keys of the agent of a cluster that are not being deleted. */
async function keysOf(name: string): Promise<readonly string[]> {
  const list = await api.get("/apis/management.service/v1/ownedaccesskeys");
  return listAt(list, "items")
    .filter((key) => {
      const isAgents =
        stringAt(recordAt(key, "spec"), "subject") === `latchkey-cluster-agent:${name}`;
      return isAgents && stringAt(recordAt(key, "metadata"), "deletionTimestamp") === undefined;
    })
    .map((key) => stringAt(recordAt(key, "metadata"), "name") ?? "");
}

/** The kubeconfig in a manifest. */
function kubeconfigIn(manifest: string): unknown {
  const documents = loadAll(manifest);
  const secret = documents.find((document) => stringAt(document, "kind") === "Secret");
  const encoded = stringMapAt(secret, "data")["kubeconfig"] ?? "";
  return load(Buffer.from(encoded, "base64").toString());
}

/** The token in a manifest; a failed test must not print it. */
function tokenIn(manifest: string): string {
  const [user] = listAt(kubeconfigIn(manifest), "users");
  return stringAt(recordAt(user, "user"), "token") ?? "";
}

function serverIn(manifest: string): string {
  const [entry] = listAt(kubeconfigIn(manifest), "clusters");
  return stringAt(recordAt(entry, "cluster"), "server") ?? "";
}

const kindsIn = (manifest: string): readonly string[] =>
  loadAll(manifest).map((document) => stringAt(document, "kind") ?? "");

describe.skipIf(inject("cli") === undefined)("kubectl latchkey cluster", () => {
  it("connect makes the Secret, the outbox and a key, and prints a manifest with the key", async () => {
    const name = unique("made");
    const { code, stdout, stderr } = await connect(name, "--projects=web,pay", "--ttl=1h");
    expect([code, stderr]).toEqual([0, expect.stringContaining("Active")]);
    expect(kindsIn(stdout)).toEqual(["Namespace", "Secret"]);
    expect(tokenIn(stdout).startsWith("lk_")).toBe(true);
    expect(stderr.includes(tokenIn(stdout)) || stdout.includes(tokenIn(stdout))).toBe(false);
    const secret = await api.get(secretPath(name));
    expect(recordAt(secret, "metadata")).toMatchObject({
      labels: { "management.service/cluster": name },
      annotations: { "management.service/projects": "web, pay" },
    });
    expect(secret).not.toHaveProperty("data");
    const namespace = await api.get(outboxPath(name));
    expect(recordAt(namespace, "metadata")).toMatchObject({
      annotations: { "management.service/cluster-uid": recordAt(secret, "metadata")["uid"] },
    });
    const reports = await api.get(
      `${outboxPath(name)}/configmaps?labelSelector=management.service%2Fcomponent%3Dcluster-report`,
    );
    expect(listAt(reports, "items")).toHaveLength(16);
    expect(await keysOf(name)).toEqual([namespaceOf(name)]);
  });

  it("connect uses the proxy of the context, and gives the agent none", async () => {
    const { directory, url, adminKubeconfig } = inject("controlPlane");
    const proxy = await startConnectProxy({ [new URL(url).host]: url }, { login: "me:canary" });
    const config: unknown = JSON.parse(readFileSync(adminKubeconfig, "utf8"));
    const [entry] = listAt(config, "clusters");
    const settings = {
      ...recordAt(entry, "cluster"),
      "proxy-url": proxy.url.replace("://", "://me:canary@"),
    };
    const kubeconfig = join(directory, `${unique("proxied")}.kubeconfig`);
    const clusters = [{ name: stringAt(entry, "name"), cluster: settings }];
    writePrivately(kubeconfig, JSON.stringify({ ...recordAt({ config }, "config"), clusters }));
    try {
      const { code, stdout, stderr } = await cluster(["connect", unique("far"), "--projects=*"], {
        kubeconfig,
      });
      expect([code, proxy.asked.length > 0, stderr.includes("canary")]).toEqual([0, true, false]);
      const [central] = listAt(kubeconfigIn(stdout), "clusters");
      expect(recordAt(central, "cluster")).toEqual({
        server: url,
        "certificate-authority-data": expect.any(String),
      });
    } finally {
      await proxy.stop();
    }
  });

  it("the key reads the outbox and writes its reports, and nothing else", async () => {
    const name = unique("scoped");
    const key = tokenIn((await connect(name, "--projects=*")).stdout);
    await worksAs({ key });
    const codeOf = async (asked: Ask): Promise<number> => (await askWith(key, asked)).code;
    const [own, report] = [outboxPath(name), `${outboxPath(name)}/configmaps/report-15`];
    const lease = leasePath(name);
    expect(await codeOf(request.get(`${own}/secrets`))).toBe(200);
    expect(await codeOf(request.replace(report, await api.get(report)))).toBe(200);
    expect(await codeOf(request.replace(lease, await api.get(lease)))).toBe(200);
    const other = outboxPath(unique("west"));
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespaceOf(name)}`;
    const keys = "/apis/management.service/v1/ownedaccesskeys";
    const refused = [
      request.get("/api/v1/secrets"),
      request.get(`/api/v1/secrets?fieldSelector=metadata.namespace%3D${namespaceOf(name)}`),
      request.get("/api/v1/watch/namespaces/latchkey-clusters/secrets"),
      request.get(`${other}/secrets`),
      request.get(`${other}/configmaps/report-0`),
      request.get(keys),
      request.create(keys, { metadata: { name: "made" } }),
      request.merge(`${keys}/${namespaceOf(name)}`, { spec: { scope: null } }),
      request.create(keys.replace("ownedaccesskeys", "directclusterendpointtokens"), {}),
      request.create(`${own}/serviceaccounts/default/token`, {}),
      request.merge(`${rbac}/roles/latchkey-cluster-agent`, { rules: [] }),
      request.create(`${rbac}/rolebindings`, { metadata: { name: "made" } }),
      request.delete(`${own}/configmaps`),
      request.get("/api/v1/namespaces/latchkey-clusters/secrets"),
      request.get(own),
      request.get(`${own}/configmaps`),
      request.merge(report, {}),
      request.delete(report),
      request.create(`${own}/secrets`, { metadata: { name: "made" } }),
      request.get("/apis/management.service/v1/sharedsecrets"),
    ];
    expect(await Promise.all(refused.map(codeOf))).toEqual(refused.map(() => 403));
  });

  it("the manifest applies in another cluster, twice", async () => {
    const namespace = unique("agent");
    const { stdout } = await connect(unique("applied"), `--agent-namespace=${namespace}`);
    for (const done of ["serverside-applied", "serverside-applied"]) {
      const args = ["apply", "--server-side", "--filename=-"];
      const applied = await kubectl(inject("controlPlane"), args, { input: stdout });
      expect(applied).toBe(`namespace/${namespace} ${done}\nsecret/latchkey-central ${done}\n`);
    }
    const { data } = await api.get(`/api/v1/namespaces/${namespace}/secrets/latchkey-central`);
    expect(Object.keys(recordAt({ data }, "data")).toSorted()).toEqual([
      ...["cluster-name", "kubeconfig"],
    ]);
  });

  it("a second run prints no key, makes none, and creates what is missing", async () => {
    const name = unique("again");
    await connect(name, "--projects=web");
    const complete = await connect(name);
    expect([complete.code, kindsIn(complete.stdout)]).toEqual([0, ["Namespace"]]);
    expect(complete.stderr).toContain(`namespace/${namespaceOf(name)} unchanged\n`);
    expect(complete.stderr).toContain("set --rotate-key for another one");
    const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespaceOf(name)}/roles`;
    await api.merge(`${role}/latchkey-cluster-agent`, { rules: [] });
    await api.delete(`${outboxPath(name)}/configmaps/report-3`);
    const repaired = await connect(name);
    expect(repaired.stderr).toContain("1 Role repaired, 1 ConfigMap created");
    const rules = listAt(await api.get(`${role}/latchkey-cluster-agent`), "rules");
    expect(rules).toHaveLength(3);
    expect(await keysOf(name)).toHaveLength(1);
    const secret = recordAt(await api.get(secretPath(name)), "metadata");
    expect(stringMapAt(secret, "annotations")["management.service/projects"]).toBe("web");
    const changed = await connect(name, "--projects=");
    expect(changed.stderr).toContain(
      `secret/${name} set projects in latchkey-clusters namespace\n`,
    );
    expect(changed.stderr).toContain(`cluster "${name}" lets no project in`);
  });

  it("--rotate-key makes another key, and ends the one before after the overlap", async () => {
    const name = unique("rotated");
    const first = tokenIn((await connect(name)).stdout);
    const { code, stdout, stderr } = await connect(name, "--rotate-key", "--overlap=1h");
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`${namespaceOf(name)} set ttl; it ends in 1h`),
    ]);
    expect(tokenIn(stdout) !== "" && tokenIn(stdout) !== first).toBe(true);
    expect(await keysOf(name)).toEqual([
      namespaceOf(name),
      expect.stringMatching(`^${namespaceOf(name)}-r[0-9]{12}$`),
    ]);
    const { stderr: kept } = await connect(name);
    expect(kept.match(/so the manifest has no key/g)).toHaveLength(1);
  });

  it("--replace lets the agent of another cluster report", async () => {
    const name = unique("replaced");
    await connect(name);
    await api.merge(leasePath(name), { spec: { holderIdentity: "uid-of-kube-system" } });
    await connect(name);
    const holder = async () => stringAt((await api.get(leasePath(name))).spec, "holderIdentity");
    expect(await holder()).toBe("uid-of-kube-system");
    expect((await connect(name, "--replace")).code).toBe(0);
    expect(await holder()).toBeUndefined();
  });

  it("--central-server is the server of the manifest", async () => {
    const url = "https://central.example.com:6443";
    const { code, stdout } = await connect(unique("address"), `--central-server=${url}`);
    expect([code, serverIn(stdout)]).toEqual([0, url]);
  });

  it("a namespace that is not an outbox is not touched, and nothing is made", async () => {
    const name = unique("foreign");
    const metadata = { name: namespaceOf(name), labels: { ...ownLabel, owner: "team-a" } };
    await api.create("/api/v1/namespaces", { metadata });
    const before = await api.get(outboxPath(name));
    const connected = await connect(name, "--replace");
    expect(connected).toMatchObject({ code: 1, stdout: "" });
    expect(connected.stderr).toContain("already exists and is not an outbox; it was not changed");
    expect(await api.get(outboxPath(name))).toEqual(before);
    expect((await api.find(secretPath(name))).code).toBe(404);
    expect(await keysOf(name)).toEqual([]);
    expect((await cluster(["disconnect", name])).code).toBe(4);
    expect(await api.get(outboxPath(name))).toEqual(before);
  });

  it("the outbox of an earlier connection is used again only with --replace", async () => {
    const name = unique("earlier");
    await connect(name);
    await api.delete(secretPath(name));
    const refused = await connect(name);
    expect([refused.code, refused.stderr]).toEqual([
      ...[1, expect.stringContaining("that was connected before")],
    ]);
    expect((await connect(name, "--replace")).code).toBe(0);
    const { uid } = recordAt(await api.get(secretPath(name)), "metadata");
    expect(recordAt(await api.get(outboxPath(name)), "metadata")).toMatchObject({
      annotations: { "management.service/cluster-uid": uid },
    });
  });

  it("a missing right is named in one sentence, before anything is made", async () => {
    const name = unique("noright");
    for (const command of ["connect", "disconnect"]) {
      const { code, stdout, stderr } = await cluster([command, name], { user: "bob" });
      expect([code, stdout]).toEqual([5, ""]);
      expect(stderr).toContain(
        `you do not have the right connect clusters.management.service/${name}; an administrator`,
      );
    }
    expect((await api.find(secretPath(name))).code).toBe(404);
  });

  it("a user with rights for one cluster connects it, and no other one", async () => {
    const [name, user] = [unique("delegated"), unique("connector")];
    const outbox = ["configmaps", "secrets", "resourcequotas"];
    const all = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    await allow({ kind: "User", name: user }, [
      {
        apiGroups: ["management.service"],
        resources: ["clusters"],
        resourceNames: [name],
        verbs: ["connect"],
      },
      { apiGroups: ["management.service"], resources: ["ownedaccesskeys"], verbs: all },
      { apiGroups: [""], resources: ["namespaces", ...outbox], verbs: all },
      { apiGroups: ["rbac.authorization.k8s.io"], resources: ["*"], verbs: all },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: all },
      {
        apiGroups: [""],
        resources: ["users"],
        verbs: ["impersonate"],
        resourceNames: [`latchkey-cluster-agent:${name}`],
      },
    ]);
    const { code, stdout } = await connect(name, `--as=${user}`, "--projects=web");
    expect([code, kindsIn(stdout)]).toEqual([0, ["Namespace", "Secret"]]);
    expect((await connect(unique("other"), `--as=${user}`)).code).toBe(5);
    expect((await cluster(["disconnect", name, `--as=${user}`])).code).toBe(0);
  });

  it.each(["../web", "east/report", "EAST", "-east", "e".repeat(47), "kube-system;ls"])(
    "a hostile name is refused without a request: %s",
    async (name) => {
      for (const command of ["connect", "disconnect"]) {
        const { code, stdout, stderr } = await cluster([command, name]);
        const named = expect.stringMatching(/must be the name of a cluster|does not exist/);
        expect([code, stdout, stderr]).toEqual([2, "", named]);
      }
    },
  );

  it("disconnect ends the key, the consent and the outbox, and says what stays", async () => {
    const name = unique("ended");
    await connect(name, "--projects=web");
    const { code, stdout, stderr } = await cluster(["disconnect", name]);
    const agent = `latchkey-cluster-agent deleted from ${namespaceOf(name)} namespace`;
    expect([code, stdout.split("\n")]).toEqual([
      0,
      [
        `ownedaccesskey/${namespaceOf(name)} deleted`,
        `secret/${name} deleted from latchkey-clusters namespace`,
        `rolebinding/${agent}`,
        `role/${agent}`,
        `namespace/${namespaceOf(name)} deleted`,
        "",
      ],
    ]);
    expect(stderr).toContain("delete secrets --all-namespaces -l management.service/outbox-uid");
    expect(await keysOf(name)).toEqual([]);
    expect((await api.find(secretPath(name))).code).toBe(404);
    expect(recordAt(await api.get(outboxPath(name)), "metadata")).toHaveProperty(
      "deletionTimestamp",
    );
    const again = await connect(name);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("is being deleted")]);
  });

  it("disconnect keeps the Secret with a kubeconfig, unless --all is set", async () => {
    const name = unique("gateway");
    const data = { kubeconfig: "e30=" };
    const labels = { "management.service/cluster": name };
    const metadata = { name, labels, annotations: { "management.service/projects": "web" } };
    await api.create("/api/v1/namespaces/latchkey-clusters/secrets", { metadata, data });
    await connect(name);
    const { stdout, stderr } = await cluster(["disconnect", name]);
    expect(stdout).toContain(`secret/${name} unset projects in latchkey-clusters namespace\n`);
    expect(stderr).toContain(`Secret "latchkey-clusters/${name}" stays for the gateway`);
    const kept = await api.get(secretPath(name));
    expect(kept).toMatchObject({ data, metadata: { labels } });
    expect(stringMapAt(kept["metadata"], "annotations")).toEqual({});
    await cluster(["disconnect", name, "--all"]);
    expect((await api.find(secretPath(name))).code).toBe(404);
  });

  it("list has every cluster with its figures, also as a report", async () => {
    const name = unique("listed");
    await connect(name, "--projects=web,pay");
    const row = new RegExp(`^${name} +web,pay +never +0 +0 +0 +- +- +ClusterUnreachable: .*$`, "m");
    const table = await cluster(["list"]);
    expect([table.code, table.stdout]).toEqual([0, expect.stringMatching(row)]);
    await api.merge(leasePath(name), {
      spec: { renewTime: new Date().toISOString().replace("Z", "000Z") },
    });
    const printed = await cluster(["list", "-o", "json"]);
    const report: unknown = JSON.parse(printed.stdout);
    expect(reportProblems(report, "cluster list")).toEqual([]);
    const item = listAt(report, "items").find(
      (each) => stringAt(recordAt(each, "object"), "name") === name,
    );
    expect(item).toEqual({
      object: { kind: "Cluster", name },
      state: "ok",
      reason: "Synced",
      causes: [],
      message: `The agent of cluster "${name}" reports.`,
      cluster: {
        projects: ["web", "pay"],
        heartbeatAge: expect.any(Number),
        offered: 0,
        synced: 0,
        withdrawals: 0,
      },
    });
  });

  it("list says of which cluster an Event says that it is throttled", async () => {
    const name = unique("throttled");
    await cluster(["connect", name]);
    const { metadata } = await api.get(secretPath(name));
    const namespace = "latchkey-clusters";
    await api.create(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
      metadata: { name },
      reason: "ClusterThrottled",
      type: "Warning",
      action: "Reconcile",
      note: "too much",
      reportingController: "management.service/latchkey",
      reportingInstance: "gateway",
      eventTime: new Date().toISOString().replace("Z", "000Z"),
      regarding: { apiVersion: "v1", kind: "Secret", namespace, name, uid: metadata.uid },
    });
    const { code, stdout } = await cluster(["list"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${name} .* ClusterUnreachable: `, "m"));
    await api.merge(leasePath(name), {
      spec: { renewTime: new Date().toISOString().replace("Z", "000Z") },
    });
    const { stdout: beating } = await cluster(["list"]);
    expect(beating).toMatch(
      new RegExp(
        `^${name} .* ClusterThrottled: Cluster "${name}" sends more than .* often\\.?$`,
        "m",
      ),
    );
  });

  it.each(["9999-01-01T00:00:00.000000Z", "2000-01-01T00:00:00.000000Z"])(
    "list counts a heartbeat from the write of the Lease, also if the agent says %s",
    async (renewTime) => {
      const name = unique("skewed");
      await connect(name, "--projects=web");
      await api.merge(leasePath(name), { spec: { renewTime } });
      const isCounted = async () => {
        const { stdout } = await cluster(["list", "-o", "json"]);
        const item = listAt(JSON.parse(stdout), "items").find(
          (each) => stringAt(recordAt(each, "object"), "name") === name,
        );
        const age = Number(recordAt(item, "cluster")["heartbeatAge"]);
        expect(age).toBeLessThan(24 * 3600);
        return age >= 2;
      };
      expect(await eventually(isCounted, { what: "an age" })).toBe(true);
    },
  );

  describe("ways to a cluster", () => {
    const { url, certificateAuthority, directory } = inject("controlPlane");
    const caFile = join(directory, `${unique("connected")}.crt`);
    const address = [`--address=${url}`, `--address-ca=${caFile}`];
    const gateway = (name: string, words: readonly string[], input = "") =>
      cluster(["connect", name, "--gateway", ...words], { input });
    const dataOf = async (name: string) => {
      const data = stringMapAt(await api.get(secretPath(name)), "data");
      return (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
    };
    const tokenOf = (kubeconfig: string): string =>
      stringAt(recordAt(listAt(load(kubeconfig), "users")[0], "user"), "token") ?? "";
    let account = "";
    const newToken = async (duration: string): Promise<string> => {
      const words = ["-n", account, "create", "token", "default", `--duration=${duration}`];
      return (await kubectl(inject("controlPlane"), words)).trim();
    };

    beforeAll(async () => {
      writePrivately(caFile, `${certificateAuthority}\nno certificate\n`);
      account = unique("account");
      await api.create("/api/v1/namespaces", { metadata: { name: account } });
      const accounts = `/api/v1/namespaces/${account}/serviceaccounts`;
      await eventually(async () => (await api.find(`${accounts}/default`)).code !== 404, {
        what: "a service account",
      }).catch(() => api.create(accounts, { metadata: { name: "default" } }));
    });

    it("--gateway prints the account and the command of its token, and makes nothing", async () => {
      const name = unique("printed");
      const { code, stdout, stderr } = await gateway(name, [...address, "--context=admin"]);
      const words = address.map((word) => `${word}`).join(" ");
      expect([code, stderr]).toEqual([0, expect.stringContaining("config/connected-policies")]);
      expect(stderr).toContain(
        "kubectl --context=<connected cluster> -n latchkey-system create token latchkey-gateway " +
          `--duration=2160h | kubectl latchkey cluster connect ${name} --gateway --token-stdin ` +
          `--context=admin ${words}`,
      );
      const role = ["ClusterRole", "ClusterRoleBinding"];
      expect(kindsIn(stdout)).toEqual(["Namespace", "ServiceAccount", ...role, ...role, ...role]);
      const args = ["apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-"];
      await kubectl(inject("controlPlane"), args, { input: stdout });
      expect((await api.find(secretPath(name))).code).toBe(404);
    });

    it("the token of the standard input is stored, and its end is said, until the next", async () => {
      const name = unique("stored");
      const first = await newToken("2160h");
      const stored = await gateway(name, [...address, "--token-stdin"], `${first}\n`);
      expect([stored.code, stored.stdout]).toEqual([0, ""]);
      expect(stored.stderr).toMatch(/the credential of the gateway ends in (?:89|90)d, at \d{4}-/);
      const kubeconfig = (await dataOf(name))("kubeconfig");
      expect(tokenOf(kubeconfig) === first).toBe(true);
      expect(kubeconfig).not.toContain("no certificate");
      expect((await api.find(outboxPath(name))).code).toBe(404);
      const kept = await gateway(name, []);
      expect([kept.code, kept.stderr.includes("create token")]).toEqual([0, false]);
      expect(kept.stderr).toContain("set --rotate-key for another one");
      const rotating = await gateway(name, ["--rotate-key"]);
      expect(rotating.stderr).toContain(`cluster connect ${name} --gateway --token-stdin\n`);
      const next = await newToken("1h");
      const again = await gateway(name, ["--token-stdin"], next);
      expect(again.stderr).toContain(
        `secret/${name} set kubeconfig in latchkey-clusters namespace`,
      );
      const after = (await dataOf(name))("kubeconfig");
      expect([tokenOf(after) === next, after.includes(url)]).toEqual([true, true]);
      expect([stored, kept, rotating, again].some(({ stderr }) => stderr.includes("eyJ"))).toBe(
        false,
      );
      const { stdout: table } = await cluster(["list"]);
      expect(table).toMatch(new RegExp(`^${name} .* (?:59m|60m|1h) `, "m"));
      const checked: unknown = JSON.parse((await runCli(["check", "-o", "json"])).stdout);
      const item = listAt(checked, "items").find(
        (each) => stringAt(recordAt(each, "object"), "name") === name,
      );
      expect(item).toMatchObject({ object: { kind: "Cluster" }, state: "ok", reason: "Active" });
    });

    it("--rotate-key alone renews the key of the agent, and says how to renew the token", async () => {
      const name = unique("both");
      await gateway(name, [...address, "--token-stdin"], await newToken("1h"));
      await connect(name, "--projects=web");
      const { code, stdout, stderr } = await connect(name, "--rotate-key", "--overlap=1h");
      expect([code, await keysOf(name)]).toEqual([0, [expect.any(String), expect.any(String)]]);
      expect(kindsIn(stdout)).toEqual(expect.arrayContaining(["Secret", "ServiceAccount"]));
      expect(stderr).toContain("create token latchkey-gateway --duration=2160h | ");
      expect(stderr.match(/apply the manifest with /g)).toHaveLength(1);
    });

    it("--direct states an address, once, and takes a CA away that is not given again", async () => {
      const name = unique("direct");
      const words = ["--direct", ...address];
      const { code, stderr } = await connect(name, ...words);
      expect([code, stderr]).toEqual([0, expect.stringContaining("cluster connect")]);
      const data = await dataOf(name);
      expect([data("direct-server"), data("direct-ca.crt").trim()]).toEqual([
        url,
        certificateAuthority.trim(),
      ]);
      expect((await connect(name, ...words)).stderr).not.toContain("changed");
      const moved = await connect(name, "--direct", "--address=https://direct.example.com/");
      expect(moved.stderr).toContain(
        "set direct-server, direct-ca.crt in latchkey-clusters namespace",
      );
      const { data: after } = await api.get(secretPath(name));
      expect(Object.keys(recordAt({ after }, "after"))).toEqual(["direct-server"]);
      expect((await dataOf(name))("direct-server")).toBe("https://direct.example.com");
    });

    it.each([
      ["no token", ["--gateway", "--token-stdin", ...address], "", "has no token; run: kubectl"],
      [
        "a token of two words",
        ["--gateway", "--token-stdin", ...address],
        "a b",
        "must have token",
      ],
      ["a token that has ended", ["--gateway", "--token-stdin", ...address], "ended", "has ended"],
      ["no address", ["--gateway"], "", "--gateway requires --address and --address-ca"],
      ["no CA", ["--gateway", ...address.slice(0, 1)], "", "and --address-ca"],
      ["plain HTTP", ["--gateway", "--address=http://a"], "", "must be an https URL"],
      ["a token without its way", ["--token-stdin"], "t", "--token-stdin requires --gateway"],
      ["an address without a way", address, "", "require --gateway or --direct"],
      ["no direct address", ["--direct"], "", "--direct requires --address"],
    ])("%s is refused, and nothing is made", async (_what, words, given, problem) => {
      const name = unique("refused");
      const ended = `e30.${Buffer.from('{"exp":1700000000}').toString("base64url")}.c2ln`;
      const input = given === "ended" ? ended : given;
      const { code, stdout, stderr } = await cluster(["connect", name, ...words], { input });
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(problem);
      expect(given.length > 1 && stderr.includes(input)).toBe(false);
      expect((await api.find(secretPath(name))).code).toBe(404);
    });
  });

  it("completion proposes connected clusters", async () => {
    const name = unique("proposed");
    await connect(name);
    for (const words of [
      ["cluster", "disconnect"],
      ["why", "shsec/db", "--cluster"],
    ]) {
      const { stdout } = await runCli(["__complete", ...words, name.slice(0, -2)]);
      expect(stdout.split("\n")).toContain(name);
    }
  });

  it("list names the rights that are missing", async () => {
    const { code, stdout, stderr } = await cluster(["list"], { user: "bob" });
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("you may not list secrets in namespace latchkey-clusters");
  });
});
