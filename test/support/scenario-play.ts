import { parseConditions, recordAt } from "../../src/api/parse.ts";
import { admin } from "./cluster-connection.ts";
import { requesters, type Action, type Step } from "./actions.ts";
import { scenario } from "./scenario.ts";
import { eventually, nextSecond } from "./eventually.ts";
import type { DedicatedCluster } from "./dedicated-cluster.ts";
import { bindClusterRole, mayActAsAnyUser } from "./latchkey-objects.ts";

/** Allows the requesters of all scenarios to create keys and tokens, the keys for any user. */
export async function allowRequesters(cluster: DedicatedCluster): Promise<void> {
  const group = { kind: "Group", name: requesters } as const;
  await cluster.arrange(bindClusterRole(requesters, "latchkey-requester", [group]));
  for (const request of mayActAsAnyUser(requesters)) await cluster.arrange(request);
}

/** Runs one step after the other. */
export async function play(cluster: DedicatedCluster, steps: readonly Step[]): Promise<void> {
  for (const step of steps) await Promise.all(step.map((action) => perform(cluster, action)));
}

/** Creates the objects that must exist before any change; a controller must be running. */
export async function playGrounds(cluster: DedicatedCluster, p: string): Promise<void> {
  const { grounds, quota } = scenario(p);
  await play(cluster, grounds);
  for (const plural of lives)
    await until(cluster, `${plural}/${p}-short`, ["Minted", "Active", "Expired"]);
  const isKnown = async () =>
    recordAt(recordAt(await cluster.arrange({ method: "GET", path: quota }), "status"), "hard")[
      "count/secrets"
    ] === "0";
  await eventually(isKnown, { what: "the quota to count" });
}

/** Plays a scenario from there until `stir` can run. */
export async function playBeginning(cluster: DedicatedCluster, p: string): Promise<void> {
  const { start, changes } = scenario(p);
  await play(cluster, start);
  await nextSecond();
  await play(cluster, changes);
}

/** Waits until the short lifetimes have expired. */
export async function shortLivesOver(cluster: DedicatedCluster, p: string): Promise<void> {
  for (const plural of lives) await until(cluster, `${plural}/${p}-short`, ["Expired"]);
}

const lives = ["ownedaccesskeys", "directclusterendpointtokens"];

async function until(
  cluster: DedicatedCluster,
  place: string,
  reasons: readonly string[],
): Promise<void> {
  const holds = async () => {
    const { status } = await cluster.arrange({
      method: "GET",
      path: `/apis/management.service/v1/${place}`,
    });
    return parseConditions(status).some(
      ({ type, reason }) => type === "Ready" && reasons.includes(reason),
    );
  };
  await eventually(holds, { what: `${place} to be ${reasons.join(" or ")}` });
}

async function perform(
  cluster: DedicatedCluster,
  { by = admin, until, ...request }: Action,
): Promise<void> {
  const what = `${request.method} ${request.path}`;
  let last = "";
  const isDone = async () => {
    const { code, message } = await cluster.ask(by, request);
    last = `${code} ${message}`;
    return until.includes(code);
  };
  await eventually(isDone, { what, every: 20, within: 240_000 }).catch((cause: unknown) => {
    throw new Error(`${what}: ${last}`, { cause });
  });
}
