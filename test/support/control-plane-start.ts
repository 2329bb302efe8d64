import { generateKeyPairSync, randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, fetch } from "undici";
import type { Binaries } from "./binaries.ts";
import { kubeconfigFor, type ControlPlane, type User } from "./control-plane-handle.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { writeKubeconfig, type KubeconfigCluster } from "./kubeconfig.ts";
import { loopbackHost } from "./loopback.ts";
import { apiServerFlags, auditPolicy, controllerManagerFlags, etcdFlags } from "./program-flags.ts";
import type { Programs } from "./programs.ts";

/** The settings of a control plane; the first user is the administrator. */
export interface StartSettings {
  directory: string;
  users: readonly User[];
  auditLog?: boolean;
  extraApiServerFlags?: readonly string[];
  etcdData?: string;
}

/** The running programs, and a function that restarts the API server. */
export interface StartedPrograms {
  controlPlane: ControlPlane;
  /** Restarts it on its port with these additional flags, and waits until it serves. */
  restartApiServer: (extraFlags: readonly string[]) => Promise<void>;
  addApiServer: AddApiServer;
  interrupt: Interrupt;
}

/**
 * Kills kube-apiserver, etcd or both (kill -9), runs `work` with etcd's data directory, restarts
 * them and waits until kube-apiserver is ready.
 */
export type Interrupt = (
  down: "kube-apiserver" | "etcd" | "both",
  work: (etcdData: string) => Promise<void>,
) => Promise<void>;

/**
 * Starts another kube-apiserver on the same etcd with these additional flags; default: the same
 * program.
 */
export type AddApiServer = (
  extraFlags?: readonly string[],
  program?: string,
) => Promise<AddedApiServer>;

/** Another kube-apiserver on the same etcd, with the same users, and an audit log of its own. */
export interface AddedApiServer extends ControlPlane {
  /**
   * Sends it a signal: between SIGSTOP and SIGCONT it receives no updates, as with a slow network.
   */
  signal: (signal: NodeJS.Signals) => void;
}

const controllerManager: User = { name: "system:kube-controller-manager", groups: [] };

/**
 * Starts etcd, kube-apiserver and, if available, kube-controller-manager; each after the previous
 * one serves.
 */
export async function startPrograms(
  binaries: Binaries,
  programs: Programs,
  settings: StartSettings,
): Promise<StartedPrograms> {
  const { directory, users } = settings;
  const { [controllerManager.name]: managerToken = "", ...tokens } = writeUsers(directory, [
    ...users,
    controllerManager,
  ]);
  const { cluster, audit, restart, add, startEtcd, startServer } = await startApiServer(
    binaries,
    programs,
    settings,
  );
  const kubeconfigs = writeKubeconfigs(directory, cluster, tokens);
  const controlPlane: ControlPlane = {
    kind: "own",
    ...cluster,
    kubectl: binaries.kubectl,
    adminKubeconfig: kubeconfigFor({ kubeconfigs }, users[0]?.name ?? ""),
    kubeconfigs,
    tokens,
    ...(audit !== undefined && { auditLogPath: audit }),
    hasControllerManager: binaries.controllerManager !== undefined,
    directory,
    logs: programs.logs,
  };
  await programs.whileAlive(apiServerReady(controlPlane));
  if (binaries.controllerManager !== undefined) {
    const kubeconfig = join(directory, "kube-controller-manager.kubeconfig");
    writeKubeconfig(kubeconfig, cluster, { [controllerManager.name]: { token: managerToken } });
    programs.run(
      "kube-controller-manager",
      binaries.controllerManager,
      controllerManagerFlags(directory, kubeconfig),
    );
    await programs.whileAlive(serviceAccountsReady(controlPlane));
  }
  const restartApiServer = async (extraFlags: readonly string[]) => {
    await restart(extraFlags);
    await programs.whileAlive(apiServerReady(controlPlane));
  };
  const addApiServer: AddApiServer = async (extraFlags = [], program = binaries.apiServer) => {
    const name = "kube-apiserver-2";
    const added = await add({ name, program }, extraFlags);
    const kubeconfigs = writeKubeconfigs(added.directory, added.cluster, tokens);
    const server: ControlPlane = {
      ...controlPlane,
      ...added.cluster,
      kubeconfigs,
      directory: added.directory,
      adminKubeconfig: kubeconfigFor({ kubeconfigs }, users[0]?.name ?? ""),
      ...(added.audit !== undefined && { auditLogPath: added.audit }),
    };
    await programs.whileAlive(apiServerReady(server));
    return { ...server, signal: (signal: NodeJS.Signals) => programs.signal(name, signal) };
  };
  const interrupt: Interrupt = async (down, work) => {
    if (down !== "etcd") await programs.kill("kube-apiserver");
    if (down !== "kube-apiserver") await programs.kill("etcd");
    await work(join(directory, "etcd"));
    if (down !== "kube-apiserver") startEtcd();
    if (down !== "etcd") startServer();
    await programs.whileAlive(apiServerReady(controlPlane));
  };
  return { controlPlane, restartApiServer, addApiServer, interrupt };
}

interface StartedApiServer {
  add: (
    server: { readonly name: string; readonly program: string },
    extraFlags: readonly string[],
  ) => Promise<{
    readonly cluster: KubeconfigCluster;
    readonly directory: string;
    readonly audit: string | undefined;
  }>;
  cluster: KubeconfigCluster;
  audit: string | undefined;
  restart: (extraFlags: readonly string[]) => Promise<void>;
  startEtcd: () => void;
  startServer: () => void;
}

async function startApiServer(
  binaries: Binaries,
  programs: Programs,
  { directory, auditLog = true, extraApiServerFlags = [], etcdData }: StartSettings,
): Promise<StartedApiServer> {
  const data = join(directory, "etcd");
  if (etcdData !== undefined) cpSync(etcdData, data, { recursive: true });
  writeServiceAccountKeys(directory);
  writeFileSync(join(directory, "audit-policy.json"), auditPolicy);
  const audit = auditLog ? join(programs.logs, "audit.log") : undefined;
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const startEtcd = () =>
    programs.run("etcd", binaries.etcd, etcdFlags({ data, port: etcdPort, peerPort }));
  startEtcd();
  const flags = (more: readonly string[]) =>
    apiServerFlags({ directory, etcdPort, port, audit }, [...extraApiServerFlags, ...more]);
  const startServer = () => programs.run("kube-apiserver", binaries.apiServer, flags([]));
  startServer();
  const certificateAuthority = await programs.whileAlive(
    certificate(join(directory, "certificates")),
  );
  const auditOf = (name: string) => join(programs.logs, `${name}-audit.log`);
  const restart = (more: readonly string[]) =>
    programs.restart("kube-apiserver", binaries.apiServer, flags(more));
  const add: StartedApiServer["add"] = async ({ name, program }, extraFlags) => {
    const own = join(directory, name);
    const certificates = join(own, "certificates");
    mkdirSync(certificates, { recursive: true });
    const addedPort = await freePort();
    programs.run(
      name,
      program,
      flags([
        `--secure-port=${addedPort}`,
        `--cert-dir=${certificates}`,
        ...(audit === undefined ? [] : [`--audit-log-path=${auditOf(name)}`]),
        ...extraFlags,
      ]),
    );
    return {
      directory: own,
      audit: audit === undefined ? undefined : auditOf(name),
      cluster: {
        url: `https://${loopbackHost}:${addedPort}`,
        certificateAuthority: await programs.whileAlive(certificate(certificates)),
      },
    };
  };
  return {
    cluster: { url: `https://${loopbackHost}:${port}`, certificateAuthority },
    audit,
    restart,
    add,
    startEtcd,
    startServer,
  };
}

function writeUsers(directory: string, users: readonly User[]): Record<string, string> {
  const tokens = Object.fromEntries(
    users.map(({ name }) => [name, randomBytes(24).toString("base64url")]),
  );
  const lines = users.map(
    ({ name, groups }) => `${tokens[name]},${name},${name},"${groups.join(",")}"\n`,
  );
  writeFileSync(join(directory, "users.csv"), lines.join(""), { mode: 0o600 });
  return tokens;
}

function writeServiceAccountKeys(directory: string): void {
  const { privateKey, publicKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "sec1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  writeFileSync(join(directory, "service-account.key"), privateKey, { mode: 0o600 });
  writeFileSync(join(directory, "service-account.pub"), publicKey);
}

function writeKubeconfigs(
  directory: string,
  cluster: KubeconfigCluster,
  tokens: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tokens).map(([name, token]) => {
      const path = join(directory, `${name.replaceAll(/[^\w.-]/g, "_")}.kubeconfig`);
      writeKubeconfig(path, cluster, { [name]: { token } });
      return [name, path];
    }),
  );
}

/** The API server generates its certificate at its first start; the file also contains the CA. */
function certificate(directory: string): Promise<string> {
  const path = join(directory, "apiserver.crt");
  const look = () =>
    existsSync(path) && existsSync(path.replace(/crt$/, "key")) && readFileSync(path, "utf8");
  return eventually(look, { what: "kube-apiserver's certificate", every: 50 });
}

function apiServerReady(controlPlane: ControlPlane): Promise<void> {
  return serves(controlPlane, ["/readyz"], "kube-apiserver to be ready");
}

function serviceAccountsReady(controlPlane: ControlPlane): Promise<void> {
  const paths = ["serviceaccounts/default", "configmaps/kube-root-ca.crt"];
  return serves(
    controlPlane,
    paths.map((path) => `/api/v1/namespaces/default/${path}`),
    "the default namespace's service account",
  );
}

/** Waits until the API server answers 200 to the administrator, without a process for each look. */
async function serves(
  { url, certificateAuthority, tokens }: ControlPlane,
  paths: readonly string[],
  what: string,
): Promise<void> {
  const dispatcher = new Agent({ connect: { ca: certificateAuthority } });
  const headers = { authorization: `Bearer ${tokens.admin}` };
  const isServed = async (path: string) => {
    const { ok, body } = await fetch(url + path, {
      dispatcher,
      headers,
      signal: AbortSignal.timeout(10_000),
    });
    await body?.cancel();
    return ok;
  };
  const look = async () => (await Promise.all(paths.map(isServed))).every(Boolean);
  try {
    await eventually(look, { what });
  } finally {
    await dispatcher.destroy();
  }
}
