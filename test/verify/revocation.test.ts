import { execFile } from "node:child_process";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Agent, fetch, Pool } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConditions, stringAt } from "../../src/api/parse.ts";
import {
  parseRevocationSeq,
  type RevocationSeq,
  seqOrder,
} from "../../src/domain/endpoint-token/revocation-seq.ts";
import { requesters } from "../support/actions.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { type Caller, get, post, remove } from "../support/cluster-connection.ts";
import { type StartedControlPlane, startControlPlane } from "../support/control-plane.ts";
import { readVitals, valuesOf } from "../support/controller-vitals.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { freePort } from "../support/free-port.ts";
import { directEndpointCa } from "../support/gateway-address.ts";
import { applyDirectEndpointRbac } from "../support/install.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import {
  type ControllerProcess,
  type DirectEndpointProcess,
  startController,
  startDirectEndpoint,
} from "../support/latchkey-process.ts";
import { percentile } from "../support/percentile.ts";
import { type RoundRobinFront, startRoundRobinFront } from "../support/round-robin-front.ts";
import { allowRequesters } from "../support/scenario-play.ts";

const collection = "/apis/management.service/v1/directclusterendpointtokens";
const alice: Caller = { user: "alice", groups: [requesters] };
/** A restored etcd is noticed after at most 45 s, see docs/operations.md. */
const patience = { within: 150_000, every: 100 };

let central: DedicatedCluster;
let upstream: Pool;
let standbyProxy: FaultProxy;
let replicas: readonly ControllerProcess[] = [];
let front: RoundRobinFront;
let connected: StartedControlPlane;
let endpoint: DirectEndpointProcess;
let dispatcher: Agent;

const say = (line: string) => void process.stderr.write(`${line}\n`);

let minted = 0;

/** A token, and the path of its object. */
interface Minted {
  readonly path: string;
  readonly token: string;
}

async function mint(): Promise<Minted> {
  minted += 1;
  const name = `token-${minted}`;
  const body = { kind: "DirectClusterEndpointToken", apiVersion: "management.service/v1" };
  const object = { ...body, metadata: { name }, spec: {} };
  const made = await central.ask(alice, post(collection, object));
  expect(made).toMatchObject({ code: 201 });
  const path = `${collection}/${name}`;
  const token = await eventually(
    async () => {
      const { status } = await central.arrange(get(path));
      const isReady = parseConditions(status).some(
        ({ type, status: value }) => type === "Ready" && value === "True",
      );
      return isReady && (stringAt(status, "token") ?? "");
    },
    { ...patience, what: `${name} to be minted` },
  );
  return { path, token };
}

const revoke = ({ path }: Minted) => central.arrange(remove(path));

async function statusOf({ token }: Pick<Minted, "token">): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const url = `${endpoint.endpointUrl}/kubernetes/cluster/version`;
  const response = await fetch(url, { dispatcher, headers });
  await response.text();
  return response.status;
}

const refused = (token: Minted, what: string) =>
  eventually(async () => (await statusOf(token)) === 401, { ...patience, every: 10, what });
const accepted = (token: Minted, what: string) =>
  eventually(async () => (await statusOf(token)) === 200, { ...patience, what });

async function readyText(): Promise<string> {
  return (await fetch(`${endpoint.url}/readyz`)).text();
}

async function refusedLists(reason: string): Promise<number> {
  const metrics = await (await fetch(`${endpoint.url}/metrics`)).text();
  const lines = metrics.split("\n").filter((line) => line.includes(`reason="${reason}"`));
  return valuesOf(lines.join("\n"), "latchkey_revoked_list_refusals_total").reduce(
    (sum, value) => sum + value,
    0,
  );
}

/** The seqs of the lists that the endpoint has taken, in order, from its log. */
function takenSeqs(): readonly RevocationSeq[] {
  const lines = readFileSync(endpoint.log, "utf8").split("\n");
  return lines
    .filter((line) => line.includes("list of revoked tokens taken"))
    .map((line) => parseRevocationSeq(stringAt(JSON.parse(line), "seq") ?? ""))
    .filter((seq) => seq !== undefined);
}

/** The seqs that do not follow the one before. */
function stepsBack(seqs: readonly RevocationSeq[]): readonly RevocationSeq[] {
  return seqs.filter((seq, index) => index > 0 && seqOrder(seqs[index - 1], seq) !== "newer");
}

/** Starts the standby behind a proxy, so that a test can hold its watches. */
async function startReplicas(issuer: string): Promise<readonly ControllerProcess[]> {
  const { controlPlane, program } = central;
  upstream = new Pool(controlPlane.url, {
    ...{ allowH2: true, keepAliveTimeout: 600_000, connections: 8, pipelining: 100 },
    connect: { ca: controlPlane.certificateAuthority },
  });
  standbyProxy = await FaultProxy.start({
    upstream,
    view: { prefix: "", system: "latchkey-system" },
    steering: {},
    events: { onTraffic() {}, onWrite() {}, onCommit() {}, onList() {} },
  });
  const options = { program, restart: "at-once", args: [`--issuer=${issuer}`] } as const;
  const leader = await startController({ ...options, controlPlane });
  await leader.waitReady();
  const isLeading = async () => (await readVitals(leader.url)).isLeading;
  await eventually(isLeading, { what: "the first replica to lead" });
  const behind = { ...controlPlane, url: standbyProxy.url };
  const standby = await startController({ ...options, controlPlane: behind });
  await standby.waitReady();
  return [leader, standby];
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  central = await startDedicatedCluster();
  await allowRequesters(central);
  front = await startRoundRobinFront(await freePort());
  replicas = await startReplicas(front.url);
  front.replicas = replicas.map(({ url }) => url);
  const { controllerManager: _, ...programs } = await binaries();
  connected = await startControlPlane(programs, { auditLog: false });
  await applyDirectEndpointRbac(connected);
  const issuerFile = join(connected.directory, "issuer-ca.crt");
  writePrivately(issuerFile, front.ca);
  endpoint = await startDirectEndpoint({
    ...{ controlPlane: connected, program: central.program, restart: "never" },
    args: [
      ...["--cluster-name=east", `--issuer=${front.url}`],
      `--certificate-authority=${issuerFile}`,
    ],
  });
  await endpoint.waitReady();
  dispatcher = new Agent({ connect: { ca: await directEndpointCa(connected) } });
});

async function binaries() {
  const source = await findOrBuildControlPlane((line) => say(`connected cluster: ${line}`));
  if (source.kind === "existing") throw new Error("a connected cluster is started by the test");
  return source;
}

afterAll(async () => {
  await dispatcher?.destroy();
  await endpoint?.stop();
  await connected?.stop();
  standbyProxy?.release();
  await Promise.all(replicas.map((replica) => replica.stop()));
  standbyProxy?.kill();
  await upstream?.destroy();
  await front?.stop();
  await central?.stop();
});

describe.skipIf(!hasDedicatedClusters)("an endpoint whose polls move between two replicas", () => {
  it("takes newer lists from both, never an older one, and refuses each revoked token", async () => {
    const times: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const token = await mint();
      await accepted(token, "a new token to be accepted");
      const began = Date.now();
      await revoke(token);
      await refused(token, "a revoked token to be refused");
      times.push(Date.now() - began);
    }
    const seqs = takenSeqs();
    expect(seqs.length).toBeGreaterThanOrEqual(20);
    expect(stepsBack(seqs)).toEqual([]);
    expect([...front.lists.keys()].sort()).toEqual([...front.replicas].sort());
    say(
      `20 revocations through two replicas: p50 ${percentile(times, 0.5)} ms, longest ${Math.max(...times)} ms; ${await refusedLists("older")} older lists refused`,
    );
  });

  it("keeps its list while a replica is behind, and takes the next one of the other", async () => {
    const before = await mint();
    await accepted(before, "a new token to be accepted");
    standbyProxy.hold();
    const began = Date.now();
    await revoke(before);
    await refused(before, "a token revoked while a replica is behind to be refused");
    const took = Date.now() - began;
    // Some polls of the replica that is behind: none lets the token in again.
    const seen = new Set<number>();
    for (const end = Date.now() + 12_000; Date.now() < end;) seen.add(await statusOf(before));
    expect([...seen]).toEqual([401]);
    // It confirms its list only as long as it may be current.
    const isSilent = async () =>
      (await fetch(`${replicas[1]?.url ?? ""}/openid/v1/revoked`)).status === 503;
    await eventually(isSilent, { ...patience, what: "the replica to confirm no list" });
    standbyProxy.release();
    expect(stepsBack(takenSeqs())).toEqual([]);
    say(`revoked within ${took} ms while a replica was behind`);
    const after = await mint();
    await revoke(after);
    await refused(after, "a token to be refused when the replica has caught up");
  });
});

describe.skipIf(!hasDedicatedClusters)(
  "an endpoint after a restore of the management cluster",
  () => {
    const saved = () => `${central.controlPlane.directory}/etcd-saved`;

    async function writeMuch(count: number): Promise<void> {
      const write = () =>
        central.arrange(
          post("/api/v1/namespaces/default/configmaps", { metadata: { generateName: "other-" } }),
        );
      for (let done = 0; done < count; done += 50)
        await Promise.all(Array.from({ length: 50 }, write));
    }

    it("refuses the earlier list and says so, until a new epoch; then tokens revoked after the backup are back", async () => {
      const [early, late, later] = [await mint(), await mint(), await mint()];
      await revoke(early);
      await refused(early, "a token revoked before the backup to be refused");
      await central.controlPlane.interrupt("both", async (data) => {
        rmSync(saved(), { recursive: true, force: true });
        cpSync(data, saved(), { recursive: true });
      });
      await eventually(async () => (await readyText()).includes("older") === false, {
        ...patience,
        what: "the endpoint to be calm",
      });
      await writeMuch(2_000);
      await revoke(late);
      await refused(late, "a token revoked after the backup to be refused");

      await central.controlPlane.interrupt("both", async (data) => {
        rmSync(data, { recursive: true, force: true });
        cpSync(saved(), data, { recursive: true });
      });
      const warning =
        "if the management cluster was restored, run latchkey rotate-signing-key --new-epoch there";
      await eventually(async () => (await readyText()).includes(warning), {
        ...patience,
        what: "readyz of the endpoint to warn of the earlier list",
      });
      expect(await refusedLists("older")).toBeGreaterThan(0);
      await revoke(later);
      const gone = async () => (await central.ask({}, get(later.path))).code === 404;
      await eventually(gone, { ...patience, what: "the object to be gone" });
      // The list in use: both stay refused, and what is revoked now is not in it.
      expect(await Promise.all([early, late, later].map(statusOf))).toEqual([401, 401, 200]);

      await promisify(execFile)(process.execPath, [
        ...[central.program, "rotate-signing-key", "--new-epoch"],
        `--kubeconfig=${central.controlPlane.adminKubeconfig}`,
      ]);
      await refused(later, "a token revoked after the restore to be refused");
      await eventually(async () => !(await readyText()).includes("new-epoch"), {
        ...patience,
        what: "the warning to end",
      });
      // Its object is back, as documented: delete it again, or wait for its exp.
      expect(await Promise.all([early, late, later].map(statusOf))).toEqual([401, 200, 401]);
      expect((await central.arrange(get(late.path))).code).toBe(200);
      await revoke(late);
      await refused(late, "a token that is deleted again to be refused");
      expect(stepsBack(takenSeqs())).toEqual([]);
      expect(takenSeqs().at(-1)?.epoch).toBeGreaterThan(0);
    });
  },
);
