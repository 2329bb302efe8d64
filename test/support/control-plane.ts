import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControlPlaneSource } from "./binaries.ts";
import type { ControlPlane, User } from "./control-plane-handle.ts";
import { type AddApiServer, type Interrupt, startPrograms } from "./control-plane-start.ts";
import { useExistingCluster } from "./existing-cluster.ts";
import { Programs } from "./programs.ts";

/** A control plane; the caller that started it must stop it. */
export interface StartedControlPlane extends ControlPlane {
  /**
   * Stops the API server, the controller manager and etcd, in this order, and removes the directory
   * if it is temporary.
   */
  stop: () => Promise<void>;
  /** Restarts the API server with these additional flags; rejects on an existing cluster. */
  restartApiServer: (extraFlags: readonly string[]) => Promise<void>;
  /** Starts another API server on the same etcd; rejects on an existing cluster. */
  addApiServer: AddApiServer;
  /** The pid of `kube-apiserver` or another program; undefined on an existing cluster. */
  pidOf: (program: string) => number | undefined;
  /** Interrupts the control plane and restarts it; rejects on an existing cluster. */
  interrupt: Interrupt;
}

/** The options of a control plane. */
export interface ControlPlaneOptions {
  /** The directory of its files; a temporary directory by default. */
  directory?: string;
  /** The directory of the logs; `logs` in the directory by default. */
  logs?: string;
  /** Users in addition to `admin`; alice (devs, ops) and bob (devs) by default. */
  users?: readonly User[];
  /** Whether there is an audit log. */
  auditLog?: boolean;
  /** Flags of kube-apiserver; a later flag overrides an earlier one of its name. */
  extraApiServerFlags?: readonly string[];
  /** Called with a description if a program exits unexpectedly. */
  onDeath?: (what: string) => void;
  /** Whether its programs collect garbage as often as in a cluster, for measurements. */
  measured?: boolean;
  /** A data directory of which etcd gets a copy; empty by default. */
  etcdData?: string;
}

/** The default users of a control plane. */
export const defaultUsers: readonly User[] = [
  { name: "alice", groups: ["devs", "ops"] },
  { name: "bob", groups: ["devs"] },
];

const administrator: User = { name: "admin", groups: ["system:masters"] };

/** The serializable part of a control plane, for test workers. */
export function asData({
  stop: _stop,
  restartApiServer: _restart,
  addApiServer: _add,
  interrupt: _interrupt,
  pidOf: _pidOf,
  ...controlPlane
}: StartedControlPlane): ControlPlane {
  return controlPlane;
}

/**
 * Starts a control plane on free ports and waits until it serves; an existing cluster is only
 * connected to.
 */
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
    const controlPlane = await useExistingCluster(source.kubectl, {
      directory,
      logs,
      users: [administrator, ...users],
    });
    const restartApiServer = () =>
      Promise.reject(new Error("the API server of an existing cluster is not ours to restart"));
    const addApiServer = () =>
      Promise.reject(new Error("an existing cluster gets no API server from tests"));
    const interrupt = () => Promise.reject(new Error("an existing cluster is not ours to break"));
    return {
      ...controlPlane,
      stop: async () => forget(),
      restartApiServer,
      addApiServer,
      interrupt,
      pidOf: () => undefined,
    };
  }
  const programs = new Programs(logs, {
    ...(options.directory === undefined && { removeWithParent: directory }),
    ...(options.onDeath && { onDeath: options.onDeath }),
    // A fifth of the processor time, for memory that test machines have.
    ...(options.measured !== true && { env: { GOGC: "400" } }),
  });
  try {
    const settings = { ...options, directory, users: [administrator, ...users] };
    const { controlPlane, ...powers } = await startPrograms(source, programs, settings);
    const stop = async () => {
      await programs.stop();
      forget();
    };
    const pidOf = (program: string) => programs.pidOf(program);
    return { ...controlPlane, stop, pidOf, ...powers };
  } catch (error) {
    await programs.stop();
    throw error;
  }
}
