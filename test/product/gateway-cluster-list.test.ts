import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { stringMapAt } from "../../src/api/parse.ts";
import { connectedKubeconfig } from "../support/connected-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { externalUrl } from "../support/gateway-address.ts";
import { askGateway } from "../support/gateway-request.ts";
import { repository } from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import { api, ask, unique, type Caller } from "../support/policy-request.ts";

const secretsPath = "/api/v1/namespaces/latchkey-clusters/secrets";
const configMapsPath = "/api/v1/namespaces/latchkey-system/configmaps";
const listPath = `${configMapsPath}/latchkey-clusters`;

describe.skipIf(inject("gateway") === undefined)("the list of connected clusters", () => {
  const token = unique("token-of-a-connected-cluster");
  const server = "https://connected.example.com:6443";

  /** The Secret of a cluster that no request reaches. */
  const connect = async (
    labels: Readonly<Record<string, string>>,
    stringData: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const name = unique("cluster");
    const certificateAuthority = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    const kubeconfig = connectedKubeconfig({ url: server, certificateAuthority, token });
    const data = { kubeconfig: Buffer.from(JSON.stringify(kubeconfig)).toString("base64") };
    const body = { metadata: { name, labels }, type: "Opaque", data, stringData };
    await api.create(secretsPath, body);
    return `${secretsPath}/${name}`;
  };
  const named = (name: string) => ({ "management.service/cluster": name });
  const patch = (path: string, body: unknown) => api.merge(path, body);

  const listed = async (): Promise<ReadonlyMap<string, string>> => {
    const map = JSON.parse(JSON.stringify(await api.get(listPath)));
    return new Map(Object.entries(stringMapAt(map, "data")));
  };
  const isListed = (name: string) =>
    eventually(async () => (await listed()).get(name), { what: `${name} to be listed` });
  const isNotListed = (name: string) =>
    eventually(async () => !(await listed()).has(name), { what: `${name} not to be listed` });

  it("has the address and the CA of the gateway for each cluster, and no credential", async () => {
    const name = unique("east");
    await connect(named(name));
    expect(JSON.parse(await isListed(name))).toEqual({
      gateway: {
        server: `${externalUrl}/kubernetes/cluster/${name}`,
        certificateAuthorityData: Buffer.from(inject("gateway")?.ca ?? "").toString("base64"),
      },
    });
    const all = JSON.stringify([...(await listed())]);
    expect(
      [token, "connected.example.com", "PRIVATE"].filter((text) => all.includes(text)),
    ).toEqual([]);
  });

  it("has the direct address that the Secret of a cluster states, if it is usable", async () => {
    const name = unique("direct");
    const [address, ca] = [
      "https://direct.example.com",
      "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n",
    ];
    const stated = { "direct-server": address, "direct-ca.crt": `${token}\n${ca}` };
    const secret = await connect(named(name), stated);
    expect(JSON.parse(await isListed(name))).toMatchObject({
      direct: {
        server: address,
        certificateAuthorityData: Buffer.from(ca).toString("base64"),
      },
    });
    await patch(secret, { stringData: { "direct-server": `https://${token}@direct.example.com` } });
    const isOut = async () => !(await isListed(name)).includes("direct.example.com");
    expect(await eventually(isOut, { what: "the direct address to be left out" })).toBe(true);
    const events = async () =>
      JSON.stringify(await api.get("/apis/events.k8s.io/v1/namespaces/latchkey-clusters/events"));
    const isReported = async () => {
      const found = await events();
      return found.includes("InvalidDirectAddress") && found;
    };
    expect(await eventually(isReported, { what: "the Event" })).not.toContain(token);
    expect(JSON.stringify([...(await listed())])).not.toContain(token);
  });

  it("follows the label of a Secret", async () => {
    const [before, after] = [unique("before"), unique("after")];
    const secret = await connect(named(before));
    await isListed(before);
    await patch(secret, { metadata: { labels: named(after) } });
    await isListed(after);
    expect(await isNotListed(before)).toBe(true);
  });

  it("has no cluster whose kubeconfig is refused, whose Secret is deleted, or that is virtual", async () => {
    const [refused, deleted] = [unique("refused"), unique("deleted")];
    const secrets = [await connect(named(refused)), await connect(named(deleted))];
    await connect({
      "management.service/project": "web",
      "management.service/virtual-cluster": unique("virtual"),
    });
    await Promise.all([refused, deleted].map(isListed));
    await patch(secrets[0] ?? "", { data: { kubeconfig: Buffer.from("{}").toString("base64") } });
    await api.delete(secrets[1] ?? "");
    await Promise.all([refused, deleted].map(isNotListed));
    expect([...(await listed()).keys()].filter((name) => name.includes("virtual"))).toEqual([]);
  });

  it("is restored after a change by another writer, and stays when its manifest is applied", async () => {
    const name = unique("stays");
    await connect(named(name));
    const document = await isListed(name);
    await patch(listPath, { data: { [name]: "{}", foreign: "x" } });
    const isRestored = async () => {
      const now = await listed();
      return now.get(name) === document && !now.has("foreign");
    };
    await eventually(isRestored, { what: "the list to be restored" });
    const file = join(repository, "config", "gateway", "cluster-list.yaml");
    for (const how of [["--server-side"], []]) {
      await kubectl(inject("controlPlane"), ["apply", ...how, `--filename=${file}`]);
      expect((await listed()).get(name)).toBe(document);
    }
  });

  const anyUser: Caller = { user: unique("anybody"), groups: [] };
  const anonymous: Caller = { user: "system:anonymous", groups: ["system:unauthenticated"] };
  const ofName = "fieldSelector=metadata.name%3Dlatchkey-clusters";

  it.each<[string, string, string, Caller, number]>([
    ["any user gets it", "GET", listPath, anyUser, 200],
    ["any user lists it", "GET", `${configMapsPath}?${ofName}`, anyUser, 200],
    ["a user lists no other ConfigMaps", "GET", configMapsPath, anyUser, 403],
    ["a user gets no other ConfigMap", "GET", `${configMapsPath}/kube-root-ca.crt`, anyUser, 403],
    ["a user does not delete it", "DELETE", listPath, anyUser, 403],
    ["an anonymous request does not get it", "GET", listPath, anonymous, 403],
  ])("%s: %s %s", async (_rule, method, path, caller, code) => {
    expect(await ask(caller, { method, path })).toMatchObject({ code });
  });

  it("is not read without a credential", async () => {
    const { url, certificateAuthority } = inject("controlPlane");
    const answer = await askGateway({ path: listPath, server: { url, certificateAuthority } });
    expect([401, 403]).toContain(answer.status);
  });
});
