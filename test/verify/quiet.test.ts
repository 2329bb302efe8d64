import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  auditLength,
  latchkeyRecords,
  mutations,
  sentence,
  shortcomings,
  type AuditRecord,
} from "../support/audit-log.ts";
import { type BareClient, bareClient } from "../support/bare-client.ts";
import { createRequest, dataOf } from "../support/bench-objects.ts";
import { eventually } from "../support/eventually.ts";
import { get, mergePatch } from "../support/cluster-connection.ts";
import type { LatchkeyProcess } from "../support/latchkey-process.ts";
import {
  allowRequesters,
  play,
  playBeginning,
  playGrounds,
  shortLivesOver,
} from "../support/scenario-play.ts";
import { statesInMetrics, statesInStatus } from "../support/reported-states.ts";
import {
  connectClusters,
  countSynced,
  playHeartbeats,
  playReports,
} from "../support/played-clusters.ts";
import { runInProcess } from "../support/run-cli.ts";
import { scenario } from "../support/scenario.ts";
import { reasonsOf } from "../support/snapshot.ts";
import { enforcesOwnerReferences } from "../support/program-flags.ts";
import {
  hasDedicatedClusters,
  settled,
  startDedicatedCluster,
  type DedicatedCluster,
} from "../support/dedicated-cluster.ts";

const p = "still";
const collections = [
  `/apis/${apiVersion}/sharedsecrets`,
  `/apis/${apiVersion}/ownedaccesskeys`,
  `/apis/${apiVersion}/directclusterendpointtokens`,
  "/api/v1/secrets",
  "/apis/events.k8s.io/v1/events",
].concat(
  ["roles", "rolebindings", "clusterroles", "clusterrolebindings"].map(
    (plural) => `/apis/rbac.authorization.k8s.io/v1/${plural}`,
  ),
);

let cluster: DedicatedCluster;
let controller: LatchkeyProcess;
let admin: BareClient;

/**
 * The resourceVersion of every object that Latchkey could have written, by collection, namespace
 * and name.
 */
async function versions(): Promise<Readonly<Record<string, string>>> {
  const lists = await Promise.all(
    collections.map(async (path) => [path, await cluster.arrange(get(path))] as const),
  );
  const entries = lists.flatMap(([path, list]) =>
    listAt(list, "items").map((item) => {
      const { namespace = "", name, resourceVersion } = recordAt(item, "metadata");
      return [[path, namespace, name].join(" "), String(resourceVersion)] as const;
    }),
  );
  return Object.fromEntries(entries);
}

/** A rejected copy is retried, because no event reports when its target accepts it. */
function isTriedAgain({ verb, objectRef, responseStatus }: AuditRecord): boolean {
  const refused = responseStatus?.code === 403 || responseStatus?.code === 422;
  return (
    verb === "create" &&
    objectRef?.resource === "secrets" &&
    refused &&
    [`${p}-full`, `${p}-pay1`].includes(objectRef.namespace ?? "")
  );
}

function written(since: number): readonly string[] {
  return mutations(latchkeyRecords(cluster.audit, since))
    .filter((record) => !isTriedAgain(record))
    .map(sentence);
}

/** SharedSecrets that these connected clusters have, as their agents say; a bare client plays them. */
const clusters = ["east", "north", "west"];
async function playClusters(): Promise<void> {
  await connectClusters(admin, clusters, `${p}-far`);
  await playAgents();
  const marks = { [annotations.syncToProjects]: `${p}-far`, [annotations.syncToClusters]: "*" };
  const place = { namespace: `${p}-home`, annotations: marks };
  await admin.pour(5, (index) =>
    createRequest("SharedSecret", { ...place, name: `far-${index}` }, { data: dataOf(index) }),
  );
  await settled(controller);
  for (const name of clusters) await playReports(admin, name);
  // A status says other counts at most once in 10 s.
  const isSaid = async () => (await countSynced(admin, place.namespace, clusters.length)) === 5;
  await eventually(isSaid, { what: "each status to say what the agents report" });
}

/** Lets each agent renew its Lease once. */
const playAgents = async (): Promise<void> => (await playHeartbeats(admin, clusters))();

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  // The other tests run without this plugin, like most clusters; the shipped RBAC is sufficient
  // with it too.
  cluster = await startDedicatedCluster({ extraApiServerFlags: [enforcesOwnerReferences] });
  await allowRequesters(cluster);
  controller = await cluster.run();
  await playGrounds(cluster, p);
  await playBeginning(cluster, p);
  await play(cluster, scenario(p).end);
  await shortLivesOver(cluster, p);
  admin = await bareClient(cluster.controlPlane.adminKubeconfig);
  await playClusters();
  await settled(controller);
});

afterAll(async () => {
  await admin?.close();
  await cluster?.stop();
});

describe.skipIf(!hasDedicatedClusters)("an idle controller", () => {
  it("starts with conflicts, rejecting targets, expired keys and issued tokens", async () => {
    const reasons = Object.values(await reasonsOf(cluster, p));
    expect(reasons).toEqual(
      expect.arrayContaining(["Minted", "Expired", "DuplicateKey", "InvalidAccessRule"]),
    );
    const { status } = await cluster.arrange(
      get(`/apis/${apiVersion}/namespaces/${p}-home/sharedsecrets/taken`),
    );
    expect(status).toMatchObject({ sync: { conflicts: 1, failed: 1 } });
  });

  it("has the same objects not ready, and the same targets, in metrics and in kubectl latchkey status", async () => {
    const env = { KUBECONFIG: cluster.controlPlane.adminKubeconfig };
    const { code, stdout, stderr } = await runInProcess(["status", "-A", "-o", "json"], env);
    expect({ code, stderr }).toEqual({ code: 3, stderr: "" });
    const shown = statesInStatus(JSON.parse(stdout));
    const metrics = await fetch(new URL("/metrics", controller.url));
    expect(shown).toEqual(statesInMetrics(await metrics.text()));
    expect(shown.notReady.map((line) => line.split(" ").at(-1))).toEqual(
      expect.arrayContaining(["DuplicateKey", "InvalidAccessRule", "Conflict"]),
    );
    expect(shown.targets).toMatchObject({ conflict: 1, failed: 6, pending: 0 });
  });

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "writes only its Lease after a restart by %s",
    async (signal) => {
      const before = await versions();
      const exited = controller.exited();
      controller.kill(signal);
      await exited;
      const since = auditLength(cluster.audit);
      controller.start();
      await controller.waitReady();
      await settled(controller);
      expect(written(since)).toEqual([]);
      expect(await versions()).toEqual(before);
    },
  );

  it("writes nothing when other users add labels and annotations", async () => {
    const mark = {
      metadata: {
        labels: { "test.example/mark": "yes" },
        annotations: { "test.example/note": "hello" },
      },
    };
    const since = auditLength(cluster.audit);
    const [role] = listAt(
      await cluster.arrange(
        get(
          `/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=${labels.requesterHash}`,
        ),
      ),
      "items",
    );
    const marked = [
      `/apis/${apiVersion}/namespaces/${p}-home/sharedsecrets/db`,
      `/apis/${apiVersion}/ownedaccesskeys/${p}-plain`,
      `/apis/${apiVersion}/directclusterendpointtokens/${p}-long`,
      `/api/v1/namespaces/${p}-web1`,
      `/api/v1/namespaces/${p}-web1/secrets/db`,
      `/apis/rbac.authorization.k8s.io/v1/clusterroles/${stringAt(recordAt(role, "metadata"), "name")}`,
    ];
    for (const path of marked) await cluster.arrange(mergePatch(path, mark));
    const before = await versions();
    await settled(controller);
    expect(written(since)).toEqual([]);
    expect(await versions()).toEqual(before);
  });

  it("writes nothing while agents renew their Leases and report the same", async () => {
    const before = await versions();
    const since = auditLength(cluster.audit);
    expect(before).toHaveProperty([`/apis/${apiVersion}/sharedsecrets ${p}-home far-4`]);
    for (let beats = 0; beats < 3; beats += 1) {
      await playAgents();
      for (const name of clusters) await playReports(admin, name);
      await settled(controller);
    }
    expect(written(since)).toEqual([]);
    expect(await versions()).toEqual(before);
  });

  it("sends no request that the shipped RBAC forbids", () => {
    expect(shortcomings(latchkeyRecords(cluster.audit))).toEqual([]);
  });
});
