import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "undici";
import type { Credentials } from "../../src/kube/credentials/credentials.ts";
import { loadCredentials } from "../../src/kube/credentials/load-credentials.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import {
  type Answer,
  arranging,
  type Ask,
  type Caller,
  connect,
  send,
} from "./cluster-connection.ts";
import { accountKubeconfig, type Account, type ServiceAccountLogin } from "./account-login.ts";
import type { StartedControlPlane } from "./control-plane.ts";
import { requesters } from "./actions.ts";
import {
  bindClusterRole,
  mayActAsAnyUser,
  postClusterRole,
  type Subject,
} from "./latchkey-objects.ts";
import { applyClusterAgentRbac, applyGatewayRbac } from "./install.ts";
import { awaitStamps, startPrepared } from "./install-latchkey.ts";

/**
 * A real control plane with Latchkey's CRDs, RBAC and policies, and without controllers except
 * those that a run starts.
 */
export interface ProxiedCluster {
  readonly controlPlane: StartedControlPlane;
  readonly credentials: Readonly<Record<Account | "admin", Credentials>>;
  /** The connections of all proxies to the API server. */
  readonly upstream: Pool;
  ask(caller: Caller, request: Ask): Promise<Answer>;
  /** Sends a request as the administrator; throws if it is rejected. */
  arrange(request: Ask): Promise<Answer>;
  stop(): Promise<void>;
}

/** The API group, the resource and the verbs of a rule. */
type Rule = readonly [group: string, resource: string, verbs: string];

/**
 * Starts it without a controller manager: there is no garbage collection, and no other writer.
 * Throws on an existing cluster.
 */
export async function startProxiedCluster(report: (line: string) => void): Promise<ProxiedCluster> {
  if (process.env.USE_EXISTING_CLUSTER === "true")
    throw new Error("faults need a control plane of their own");
  const { controlPlane, ...installation } = await startPrepared(report, {
    auditLog: false,
    controllerManager: false,
  });
  const connection = await connect(controlPlane.adminKubeconfig);
  const directory = mkdtempSync(join(controlPlane.directory, "faults-"));
  const ask = (caller: Caller, request: Ask) => send(connection, caller, request);
  const arrange = arranging(connection);
  const { stop: stopStamping } = await awaitStamps(controlPlane, installation);
  await applyGatewayRbac(controlPlane);
  await applyClusterAgentRbac(controlPlane);
  await allow(arrange);
  const logins: ServiceAccountLogin[] = [];
  const load = (kubeconfig: string) => loadCredentials({ kubeconfig, env: {} }, systemClock);
  const login = async (account: Account): Promise<Credentials> => {
    const made = await accountKubeconfig(controlPlane, { directory, account });
    logins.push(made);
    return load(made.kubeconfig);
  };
  const credentials = {
    "latchkey-controller": await login("latchkey-controller"),
    "latchkey-webhook": await login("latchkey-webhook"),
    "latchkey-gateway": await login("latchkey-gateway"),
    "latchkey-cluster-agent": await login("latchkey-cluster-agent"),
    admin: await load(controlPlane.adminKubeconfig),
  };
  const { server, tls } = credentials["latchkey-controller"];
  // One connection for many watches: handshakes would take most of the time of a run.
  const upstream = new Pool(server, {
    allowH2: true,
    // undici destroys an idle session with an error that one of its streams may throw.
    keepAliveTimeout: 600_000,
    connections: 8,
    pipelining: 100,
    connect: { ...tls },
  });
  const stop = async () => {
    for (const made of logins) made.close();
    // The last forwarded data may still be in flight: an HTTP/2 stream then emits an error without
    // a listener.
    process.on("uncaughtException", ignoreDestroyed);
    const isClosed = await Promise.race([
      upstream.close().then(() => true),
      pause(10_000, false, { ref: false }),
    ]);
    await Promise.all([isClosed ? undefined : upstream.destroy(), connection.pool.destroy()]);
    await stopStamping();
    await controlPlane.stop();
  };
  return { controlPlane, credentials, upstream, ask, arrange, stop };
}

/** An HTTP/2 stream without a reader reports its end as an uncaught exception. */
function ignoreDestroyed(error: Error): void {
  const ends = ["UND_ERR_DESTROYED", "UND_ERR_SOCKET"];
  if (!("code" in error) || !ends.includes(String(error.code))) throw error;
}

/**
 * Requesters may create tokens, and keys for any user; Latchkey may write its Leases, Secrets and
 * ConfigMaps in the own namespaces of many workers.
 */
async function allow(arrange: ProxiedCluster["arrange"]): Promise<void> {
  const give = async (name: string, subject: Subject, rules: readonly Rule[]) => {
    const asRules = rules.map(([group, resource, verbs]) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: verbs.split(" "),
    }));
    await arrange(postClusterRole(name, asRules));
    await arrange(bindClusterRole(name, name, [subject]));
  };
  const account = (name: Account): Subject => ({
    kind: "ServiceAccount",
    name,
    namespace: "latchkey-system",
  });
  const group = { kind: "Group", name: requesters } as const;
  await give("fault-own-objects", account("latchkey-controller"), [
    ["coordination.k8s.io", "leases", "create get update"],
    ["", "configmaps", "get list watch create patch delete"],
  ]);
  await give("fault-leases", account("latchkey-cluster-agent"), [
    ["coordination.k8s.io", "leases", "create get update"],
  ]);
  await give("fault-secrets", account("latchkey-webhook"), [
    ["", "secrets", "get list watch create update"],
  ]);
  await give("fault-config-maps", account("latchkey-gateway"), [
    ["", "configmaps", "get list watch patch"],
  ]);
  await arrange(bindClusterRole(requesters, "latchkey-requester", [group]));
  // In addition to Latchkey's grants: only the requester may change the identity of a key.
  await give("fault-requesters", group, [
    ["management.service", "ownedaccesskeys", "update delete"],
  ]);
  for (const request of mayActAsAnyUser(requesters)) await arrange(request);
}
