import { spawn } from "node:child_process";
import { join } from "node:path";

/** What it takes to run kubectl as one of the users of a control plane. */
export interface KubectlAccess {
  kubectl: string;
  kubeconfigs: Readonly<Record<string, string>>;
  directory: string;
}

/** As whom kubectl runs, and what it reads from standard input. */
export interface KubectlOptions {
  /** A user of the control plane; `admin` by default. */
  user?: string;
  input?: string;
  /** Variables beside the usual ones, such as `KUBE_FEATURE_...`. */
  env?: Readonly<Record<string, string>>;
}

/** What a run of kubectl left behind. */
export interface KubectlResult {
  /** Exit code; 1 is kubectl's answer to every refusal. */
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs kubectl and answers its standard output; throws with its standard error when it fails. */
export async function kubectl(
  access: KubectlAccess,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await tryKubectl(access, args, options);
  if (code !== 0)
    throw new Error(`kubectl ${args.join(" ")} (as ${options.user ?? "admin"}): ${stderr.trim()}`);
  return stdout;
}

/** Runs kubectl and answers how it went, for tests of what is refused. */
export function tryKubectl(
  access: KubectlAccess,
  args: readonly string[],
  { user = "admin", input = "", env = {} }: KubectlOptions = {},
): Promise<KubectlResult> {
  return new Promise((resolve, reject) => {
    const kubeconfig = access.kubeconfigs[user];
    if (kubeconfig === undefined)
      return reject(new Error(`the control plane has no user "${user}"`));
    const child = spawn(access.kubectl, args, {
      env: { ...environment(access, kubeconfig), ...env },
      stdio: "pipe",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, stdout, stderr }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/**
 * Ports come back in later runs, so discovery is not cached in the home directory; personal
 * settings stay out.
 */
function environment(access: KubectlAccess, kubeconfig: string): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return {
    PATH,
    HOME,
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: join(access.directory, "kubectl-cache"),
    KUBERC: "off",
  };
}
