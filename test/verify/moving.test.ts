import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { parseConditions, recordAt } from "../../src/api/parse.ts";
import { admin, get, mergePatch, post, remove } from "../support/cluster-connection.ts";
import {
  hasDedicatedClusters,
  startDedicatedCluster,
  type DedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { postNamespace } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import { type PodView, startPods } from "./pod-view.ts";
import { skippedFor } from "../support/skipped.ts";
import {
  programOf,
  type Replicator,
  replicators,
  type RunningReplicator,
  startReplicator,
} from "../support/replicators.ts";

const targets = ["dev", "prod"];
const keys = ["username", "password"];
const base64 = (text: string) => Buffer.from(text).toString("base64");
const dataOf = (version: number) => ({
  username: base64("orders"),
  password: base64(`not-a-real-password-${version}`),
});

let cluster: DedicatedCluster;

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  const controller = await cluster.run();
  await controller.waitReady();
});

afterAll(() => cluster?.stop());

const secretPath = (namespace: string, name?: string) =>
  `/api/v1/namespaces/${namespace}/secrets${name === undefined ? "" : `/${name}`}`;
const look = (path: string) => cluster.ask(admin, get(path));
const change = (path: string, body: object) => cluster.arrange(mergePatch(path, body));
const annotate = (path: string, given: Readonly<Record<string, string | null>>) =>
  change(path, { metadata: { annotations: given } });

async function becomesData(path: string, data: object): Promise<void> {
  await eventually(
    async () => {
      expect(await look(path)).toMatchObject({ code: 200, data });
      return true;
    },
    { what: `${path} to have the data` },
  );
}

/** Namespaces of a project, a Secret, and its copies by another replicator. */
interface Estate {
  readonly home: string;
  readonly source: string;
  readonly copies: readonly string[];
  readonly namespaces: readonly string[];
}

async function makeEstate(project: string, replicator: Replicator): Promise<Estate> {
  const home = `${project}-home`;
  const namespaces = targets.map((target) => `${project}-${target}`);
  await cluster.arrange(postNamespace(home));
  for (const name of namespaces) {
    const metadata = { name, labels: { [labels.project]: project } };
    await cluster.arrange(postNamespace(metadata));
  }
  const given = replicator.copyTo(`${labels.project}=${project}`);
  const body = { metadata: { name: "db", annotations: given }, data: dataOf(1) };
  await cluster.arrange(post(secretPath(home), body));
  const copies = namespaces.map((namespace) => secretPath(namespace, "db"));
  for (const copy of copies) await becomesData(copy, dataOf(1));
  return { home, source: secretPath(home, "db"), copies, namespaces };
}

/** A SharedSecret with the data of the Secret `db`; returns its path. */
async function share(
  { home, source }: Estate,
  given: Readonly<Record<string, string>>,
): Promise<string> {
  const { data } = await look(source);
  const metadata = { name: "db", annotations: given };
  const path = `/apis/${apiVersion}/namespaces/${home}/sharedsecrets`;
  const body = { apiVersion, kind: "SharedSecret", metadata, spec: { data } };
  await cluster.arrange(post(path, body));
  return `${path}/db`;
}

async function becomesSynced(path: string, count: number): Promise<void> {
  await eventually(
    async () => {
      const { status } = await look(path);
      const synced = parseConditions(recordAt({ status }, "status")).find(
        ({ type }) => type === "Synced",
      );
      expect({ synced, sync: recordAt({ status }, "status").sync }).toMatchObject({
        synced: { status: "True" },
        sync: { desired: count, synced: count },
      });
      return true;
    },
    { what: "all copies to exist" },
  );
}

describe.skipIf(!hasDedicatedClusters)("the pods of these tests", () => {
  it("see a Secret that is deleted and created again", async () => {
    const path = secretPath("default", "gap");
    const create = () =>
      cluster.arrange(post(secretPath("default"), { metadata: { name: "gap" }, data: dataOf(1) }));
    await create();
    const pods = startPods(cluster, { paths: [path], keys });
    await pods.looks(2);
    await cluster.arrange(remove(path));
    await pods.looks(2);
    await create();
    await pods.looks(2);
    const { gaps } = await pods.stop();
    expect(gaps.length).toBeGreaterThan(0);
  });
});

for (const replicator of replicators) {
  const found = programOf(replicator, process.env);
  const isMissing = "missing" in found;
  const needed = skippedFor(isMissing ? found.missing : undefined);
  describe.skipIf(!hasDedicatedClusters)(`moving from ${replicator.name}`, needed, () => {
    const start = (): Promise<RunningReplicator> =>
      startReplicator(
        replicator,
        isMissing ? "" : found.program,
        cluster.controlPlane.adminKubeconfig,
      );
    let running: RunningReplicator | undefined;
    let pods: PodView | undefined;

    afterAll(async () => {
      await pods?.stop();
      await running?.stop();
    });

    it("in place, the Secret stays, has all keys at every moment, and follows the SharedSecret", async () => {
      const project = `placed-${replicator.name}`;
      running = await start();
      const estate = await makeEstate(project, replicator);
      const uids = await uidsOf(estate.copies);
      pods = startPods(cluster, { paths: estate.copies, keys });
      const shared = await share(estate, { [annotations.syncToProjects]: project });
      await running.stop();
      for (const copy of estate.copies)
        await change(copy, { metadata: placeholderOf(estate.home, replicator) });
      await becomesSynced(shared, targets.length);
      await annotate(estate.source, keysWithout(replicator));
      running = await start();
      await change(shared, { spec: { data: dataOf(2) } });
      for (const copy of estate.copies) await becomesData(copy, dataOf(2));
      await cluster.arrange(remove(estate.source));
      await change(shared, { spec: { data: dataOf(3) } });
      for (const copy of estate.copies) await becomesData(copy, dataOf(3));
      await running.stop();
      running = await start();
      await pods.looks(20);
      const { gaps, looks } = await pods.stop();
      expect(gaps).toEqual([]);
      expect(looks).toBeGreaterThan(25);
      expect(await uidsOf(estate.copies)).toEqual(uids);
      for (const copy of estate.copies) await becomesData(copy, dataOf(3));
      await running.stop();
    });

    it("with a second name and a rollout, pods have a Secret at every moment", async () => {
      const project = `second-${replicator.name}`;
      running = await start();
      const estate = await makeEstate(project, replicator);
      pods = startPods(cluster, { paths: estate.copies, keys });
      for (const namespace of estate.namespaces)
        await annotate(`/api/v1/namespaces/${namespace}`, { [annotations.sync]: "enabled" });
      const shared = await share(estate, {
        [annotations.syncToProjects]: project,
        [annotations.syncSecretName]: "db-shared",
      });
      await becomesSynced(shared, targets.length);
      await pods.looks(5);
      const renamed = estate.namespaces.map((namespace) => secretPath(namespace, "db-shared"));
      pods.mount(renamed);
      await annotate(estate.source, keysWithout(replicator));
      for (const path of [estate.source, ...estate.copies])
        if ((await look(path)).code === 200) await cluster.ask(admin, remove(path));
      await change(shared, { spec: { data: dataOf(2) } });
      for (const copy of renamed) await becomesData(copy, dataOf(2));
      await running.stop();
      running = await start();
      await pods.looks(20);
      const { gaps, looks } = await pods.stop();
      expect(gaps).toEqual([]);
      expect(looks).toBeGreaterThan(25);
      for (const path of estate.copies) expect(await look(path)).toMatchObject({ code: 404 });
    });
  });
}

async function uidsOf(paths: readonly string[]): Promise<readonly unknown[]> {
  return Promise.all(paths.map(async (path) => (await look(path)).metadata.uid));
}

/** A merge patch that makes a copy of another replicator a placeholder of the SharedSecret `db`. */
function placeholderOf(home: string, { marks }: Replicator): object {
  const without = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, null]));
  return {
    labels: {
      "management.service/sharedsecret-name": "db",
      "management.service/sharedsecret-namespace": home,
      ...without(marks.labels),
    },
    annotations: without(marks.annotations),
  };
}

/** A merge patch that removes the annotations with which a Secret is copied. */
function keysWithout({ copyTo }: Replicator): Readonly<Record<string, null>> {
  return Object.fromEntries(Object.keys(copyTo("")).map((key) => [key, null]));
}
