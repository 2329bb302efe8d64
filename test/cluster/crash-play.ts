import { parseConditions, recordAt } from "../../src/api/parse.ts";
import { admin } from "./cluster-connection.ts";
import { requesters, scenario, type Deed, type Step } from "./crash-scenario.ts";
import { eventually } from "./eventually.ts";
import type { LoneCluster } from "./lone-cluster.ts";

/** Lets the requesters of all scenarios create keys and tokens, the keys for whom they like. */
export async function allowRequesters({ arrange }: LoneCluster): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  const body = {
    metadata: { name: requesters },
    roleRef: { apiGroup, kind: "ClusterRole", name: "latchkey-requester" },
    subjects: [{ apiGroup, kind: "Group", name: requesters }],
  };
  await arrange({ method: "POST", path: `/apis/${apiGroup}/v1/clusterrolebindings`, body });
}

/** Does one step after the other. */
export async function play(cluster: LoneCluster, steps: readonly Step[]): Promise<void> {
  for (const step of steps) await Promise.all(step.map((deed) => perform(cluster, deed)));
}

/** Plays what stands before anything happens; a controller has to run. */
export async function playGrounds(cluster: LoneCluster, p: string): Promise<void> {
  const { grounds, quota } = scenario(p);
  await play(cluster, grounds);
  const isKnown = async () => recordAt(recordAt(await cluster.arrange({ method: "GET", path: quota }), "status"), "hard")["count/secrets"] === "0";
  await eventually(isKnown, { what: "the quota to count" });
  for (const plural of lives) await until(cluster, `${plural}/${p}-short`, { type: "Ready", status: "True" });
}

/** Plays a scenario from there to where it can be stirred. */
export async function playBeginning(cluster: LoneCluster, p: string): Promise<void> {
  const { start, changes } = scenario(p);
  await play(cluster, start);
  // Which of two keys is older is decided by whole seconds.
  const begun = Date.now();
  await eventually(() => Date.now() > begun + 1_000, { what: "the next second" });
  await play(cluster, changes);
}

/** Waits for what only time brings: the end of short lives. */
export async function shortLivesOver(cluster: LoneCluster, p: string): Promise<void> {
  for (const plural of lives) await until(cluster, `${plural}/${p}-short`, { type: "Expired", status: "True" });
}

const lives = ["ownedaccesskeys", "directclusterendpointtokens"];

async function until(cluster: LoneCluster, place: string, { type, status }: { readonly type: string; readonly status: string }): Promise<void> {
  const holds = async () => {
    const object = await cluster.arrange({ method: "GET", path: `/apis/management.service/v1/${place}` });
    return parseConditions(object.status).some((condition) => condition.type === type && condition.status === status);
  };
  await eventually(holds, { what: `${type}=${status} of ${place}` });
}

async function perform({ ask }: LoneCluster, { by = admin, until, ...request }: Deed): Promise<void> {
  const what = `${request.method} ${request.path}`;
  let last = "";
  const isDone = async () => {
    const { code, message } = await ask(by, request);
    last = `${code} ${message}`;
    return until.includes(code);
  };
  await eventually(isDone, { what, every: 20 }).catch((cause: unknown) => {
    throw new Error(`${what}: ${last}`, { cause });
  });
}
