import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import {
  admin,
  type Answer,
  type Ask,
  type Caller,
  connect,
  type Connection,
  get,
  post,
  remove,
  send,
} from "../support/cluster-connection.ts";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { minors } from "../support/control-plane-module.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { applyLatchkey, policiesCount } from "../support/install.ts";
import { askAs } from "../support/key-request.ts";
import {
  keysPath,
  makeRoot,
  postKey,
  postToken,
  readyReason,
  tokensPath,
} from "../support/latchkey-objects.ts";
import { allowedRequest, groundsOfRefusals, refusedRequests, tenant } from "./refused-requests.ts";
import { servesOwnKinds, trustFiles, trustWebhook, webhookHost } from "../support/trust.ts";

/** The versions during an upgrade, each without `--emulated-version`, as kubeadm starts them. */
const [newer = "", older = ""] = minors;
const versions = [older, newer];

/** An API server, and an administrator's connection to it. */
interface Server {
  readonly controlPlane: ControlPlane;
  readonly connection: Connection;
}

let cluster: DedicatedCluster;
/** By their versions. */
const servers = new Map<string, Server>();

function serverOf(version: string): Server {
  const server = servers.get(version);
  if (server === undefined) throw new Error(`no API server of ${version} runs`);
  return server;
}

const askAt = (version: string, by: Caller, request: Ask): Promise<Answer> =>
  send(serverOf(version).connection, by, request);
const otherThan = (version: string): string => (version === older ? newer : older);
const dry = ({ path, ...request }: Ask): Ask => ({
  ...request,
  path: path.includes("?") ? path : `${path}?dryRun=All`,
});
const configMaps = "/api/v1/namespaces/default/configmaps";

/** The answers of both servers to a request with a key, once both know the key. */
async function answersTo(key: string, request: Ask): Promise<readonly Answer[]> {
  const answers = versions.map(async (version) => {
    const ask = (one: Ask) => askAs(serverOf(version).controlPlane, key, one);
    const works = async () => (await ask(get(configMaps))).code === 200;
    await eventually(works, { what: `the key to work with ${version}` });
    return ask(request);
  });
  return Promise.all(answers);
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  const env = { ...process.env, KUBERNETES_MINOR: newer };
  const programs = await findOrBuildControlPlane(report, env);
  if (programs.kind === "existing") throw new Error("there are no programs of a control plane");
  cluster = await startDedicatedCluster({ install: "nothing", kubernetesMinor: older });
  const { controlPlane } = cluster;
  await applyLatchkey(controlPlane, report);
  await servesOwnKinds(controlPlane);
  const controller = await cluster.run({ restart: "at-once" });
  const webhook = await cluster.runWebhook({ args: [`--certificate-names=${webhookHost}`] });
  await webhook.waitReady();
  await trustWebhook(controlPlane, webhook);
  await cluster.askAtAdmission(webhook);
  const flags = await trustFiles(controlPlane, webhook);
  const added = await controlPlane.addApiServer(flags, programs.apiServer);
  await servesOwnKinds(added);
  for (const [version, server] of [
    [older, controlPlane],
    [newer, added],
  ] as const)
    servers.set(version, {
      controlPlane: server,
      connection: await connect(server.adminKubeconfig),
    });
  await policiesCount(controlPlane);
  await controller.waitReady();
  for (const request of [...groundsOfRefusals, makeRoot]) await cluster.arrange(request);
  for (const version of versions) {
    const mayWrite = async () => (await askAt(version, tenant, dry(allowedRequest))).code === 200;
    await eventually(mayWrite, { what: `${version} to know the role of the tenant` });
  }
});

afterAll(async () => {
  for (const { connection } of servers.values()) await connection.pool.destroy();
  await cluster?.stop();
});

describe.skipIf(!hasDedicatedClusters)("API servers of two versions on one etcd", () => {
  it.each(versions)("are those of their versions: %s", async (version) => {
    const { gitVersion } = await askAt(version, admin, get("/version"));
    expect(gitVersion).toMatch(`v${version}.`);
  });

  it.each(refusedRequests)("refuse the same by latchkey-%s", async (policy, by, request) => {
    const [first, second] = await Promise.all(versions.map((one) => askAt(one, by, dry(request))));
    const message = expect.stringContaining(`latchkey-${policy}'`);
    expect(first).toMatchObject({ code: 403, message });
    expect(second).toEqual(first);
  });

  it("refuse by every policy that denies", async () => {
    const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    const denying = listAt(await askAt(newer, admin, get(path)), "items")
      .map((binding) => recordAt(binding, "spec"))
      .filter((spec) => stringsAt(spec, "validationActions").includes("Deny"))
      .map((spec) => stringAt(spec, "policyName"));
    const refusing = refusedRequests.map(([policy]) => `latchkey-${policy}`);
    expect(new Set(denying)).toEqual(new Set(refusing));
  });

  it.each(versions)("serve what is created through %s, and its requester", async (version) => {
    const name = `through-${version}`;
    const metadata = { name, annotations: { [annotations.requester]: "bob" } };
    for (const [path, request, reason] of [
      [keysPath, postKey(metadata, { user: "tenant", ttl: 3600 }), "Active"],
      [tokensPath, postToken(metadata), "Minted"],
    ] as const) {
      expect(await askAt(version, tenant, request)).toMatchObject({ code: 201 });
      const read = () => askAt(otherThan(version), admin, get(`${path}/${name}`));
      const isReady = async () => readyReason((await read()).status) === reason;
      await eventually(isReady, { what: `${name} to be ${reason}` });
      expect((await read()).metadata.annotations).toMatchObject({
        [annotations.requester]: "tenant",
        [annotations.requesterUid]: "uid-of-tenant",
        [annotations.requesterGroups]: "tenants\nsystem:authenticated",
      });
    }
    const { status } = await askAt(otherThan(version), admin, get(`${tokensPath}/${name}`));
    expect(stringAt(status, "token")).toMatch(/^ey/);
  });

  const keyWith = (name: string, verbs: readonly string[]) => {
    const rule = { verbs, resources: [{ group: "", resources: ["configmaps"] }] };
    const key = name.padEnd(32, "-0123456789");
    return {
      key,
      request: postKey(name, { user: "root", ttl: 3600, key, scope: { rules: [rule] } }),
    };
  };

  it.each(versions)("refuse the same to a key that was created through %s", async (version) => {
    const { key, request } = keyWith(`scoped-${version}`, ["list"]);
    expect(await askAt(version, admin, request)).toMatchObject({ code: 201 });
    const [first, second] = await answersTo(
      key,
      dry(post(configMaps, { metadata: { name: "a" } })),
    );
    const message = expect.stringContaining("does not allow create configmaps");
    expect(first).toMatchObject({ code: 403, message });
    expect(second).toEqual(first);
  });

  it("ask the scope for the verb that deletes what cannot be read, from 1.37 on", async () => {
    const { key, request } = keyWith("deleting", ["list", "delete"]);
    await cluster.arrange(request);
    const unread = "ignoreStoreReadErrorWithClusterBreakingPotential=true&dryRun=All";
    const path = `${configMaps}/kube-root-ca.crt?${unread}`;
    const [first, second] = await answersTo(key, remove(path));
    expect(first).toMatchObject({ code: 200 });
    const message = expect.stringContaining("does not allow unsafe-delete-ignore-read-errors");
    expect(second).toMatchObject({ code: 403, message });
  });
});
