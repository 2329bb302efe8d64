/*
 * `make kind`: a kind cluster with the image and the chart of these sources, whose kube-apiserver
 * accepts access keys. Needs docker, kind, helm and kubectl.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { eventually } from "../../test/support/eventually.ts";
import { repository } from "../../test/support/install.ts";

const context = "--context=kind-latchkey";
/** Mounted into the node by config/kind/cluster.yaml: what kube-apiserver reads. */
const files = join("dist", "kind");
const archive = join("dist", "kind-image.tar");

function run(program: string, ...args: readonly string[]): void {
  process.stdout.write(`$ ${[program, ...args].join(" ")}\n`);
  execFileSync(program, args, { cwd: repository, stdio: "inherit" });
}

/** Whether kubectl succeeds; throws with what it says. */
function applied(args: readonly string[]): true {
  const { status, stdout, stderr } = spawnSync("kubectl", args, {
    cwd: repository,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  process.stdout.write(stdout);
  return true;
}

/** Ends kube-apiserver, and returns when it has ended: the kubelet starts it again. */
const endApiServer =
  'pid=$(pgrep --exact kube-apiserver) && kill "$pid" && tail --pid="$pid" --follow /dev/null';

async function startCluster(): Promise<void> {
  run("npm", "run", "--silent", "image");
  run("npm", "run", "--silent", "chart");
  rmSync(join(repository, files), { recursive: true, force: true });
  cpSync(join(repository, "config", "kind", "first-start"), join(repository, files), {
    recursive: true,
  });
  run("kind", "create", "cluster", "--config=config/kind/cluster.yaml", "--wait=3m");
  run("tar", "-cf", archive, "-C", "dist/image", ".");
  run("kind", "load", "image-archive", archive, "--name=latchkey");
  run(
    ...["helm", "install", "latchkey", `dist/charts/latchkey-${latchkeyVersion}.tgz`],
    ...["--namespace=latchkey-system", "--create-namespace", "--wait"],
    "--kube-context=kind-latchkey",
  );
  const trust = ["trust-config", "--authorization", `--output=${files}`, context];
  run(process.execPath, join("src", "cli", "kubectl", "main.ts"), ...trust);
  run("docker", "exec", "latchkey-control-plane", "sh", "-c", endApiServer);
  const samples = ["apply", "--server-side", "--kustomize=config/samples", context];
  await eventually(() => applied(samples), { what: "kube-apiserver to start again" });
}

const wanted = ["docker", "kind", "helm", "kubectl"];
const missing = wanted.filter((name) => spawnSync(name, ["--help"]).error !== undefined);
if (missing.length > 0) {
  const names = missing.join(", ");
  process.stderr.write(`make kind: ${names}: not found on PATH; \`make dev\` needs none of them\n`);
  process.exit(1);
}
await startCluster();
process.stdout.write(`Latchkey is ready. Next:
  kubectl ${context} get sharedsecrets,ownedaccesskeys --all-namespaces
  kind delete cluster --name latchkey
`);
