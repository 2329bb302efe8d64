import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControlPlaneSource } from "./binaries.ts";
import type { ControlPlane, User } from "./control-plane-handle.ts";
import { type AddedApiServer, type Interrupt, startPrograms } from "./control-plane-start.ts";
import { useExistingCluster } from "./existing-cluster.ts";
import { Programs } from "./programs.ts";

/** A control plane; its starter must stop it. */
export interface StartedControlPlane extends ControlPlane {
  /**
   * Stops the API server, the controller manager and etcd, in this order, and removes a directory
   * of our making.
   */
  stop: () => Promise<void>;
  /**
   * Starts the API server again with these flags beside the first ones; rejects on an existing
   * cluster.
   */
  restartApiServer: (extraFlags: readonly string[]) => Promise<void>;
  /** Starts another API server on the same etcd; rejects on an existing cluster. */
  addApiServer: () => Promise<AddedApiServer>;
  /** Breaks the control plane and mends it; rejects on an existing cluster. */
  interrupt: Interrupt;
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
  /** Told in words of a program that ends before it is asked to. */
  onDeath?: (what: string) => void;
}

/** The default users of a control plane. */
export const defaultUsers: readonly User[] = [
  { name: "alice", groups: ["devs", "ops"] },
  { name: "bob", groups: ["devs"] },
];

const administrator: User = { name: "admin", groups: ["system:masters"] };

/** What of a control plane can be handed to test workers. */
export function asData({
  stop: _stop,
  restartApiServer: _restart,
  addApiServer: _add,
  interrupt: _interrupt,
  ...controlPlane
}: StartedControlPlane): ControlPlane {
  return controlPlane;
}

/**
 * Starts a control plane on free ports and waits until it serves; an existing cluster is only
 * looked up.
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
    };
  }
  const programs = new Programs(logs, {
    ...(options.directory === undefined && { removeWithParent: directory }),
    ...(options.onDeath && { onDeath: options.onDeath }),
  });
  try {
    const settings = { ...options, directory, users: [administrator, ...users] };
    const { controlPlane, ...powers } = await startPrograms(source, programs, settings);
    const stop = async () => {
      await programs.stop();
      forget();
    };
    return { ...controlPlane, stop, ...powers };
  } catch (error) {
    await programs.stop();
    throw error;
  }
}
