import { type Cluster, clusterOver } from "../../../src/client/connection/cluster.ts";
import { KubeError, type KubeErrorCode } from "../../../src/kube/client/kube-error.ts";
import { fakeChoice } from "../fake-cluster.ts";

/** A cluster with one SharedSecret, which can fail. */
export interface FakeStatusCluster {
  readonly cluster: Cluster;
  /** From now on every request fails so; undefined for none. */
  readonly failWith: (code: KubeErrorCode | undefined) => void;
  readonly throwBug: () => void;
}

const sharedSecret = {
  metadata: { namespace: "team-a", name: "db", uid: "u", generation: 1 },
  spec: { data: { password: "Y2FuYXJ5LXZhbHVl" } },
  status: {
    observedGeneration: 1,
    sync: { desired: 1, synced: 1 },
    conditions: [
      { type: "Ready", status: "True", reason: "Ready", message: "m", lastTransitionTime: "t" },
    ],
  },
};

/** Answers reviews with yes, and lists the SharedSecret. */
export function fakeStatusCluster(initial?: KubeErrorCode): FakeStatusCluster {
  let failing = initial;
  let hasBug = false;
  const request = async ({ method, path }: { method: string; path: string }) => {
    if (hasBug) throw new TypeError("bug");
    if (failing !== undefined)
      throw new KubeError("failed", { code: failing, status: 0, explanation: "away" });
    if (method === "POST")
      return { status: 201, text: '{"kind":"Review","status":{"allowed":true}}' };
    const items = path.includes("/sharedsecrets") ? [sharedSecret] : [];
    return { status: 200, text: JSON.stringify({ kind: "List", items }) };
  };
  return {
    cluster: clusterOver({ request }, fakeChoice),
    failWith: (code) => void (failing = code),
    throwBug: () => void (hasBug = true),
  };
}
