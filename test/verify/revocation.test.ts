import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringAt } from "../../src/api/parse.ts";
import {
  parseRevocationSeq,
  type RevocationSeq,
  seqOrder,
} from "../../src/domain/endpoint-token/revocation-seq.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { get, post, remove } from "../support/cluster-connection.ts";
import { type StartedControlPlane, startControlPlane } from "../support/control-plane.ts";
import { readVitals, valuesOf } from "../support/controller-vitals.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import {
  type DirectEndpoint,
  mintToken,
  rotateSigningKey,
  startEndpoint,
  tokenPath,
} from "../support/direct-fixture.ts";
import { etcdBackup } from "./etcd-backup.ts";
import { eventually } from "../support/eventually.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { freePort } from "../support/free-port.ts";
import { type ControllerProcess, startController } from "../support/latchkey-process.ts";
import { percentile } from "../support/percentile.ts";
import { type RoundRobinFront, startRoundRobinFront } from "./round-robin-front.ts";
import { allowRequesters } from "../support/scenario-play.ts";

/** A restored etcd is noticed after at most 45 s, see docs/operations.md. */
const patience = { within: 150_000, every: 100 };

let central: DedicatedCluster;
let standbyProxy: FaultProxy;
let replicas: readonly ControllerProcess[] = [];
let front: RoundRobinFront;
let connected: StartedControlPlane;
let direct: DirectEndpoint;

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
  return { path: tokenPath(name), token: await mintToken(central, name) };
}

const revoke = ({ path }: Minted) => central.arrange(remove(path));

const statusOf = ({ token }: Pick<Minted, "token">) => direct.statusOf(token);

const refused = (token: Minted, what: string) =>
  eventually(async () => (await statusOf(token)) === 401, { ...patience, every: 10, what });
const accepted = (token: Minted, what: string) =>
  eventually(async () => (await statusOf(token)) === 200, { ...patience, what });

async function readyText(): Promise<string> {
  return (await fetch(`${direct.endpoint.url}/readyz`)).text();
}

async function refusedLists(reason: string): Promise<number> {
  const metrics = await (await fetch(`${direct.endpoint.url}/metrics`)).text();
  const lines = metrics.split("\n").filter((line) => line.includes(`reason="${reason}"`));
  return valuesOf(lines.join("\n"), "latchkey_revoked_list_refusals_total").reduce(
    (sum, value) => sum + value,
    0,
  );
}

/** The seqs of the lists that the endpoint has taken, in order, from its log. */
function takenSeqs(): readonly RevocationSeq[] {
  const lines = readFileSync(direct.endpoint.log, "utf8").split("\n");
  return lines
    .filter((line) => line.includes("list of the issuer taken"))
    .map((line) => parseRevocationSeq(stringAt(JSON.parse(line), "version") ?? ""))
    .filter((seq) => seq !== undefined);
}

/** The seqs that do not follow the one before. */
function stepsBack(seqs: readonly RevocationSeq[]): readonly RevocationSeq[] {
  return seqs.filter((seq, index) => index > 0 && seqOrder(seqs[index - 1], seq) !== "newer");
}

/** Starts the standby behind a proxy, so that a test can hold its watches. */
async function startReplicas(issuer: string): Promise<readonly ControllerProcess[]> {
  const { controlPlane, program } = central;
  standbyProxy = await FaultProxy.before(controlPlane);
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
  const { program } = central;
  direct = await startEndpoint(connected, { program, issuer: front.url, ca: front.ca });
});

async function binaries() {
  const source = await findOrBuildControlPlane((line) => say(`connected cluster: ${line}`));
  if (source.kind === "existing") throw new Error("a connected cluster is started by the test");
  return source;
}

afterAll(async () => {
  await direct?.stop();
  await connected?.stop();
  standbyProxy?.release();
  await Promise.all(replicas.map((replica) => replica.stop()));
  standbyProxy?.kill();
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

describe.skipIf(!hasDedicatedClusters)("an endpoint after a restore of the central cluster", () => {
  async function writeMuch(count: number): Promise<void> {
    const write = () =>
      central.arrange(
        post("/api/v1/namespaces/default/configmaps", { metadata: { generateName: "other-" } }),
      );
    for (let done = 0; done < count; done += 50)
      await Promise.all(Array.from({ length: 50 }, write));
  }

  const backup = () => etcdBackup(central.controlPlane);

  it("refuses the earlier list and says so, until a new epoch; then tokens revoked after the backup are back", async () => {
    const [early, late, later] = [await mint(), await mint(), await mint()];
    await revoke(early);
    await refused(early, "a token revoked before the backup to be refused");
    await backup().save();
    await eventually(async () => (await readyText()).includes("older") === false, {
      ...patience,
      what: "the endpoint to be calm",
    });
    await writeMuch(2_000);
    await revoke(late);
    await refused(late, "a token revoked after the backup to be refused");

    await backup().restore();
    const warning =
      "if the central cluster was restored, run kubectl latchkey rotate-signing-key --new-epoch there";
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

    await rotateSigningKey(central, "--new-epoch");
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

  it("takes the next list of a restored state whose history has passed that of its own list", async () => {
    const [early, late, later] = [await mint(), await mint(), await mint()];
    await revoke(early);
    await refused(early, "a token revoked before the backup to be refused");
    await backup().save();
    await revoke(late);
    await refused(late, "a token revoked after the backup to be refused");
    await backup().restore();
    await writeMuch(500);
    await revoke(later);
    await refused(later, "a token revoked after the restore to be refused");
    // Its object is back, too.
    await accepted(late, "a token whose deletion is not in the backup to be accepted");
    expect(await Promise.all([early, late, later].map(statusOf))).toEqual([401, 200, 401]);
    expect(stepsBack(takenSeqs())).toEqual([]);
  });
});
