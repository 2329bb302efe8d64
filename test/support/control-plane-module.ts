import { execFileSync } from "node:child_process";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { goEnv, type GoModule } from "./go-module.ts";

const newest = "1.37";
/** The Go module of each supported minor version (docs/compatibility.md); the newest is the default. */
const modules: ReadonlyMap<string, string> = new Map([
  [newest, "controlplane"],
  ["1.36", "controlplane-1.36"],
  ["1.35", "controlplane-1.35"],
]);

/** The supported minor versions, the newest first. */
export const minors: readonly string[] = [...modules.keys()];

/**
 * The programs of the control plane that KUBERNETES_MINOR selects: etcd, kube-apiserver,
 * kube-controller-manager and kubectl; throws for an unsupported version.
 */
export function controlPlaneModule({ KUBERNETES_MINOR }: NodeJS.ProcessEnv): GoModule {
  const minor = KUBERNETES_MINOR || newest;
  const module = modules.get(minor);
  if (module === undefined)
    throw new Error(
      `KUBERNETES_MINOR=${minor} is not supported; must be one of ${minors.join(", ")}`,
    );
  const directory = join(import.meta.dirname, module);
  return {
    directory,
    name: minor === newest ? "control plane" : `control plane ${minor}`,
    takes: "5 minutes",
    packages: "tool",
    linkerFlags: (env) => versionFlags(kubernetesVersion(directory, env)),
    finish: (programs) => renameSync(join(programs, "server"), join(programs, "etcd")),
  };
}

/** The programs of a node with pods, kubelet and kube-scheduler, in the newest of these versions. */
export const nodeModule: GoModule = {
  directory: join(import.meta.dirname, "node-programs"),
  name: "kubelet and scheduler",
  takes: "4 minutes",
  packages: "tool",
  linkerFlags: (env) => versionFlags(kubernetesVersion(nodeModule.directory, env)),
};

/**
 * Read from the module, so that it cannot differ from the build; this also downloads the
 * dependencies.
 */
function kubernetesVersion(directory: string, env: NodeJS.ProcessEnv): string {
  const query = ["list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes"];
  return execFileSync("go", query, {
    cwd: directory,
    env: goEnv(env),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  }).trim();
}

/** Without both versions, kubectl cannot parse the server's version. */
function versionFlags(version: string): readonly string[] {
  const packages = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];
  return packages.map((name) => `-X ${name}.gitVersion=${version}`);
}
