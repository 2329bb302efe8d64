import { spawn } from "node:child_process";
import { join } from "node:path";

/** The settings with which kubectl runs as one of the users of a control plane. */
export interface KubectlAccess {
  kubectl: string;
  kubeconfigs: Readonly<Record<string, string>>;
  directory: string;
}

/** The user and the standard input of kubectl. */
export interface KubectlOptions {
  /** A user of the control plane; `admin` by default. */
  user?: string;
  input?: string;
  /** Additional variables, such as `KUBE_FEATURE_...`. */
  env?: Readonly<Record<string, string>>;
}

/** The result of a run of kubectl. */
export interface KubectlResult {
  /** Exit code; kubectl returns 1 for every rejected request. */
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs kubectl and returns its standard output; throws with its standard error if it fails. */
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

/** Runs kubectl and returns its result, for tests of rejected requests. */
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
 * Ports are reused in later runs, so discovery is not cached in the home directory; personal
 * settings are not used.
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
