import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildModule, goEnv, type GoModule } from "./go-module.ts";
import { startTiedChild, type TiedChild } from "./tied-child.ts";

const kinds = ["certificaterequests", "certificates", "clusterissuers", "issuers"];

/** cert-manager's own controllers of Certificates, and its CRDs. */
export const certManagerModule: GoModule = {
  directory: join(import.meta.dirname, "cert-manager"),
  name: "cert-manager",
  takes: "5 minutes",
  packages: ".",
  finish: (programs) => writeFileSync(join(programs, "crds.yaml"), crds()),
};

/** cert-manager, built. */
export interface CertManager {
  /** The file of its CRDs. */
  readonly crds: string;
  /** Starts its controllers as the user of a kubeconfig; they end with this process. */
  readonly start: (kubeconfig: string, log: string) => Pick<TiedChild, "stop">;
}

/** Finds cert-manager, and builds it if necessary. */
export async function findOrBuildCertManager(report: (line: string) => void): Promise<CertManager> {
  const programs = await buildModule(certManagerModule, { report });
  return {
    crds: join(programs, "crds.yaml"),
    start: (kubeconfig, log) =>
      startTiedChild([join(programs, "cert-manager"), kubeconfig], { log }),
  };
}

/** The CRDs in the version that the controllers are built from. */
function crds(): string {
  const { directory: cwd } = certManagerModule;
  const named = ["list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager"];
  const module = execFileSync("go", named, { cwd, env: goEnv(process.env), encoding: "utf8" });
  const pathOf = (kind: string) =>
    join(module.trim(), "deploy", "crds", `cert-manager.io_${kind}.yaml`);
  return kinds.map((kind) => `---\n${readFileSync(pathOf(kind), "utf8")}`).join("");
}
