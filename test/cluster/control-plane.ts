import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Binaries, ControlPlaneSource } from "./binaries.ts";
import { eventually } from "./eventually.ts";
import { useExistingCluster } from "./existing-cluster.ts";
import { freePort } from "./free-port.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { kubectl } from "./kubectl.ts";
import { apiServerFlags, auditPolicy, controllerManagerFlags, etcdFlags } from "./program-flags.ts";
import { describeExit, logTail, startTiedChild, type TiedChild } from "./tied-child.ts";

/** A user who can log in; `admin` (in system:masters) is always there. */
export interface User {
  name: string;
  groups: readonly string[];
}

/** Everything a test needs to reach a control plane: plain data, so that it can be handed to test workers. */
export interface ControlPlane {
  kind: "own" | "existing";
  url: string;
  /** PEM text. */
  certificateAuthority: string;
  /** Path of the kubectl to use. */
  kubectl: string;
  /** Path of the kubeconfig whose user is an administrator. */
  adminKubeconfig: string;
  /** Paths by user name, `admin` included. */
  kubeconfigs: Readonly<Record<string, string>>;
  /** Bearer tokens by user name; empty on an existing cluster, where users are impersonated. */
  tokens: Readonly<Record<string, string>>;
  /** JSON lines at level Metadata; absent on an existing cluster. */
  auditLogPath?: string;
  /** False where garbage collection, namespace deletion and service account tokens do not work. */
  hasControllerManager: boolean;
  /** Kubeconfigs, certificates, keys and data are in here. */
  directory: string;
  /** One log file per program is in here. */
  logs: string;
}

/** A control plane that whoever started it must stop. */
export interface StartedControlPlane extends ControlPlane {
  /** Stops the API server, the controller manager and etcd, in this order, and removes a directory of our making. */
  stop: () => Promise<void>;
}

/** What can be chosen about a control plane. */
export interface ControlPlaneOptions {
  /** Where it keeps its files; a temporary directory unless given. */
  directory?: string;
  /** Where the logs go; `logs` in the directory unless given. */
  logs?: string;
  /** Users beside `admin`; alice (devs, ops) and bob (devs) unless given. */
  users?: readonly User[];
  /** False for no audit log. */
  auditLog?: boolean;
  /** Flags of kube-apiserver; a later flag overrides an earlier one of its name. */
  extraApiServerFlags?: readonly string[];
}

/** The users of a control plane when nobody says otherwise. */
export const defaultUsers: readonly User[] = [
  { name: "alice", groups: ["devs", "ops"] },
  { name: "bob", groups: ["devs"] },
];

const administrator: User = { name: "admin", groups: ["system:masters"] };
const controllerManager: User = { name: "system:kube-controller-manager", groups: [] };

/** Starts a control plane on free ports and waits until it serves; an existing cluster is only looked up. */
export async function startControlPlane(
  source: ControlPlaneSource,
  options: ControlPlaneOptions = {},
): Promise<StartedControlPlane> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "latchkey-"));
  const logs = options.logs ?? join(directory, "logs");
  mkdirSync(logs, { recursive: true });
  const users = options.users ?? defaultUsers;
  const forget = () => {
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
  };
  if (source.kind === "existing") {
    const controlPlane = await useExistingCluster(source.kubectl, { directory, logs, users: [administrator, ...users] });
    return { ...controlPlane, stop: async () => forget() };
  }
  const children: TiedChild[] = [];
  const stop = async () => {
    await stopInOrder(children);
    forget();
  };
  try {
    const controlPlane = await startPrograms(source, children, { ...options, directory, logs, users });
    return { ...controlPlane, stop };
  } catch (error) {
    await stopInOrder(children);
    throw error;
  }
}

/** The path of a user's kubeconfig; throws for a user the control plane does not have. */
export function kubeconfigFor(controlPlane: Pick<ControlPlane, "kubeconfigs">, user: string): string {
  const path = controlPlane.kubeconfigs[user];
  if (path === undefined) throw new Error(`the control plane has no user "${user}"`);
  return path;
}

type StartOptions = ControlPlaneOptions & Required<Pick<ControlPlaneOptions, "directory" | "logs" | "users">>;

async function startPrograms(binaries: Binaries, children: TiedChild[], options: StartOptions): Promise<ControlPlane> {
  const { directory, logs } = options;
  const run = (name: string, program: string, flags: readonly string[], removeWithParent?: string) => {
    const log = join(logs, `${name}.log`);
    const child = startTiedChild([program, ...flags], { log, ...(removeWithParent && { removeWithParent }) });
    children.push(child);
    return { name, log, child };
  };
  const tokens = writeUsers(directory, [administrator, ...options.users, controllerManager]);
  writeServiceAccountKeys(directory);
  writeFileSync(join(directory, "audit-policy.json"), auditPolicy);
  const audit = options.auditLog === false ? undefined : join(logs, "audit.log");
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];

  const data = join(directory, "etcd");
  const etcd = run("etcd", binaries.etcd, etcdFlags({ data, port: etcdPort, peerPort }), data);
  const apiServer = run("kube-apiserver", binaries.apiServer, [
    ...apiServerFlags({ directory, etcdPort, port, audit }),
    ...(options.extraApiServerFlags ?? []),
  ]);
  const cluster = {
    url: `https://127.0.0.1:${port}`,
    certificateAuthority: await orDeath([etcd, apiServer], certificate(directory)),
  };
  const kubeconfigs = writeKubeconfigs(directory, cluster, tokens);
  const { [controllerManager.name]: managerToken = "", ...userTokens } = tokens;
  const controlPlane: ControlPlane = {
    kind: "own",
    ...cluster,
    kubectl: binaries.kubectl,
    adminKubeconfig: kubeconfigFor({ kubeconfigs }, administrator.name),
    kubeconfigs,
    tokens: userTokens,
    ...(audit !== undefined && { auditLogPath: audit }),
    hasControllerManager: binaries.controllerManager !== undefined,
    directory,
    logs,
  };
  await orDeath([etcd, apiServer], apiServerReady(controlPlane));
  if (binaries.controllerManager !== undefined) {
    const kubeconfig = join(directory, "kube-controller-manager.kubeconfig");
    writeKubeconfig(kubeconfig, cluster, { [controllerManager.name]: { token: managerToken } });
    const flags = controllerManagerFlags(directory, kubeconfig);
    const manager = run("kube-controller-manager", binaries.controllerManager, flags);
    await orDeath([etcd, apiServer, manager], serviceAccountsReady(controlPlane));
  }
  return controlPlane;
}

/**
 * Started as etcd, API server, controller manager. An API server without etcd hangs in its shutdown, and one with open
 * watches waits for their clients: so the controller manager goes with it, and strangers get two seconds.
 */
async function stopInOrder([etcd, apiServer, manager]: readonly TiedChild[]): Promise<void> {
  await Promise.all([apiServer?.stop(2_000), manager?.stop(2_000)]);
  await etcd?.stop();
}

function writeUsers(directory: string, users: readonly User[]): Record<string, string> {
  const tokens = Object.fromEntries(users.map(({ name }) => [name, randomBytes(24).toString("base64url")]));
  const lines = users.map(({ name, groups }) => `${tokens[name]},${name},${name},"${groups.join(",")}"\n`);
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
  cluster: Pick<ControlPlane, "url" | "certificateAuthority">,
  tokens: Readonly<Record<string, string>>,
): Record<string, string> {
  const people = Object.entries(tokens).filter(([name]) => name !== controllerManager.name);
  return Object.fromEntries(
    people.map(([name, token]) => {
      const path = join(directory, `${name.replaceAll(/[^\w.-]/g, "_")}.kubeconfig`);
      writeKubeconfig(path, cluster, { [name]: { token } });
      return [name, path];
    }),
  );
}

/** The API server makes its own certificate at its first start; the file holds the CA too. */
function certificate(directory: string): Promise<string> {
  const path = join(directory, "certificates", "apiserver.crt");
  const look = () => existsSync(path) && existsSync(path.replace(/crt$/, "key")) && readFileSync(path, "utf8");
  return eventually(look, { what: "kube-apiserver's certificate", every: 50 });
}

async function apiServerReady(controlPlane: ControlPlane): Promise<void> {
  const ready = async () => (await kubectl(controlPlane, ["get", "--raw", "/readyz"])) === "ok";
  await eventually(ready, { what: "kube-apiserver to be ready" });
}

async function serviceAccountsReady(controlPlane: ControlPlane): Promise<void> {
  const look = async () => kubectl(controlPlane, ["get", "serviceaccount/default", "configmap/kube-root-ca.crt"]);
  await eventually(look, { what: "the default namespace's service account" });
}

interface NamedChild {
  name: string;
  log: string;
  child: TiedChild;
}

/** Waits for work that cannot succeed once one of the programs has died; says which one, and its last words. */
async function orDeath<T>(children: readonly NamedChild[], work: Promise<T>): Promise<T> {
  const deaths = children.map(async ({ name, log, child }): Promise<never> => {
    const exit = await child.exited;
    throw new Error(`${name} died while starting: ${describeExit(exit)}; the log is ${log}\n${logTail(log)}`);
  });
  for (const death of deaths) death.catch(() => {});
  work.catch(() => {});
  return Promise.race([work, ...deaths]);
}
