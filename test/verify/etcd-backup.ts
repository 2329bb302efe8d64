import { cpSync, rmSync } from "node:fs";
import type { StartedControlPlane } from "../support/control-plane.ts";

/** What is stopped while the data of etcd is replaced; kube-apiserver, too, unless it is `etcd`. */
type Interrupted = Parameters<StartedControlPlane["interrupt"]>[0];

/** A copy of the data of etcd, which a control plane returns to. */
export interface EtcdBackup {
  save(interrupted?: Interrupted): Promise<void>;
  restore(interrupted?: Interrupted): Promise<void>;
}

/** The backup of a control plane, in its directory; empty until `save`. */
export function etcdBackup(
  controlPlane: Pick<StartedControlPlane, "directory" | "interrupt">,
): EtcdBackup {
  const saved = `${controlPlane.directory}/etcd-saved`;
  const replace = (to: string, from: string): void => {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
  };
  return {
    save: (interrupted = "both") =>
      controlPlane.interrupt(interrupted, async (data) => replace(saved, data)),
    restore: (interrupted = "both") =>
      controlPlane.interrupt(interrupted, async (data) => replace(data, saved)),
  };
}
