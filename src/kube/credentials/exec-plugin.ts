import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { recordAt, stringAt } from "../../api/parse.ts";
import { errorCode, mostFileBytes } from "../../runtime/read-text-file.ts";
import { CredentialsError, userFix } from "./credentials.ts";
import type { ExecPlugin } from "./kubeconfig.ts";

/** What an exec plugin runs with. */
interface ExecPluginDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the standard input is a terminal. */
  readonly isInteractive: boolean;
  /** The cluster for `KUBERNETES_EXEC_INFO`. */
  readonly cluster: object;
}

/** The credential that an exec plugin printed; certificates are PEM. */
export interface ExecCredential {
  readonly token: string | undefined;
  /** Milliseconds since the epoch; Infinity if it does not expire. */
  readonly expiresAt: number;
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
    expiresAt: Date.parse(stringAt(status, "expirationTimestamp") ?? "") || Infinity,
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

/** A plugin may wait until a person has logged in. */
const mostMinutes = 10;
const tooMuch =
  `did not end within ${mostMinutes} minutes, ` + `or printed more than ${mostFileBytes} bytes`;

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
    timeout: mostMinutes * 60_000,
  });
  const chunks: Buffer[] = [];
  let length = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > mostFileBytes) child.kill();
  });
  child.once("error", (error) =>
    reject(problem(`cannot be started: ${errorCode(error) ?? "unknown error"}`)),
  );
  child.once("close", (code, signal) =>
    code === 0
      ? fulfil(Buffer.concat(chunks).toString("utf8"))
      : reject(problem(child.killed ? tooMuch : `failed with ${signal ?? `exit code ${code}`}`)),
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
