import { dirname, join } from "node:path";
import { stableLayers } from "../../release/image/build-image.ts";
import { platforms } from "../../release/image/pins.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { bundle, clientBundle } from "../support/bundle.ts";
import type { BuildDeps } from "../support/cached-build.ts";
import { certManagerModule } from "../support/cert-manager.ts";
import { rendererModule } from "../support/chart-renderer.ts";
import { compiledClient } from "../support/compiled-client.ts";
import { controlPlaneModule, minors, nodeModule } from "../support/control-plane-module.ts";
import { debianPrograms, podRuntime } from "../support/debian-programs.ts";
import { execClientModule } from "../support/exec-client.ts";
import { kubeletModule } from "../support/fake-kubelet.ts";
import { buildModule, type GoModule } from "../support/go-module.ts";
import { luaModule } from "../support/health-scripts.ts";
import { helm3Module } from "../support/helm3.ts";
import { ImportClosure } from "./import-closure.ts";
import { repository } from "../support/install.ts";
import { kindConfigModule } from "../support/kind-config.ts";
import { operatorCrdsModule } from "../support/operator-crds.ts";
import { preparedEtcd } from "../support/prepared-etcd.ts";
import { pythonCommand } from "../support/python-packages.ts";
import { oracleModule } from "../support/request-info-oracle.ts";
import { readersModule } from "../support/text-readers.ts";
import { goOidcModule, pyJwtProgram } from "../support/token-verifiers.ts";
import { toolsModule } from "../support/tools.ts";

/** Something that tests need and that takes time to make: made once, before the first test. */
export interface Preparation {
  /** The name under which a test asks for it. */
  readonly name: string;
  /** The files whose importers are the tests that need it. */
  readonly usedThrough: readonly string[];
  /** Whether no test can run without it. */
  readonly isRequired?: true;
  /** Makes it unless it is cached; returns its directory. */
  readonly make: (deps: BuildDeps) => Promise<string>;
}

/** The programs of a test, and the files that it runs as processes of their own. */
const started: Readonly<Record<string, string>> = {
  "test/verify/dev-process.ts": "test/dev/main.ts",
  "test/verify/alone/pods.test.ts": "test/pods/main.ts",
  "test/verify/control-plane.test.ts": "test/verify/start-and-wait.ts",
};

const go = (module: GoModule, usedThrough: string): Preparation => ({
  name: module.name,
  usedThrough: [usedThrough],
  make: (deps) => buildModule(module, deps),
});

const debian = (packages: readonly string[], ...usedThrough: readonly string[]): Preparation => ({
  name: `Debian ${packages[0]}`,
  usedThrough,
  make: ({ report }) => debianPrograms(packages, report),
});

const image = (platform: (typeof platforms)[number]): Preparation => ({
  name: `image layers ${platform.name}`,
  usedThrough: ["release/image/build-image.ts"],
  make: ({ report }) => stableLayers(platform, report),
});

/**
 * Everything that is prepared, in this order, with the times on 2 cores in each row's own file; the
 * rows after the Lua of Argo CD are for `make verify` alone. A test needs a row if it imports the
 * file of the row, directly or through others.
 */
export const preparations: readonly Preparation[] = [
  {
    name: controlPlaneModule(process.env).name,
    usedThrough: ["test/support/binaries.ts"],
    isRequired: true,
    make: controlPlane,
  },
  {
    name: "etcd data",
    usedThrough: ["test/support/prepared-etcd.ts"],
    isRequired: true,
    make: etcdData,
  },
  {
    name: "bundle",
    usedThrough: ["test/support/bundle.ts"],
    make: async ({ report }) => dirname(await bundle(report)),
  },
  {
    name: "bundle of kubectl latchkey",
    usedThrough: ["test/support/bundle.ts"],
    make: async ({ report }) => dirname(await clientBundle(report)),
  },
  {
    name: "compiled client",
    usedThrough: ["test/support/compiled-client.ts"],
    make: async ({ report }) => dirname(await compiledClient(report)),
  },
  go(kubeletModule, "test/support/fake-kubelet.ts"),
  go(oracleModule, "test/support/request-info-oracle.ts"),
  go(rendererModule, "test/support/chart-renderer.ts"),
  go(readersModule, "test/support/text-readers.ts"),
  go(goOidcModule, "test/support/token-verifiers.ts"),
  {
    name: pyJwtProgram.name,
    usedThrough: ["test/support/token-verifiers.ts"],
    make: async (deps) => (await pythonCommand(pyJwtProgram, deps)).packages,
  },
  debian(["nginx", "libpcre2-8-0"], "test/support/nginx.ts"),
  go(operatorCrdsModule, "test/support/operator-crds.ts"),
  go(luaModule, "test/support/health-scripts.ts"),
  go(controlPlaneModule({ KUBERNETES_MINOR: minors[1] }), "test/verify/two-versions.test.ts"),
  go(execClientModule, "test/support/exec-client.ts"),
  go(toolsModule, "test/support/tools.ts"),
  go(helm3Module, "test/support/helm3.ts"),
  go(kindConfigModule, "test/support/kind-config.ts"),
  go(certManagerModule, "test/support/cert-manager.ts"),
  debian(["prometheus"], "test/verify/alerts.test.ts", "test/verify/prometheus.ts"),
  debian(["bubblewrap"], "test/verify/image-sandbox.ts"),
  ...platforms.map(image),
  go(nodeModule, "test/pods/main.ts"),
  debian(podRuntime, "test/pods/main.ts"),
];

/** The preparations that test files need; both with paths below the project. */
export function preparationsFor(files: readonly string[]): readonly Preparation[] {
  const closure = new ImportClosure();
  const inProject = (paths: readonly string[]) => paths.map((path) => join(repository, path));
  const own = closure.of(inProject(files));
  const programs = Object.keys(started).filter((path) => own.has(join(repository, path)));
  const all = closure.of([...own, ...inProject(programs.map((path) => started[path] ?? path))]);
  return preparations.filter(({ usedThrough }) => inProject(usedThrough).some((at) => all.has(at)));
}

async function controlPlane(deps: BuildDeps): Promise<string> {
  const source = await findOrBuildControlPlane(deps.report, deps.env);
  return source.kind === "binaries" ? dirname(source.etcd) : "";
}

async function etcdData(deps: BuildDeps): Promise<string> {
  const source = await findOrBuildControlPlane(deps.report, deps.env);
  return source.kind === "binaries" ? dirname(await preparedEtcd(source, deps)) : "";
}
