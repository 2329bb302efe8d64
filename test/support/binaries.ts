import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { controlPlaneModule } from "./control-plane-module.ts";
import { buildModule } from "./go-module.ts";
import { MissingError } from "./prepared.ts";

/** The programs of a dedicated control plane; envtest archives have no controller manager. */
export interface Binaries {
  kind: "binaries";
  etcd: string;
  apiServer: string;
  controllerManager?: string;
  kubectl: string;
}

/**
 * The source of a control plane: programs to start, or the cluster of the current kubeconfig
 * context.
 */
export type ControlPlaneSource = Binaries | { kind: "existing"; kubectl: string };

/** Prints one line about a slow step. */
export type Report = (line: string) => void;

const ways = `There is no control plane to test against. One of these gives one:
  * install Go (https://go.dev/dl) and run again: etcd, kube-apiserver and kubectl are built once
  * and kept; KUBEBUILDER_ASSETS=<directory with etcd, kube-apiserver and kubectl>;
  * USE_EXISTING_CLUSTER=true with a kubeconfig (kind create cluster makes a cluster and a
  * kubeconfig).`;

/**
 * Finds a control plane by USE_EXISTING_CLUSTER, KUBEBUILDER_ASSETS or Go, in this order, and
 * builds it if necessary.
 */
export async function findOrBuildControlPlane(
  report: Report,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ControlPlaneSource> {
  if (env.USE_EXISTING_CLUSTER === "true") return { kind: "existing", kubectl: kubectlOnPath() };
  if (env.KUBEBUILDER_ASSETS) return binariesIn(env.KUBEBUILDER_ASSETS);
  try {
    return binariesIn(await buildModule(controlPlaneModule(env), { report, env }));
  } catch (error) {
    if (error instanceof MissingError) throw new Error(ways, { cause: error });
    throw error;
  }
}

function binariesIn(directory: string): Binaries {
  const controllerManager = executable(join(directory, "kube-controller-manager"));
  return {
    kind: "binaries",
    etcd: required(directory, "etcd"),
    apiServer: required(directory, "kube-apiserver"),
    ...(controllerManager === undefined ? {} : { controllerManager }),
    kubectl: executable(join(directory, "kubectl")) ?? kubectlOnPath(),
  };
}

function required(directory: string, name: string): string {
  const found = executable(join(directory, name));
  if (found === undefined) throw new Error(`${directory} has no executable "${name}".\n${ways}`);
  return found;
}

function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

function kubectlOnPath(): string {
  try {
    return execFileSync("/bin/sh", ["-c", "command -v kubectl"], { encoding: "utf8" }).trim();
  } catch {
    throw new Error(`kubectl is not on PATH.\n${ways}`);
  }
}
