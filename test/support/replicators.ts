import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { startTiedChild } from "./tied-child.ts";

/** Another controller that copies Secrets; its program is provided by the user. */
export interface Replicator {
  readonly name: string;
  /** The environment variable with the path of its program. */
  readonly variable: string;
  /** Annotations of a Secret to be copied into the namespaces that a label selector matches. */
  readonly copyTo: (selector: string) => Readonly<Record<string, string>>;
  /** The labels and annotations that it sets on copies. */
  readonly marks: { readonly labels: readonly string[]; readonly annotations: readonly string[] };
  readonly flags: (place: ReplicatorPlace) => readonly string[];
}

/** Where a replicator runs. */
export interface ReplicatorPlace {
  readonly kubeconfig: string;
  /** The port of its own server, on 127.0.0.1. */
  readonly port: number;
  /** A directory for its files. */
  readonly directory: string;
}

/** A running replicator. */
export interface RunningReplicator {
  readonly pid: number;
  readonly log: string;
  stop(): Promise<void>;
}

/** kubernetes-replicator (github.com/mittwald/kubernetes-replicator), for Secrets only. */
export const kubernetesReplicator: Replicator = {
  name: "kubernetes-replicator",
  variable: "KUBERNETES_REPLICATOR",
  copyTo: (selector) => ({ "replicator.v1.mittwald.de/replicate-to-matching": selector }),
  marks: {
    labels: [],
    annotations: ["replicated-at", "replicated-from-version", "replicated-keys"].map(
      (name) => `replicator.v1.mittwald.de/${name}`,
    ),
  },
  flags: ({ kubeconfig, port }) => [
    `--kubeconfig=${kubeconfig}`,
    `--status-addr=127.0.0.1:${port}`,
    "--replicate-configmaps=false",
    "--replicate-roles=false",
    "--replicate-role-bindings=false",
    "--replicate-service-accounts=false",
  ],
};

/** Config Syncer, formerly Kubed (github.com/config-syncer/config-syncer). */
export const configSyncer: Replicator = {
  name: "config-syncer",
  variable: "CONFIG_SYNCER",
  copyTo: (selector) => ({ "kubed.appscode.com/sync": selector }),
  marks: {
    labels: ["name", "namespace", "cluster"].map((name) => `kubed.appscode.com/origin.${name}`),
    annotations: ["kubed.appscode.com/origin"],
  },
  flags: ({ kubeconfig, port, directory }) => [
    "run",
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--authentication-skip-lookup",
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${directory}`,
  ],
};

/** The replicators that tests and benchmarks compare Latchkey with. */
export const replicators: readonly Replicator[] = [kubernetesReplicator, configSyncer];

/** The program of a replicator, or why there is none. */
export function programOf(
  { name, variable }: Replicator,
  env: NodeJS.ProcessEnv,
): { readonly program: string } | { readonly missing: string } {
  const program = env[variable];
  if (!program) return { missing: `set ${variable} to the path of the program ${name}` };
  return existsSync(program) ? { program } : { missing: `${variable}: ${program} does not exist` };
}

/** Starts a replicator as the user of a kubeconfig; it ends with this process. */
export async function startReplicator(
  { flags, name }: Replicator,
  program: string,
  kubeconfig: string,
): Promise<RunningReplicator> {
  const directory = mkdtempSync(join(tmpdir(), `latchkey-${name}-`));
  const log = join(directory, `${name}.log`);
  const port = await freePort();
  const child = startTiedChild([program, ...flags({ kubeconfig, port, directory })], {
    log,
    cwd: directory,
    removeWithParent: directory,
  });
  return {
    pid: child.pid,
    log,
    async stop() {
      await child.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
