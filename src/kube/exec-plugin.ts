import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { recordAt, stringAt } from "../api/parse.ts";
import { errorCode } from "../runtime/error-code.ts";
import { CredentialsError, userFix } from "./credentials.ts";
import type { ExecPlugin } from "./kubeconfig-choice.ts";

/** What an exec plugin runs with. */
export interface ExecPluginDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the standard input is a terminal. */
  readonly isInteractive: boolean;
  /** The cluster for `KUBERNETES_EXEC_INFO`. */
  readonly cluster: object;
}

/** The credential that an exec plugin printed; certificates are PEM. */
export interface ExecCredential {
  readonly token: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/**
 * Runs the exec plugin of a kubeconfig and parses the ExecCredential that it prints (Kubernetes,
 * client-go credential plugins). Its standard error is that of this process. Rejects with a
 * CredentialsError, which does not quote what the plugin printed.
 */
export async function execCredential(
  plugin: ExecPlugin,
  deps: ExecPluginDeps,
): Promise<ExecCredential> {
  const printed = await outputOf(plugin, deps);
  const status = recordAt(parsed(printed, plugin), "status");
  const credential = {
    token: stringAt(status, "token"),
    cert: stringAt(status, "clientCertificateData"),
    key: stringAt(status, "clientKeyData"),
  };
  if (credential.token === undefined && credential.cert === undefined)
    throw new CredentialsError(
      `the exec plugin "${plugin.command}" of the kubeconfig printed no credential`,
      userFix,
    );
  return credential;
}

function outputOf(plugin: ExecPlugin, deps: ExecPluginDeps): Promise<string> {
  const { command, args, directory } = plugin;
  const interactive = plugin.mayAsk && deps.isInteractive;
  const info = {
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: { interactive, ...(plugin.wantsClusterInfo ? { cluster: deps.cluster } : {}) },
  };
  const env = {
    ...deps.env,
    ...Object.fromEntries(plugin.env),
    KUBERNETES_EXEC_INFO: JSON.stringify(info),
  };
  // As in client-go: a path starts at the kubeconfig, a name is looked up in PATH.
  const program = /[/\\]/.test(command) ? resolve(directory, command) : command;
  const { promise, resolve: fulfil, reject } = Promise.withResolvers<string>();
  const problem = (cause: string): CredentialsError =>
    new CredentialsError(`the exec plugin "${command}" of the kubeconfig ${cause}`, userFix);
  const child = spawn(program, args, {
    env,
    stdio: [interactive ? "inherit" : "ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.once("error", (error) =>
    reject(problem(`cannot be started: ${errorCode(error) ?? "unknown error"}`)),
  );
  child.once("close", (code, signal) =>
    code === 0
      ? fulfil(Buffer.concat(chunks).toString("utf8"))
      : reject(problem(`failed with ${signal ?? `exit code ${code}`}`)),
  );
  return promise;
}

function parsed(text: string, { command }: ExecPlugin): unknown {
  try {
    const content: unknown = JSON.parse(text);
    return content;
  } catch {
    throw new CredentialsError(
      `the exec plugin "${command}" of the kubeconfig did not print an ExecCredential`,
      userFix,
    );
  }
}
