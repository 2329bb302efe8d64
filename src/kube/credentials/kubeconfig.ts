import { existsSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { load } from "js-yaml";
import { listAt, recordAt, stringAt, isTrueAt, stringsAt } from "../../api/parse.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import { withoutEnd } from "../../api/text-end.ts";
import type { Environment } from "../../runtime/options.ts";
import { errorCode, mostInputBytes, readAtMost } from "../../runtime/read-text-file.ts";
import { CredentialsError, userFix } from "./credentials.ts";

/** A parsed kubeconfig file; relative paths in it start at `directory`. */
export interface KubeconfigFile {
  readonly directory: string;
  readonly content: unknown;
}

/**
 * Reads the kubeconfig files that kubectl would read: that of the flag, else those of KUBECONFIG,
 * else `~/.kube/config`. Throws a CredentialsError, which quotes nothing of a file.
 */
export function readKubeconfigFiles(
  flag: string | undefined,
  env: Environment,
): readonly KubeconfigFile[] {
  const paths = flag === undefined ? kubeconfigPaths(env) : [flag];
  return paths.map((path) => ({ directory: dirname(resolve(path)), content: parsed(path) }));
}

/** The files of KUBECONFIG that exist, else `~/.kube/config` if it exists. */
export function kubeconfigPaths({
  KUBECONFIG = "",
  HOME,
  USERPROFILE,
}: Environment): readonly string[] {
  const named = KUBECONFIG.split(delimiter).filter((path) => path !== "");
  if (named.length > 0) return named.filter((path) => existsSync(path));
  const home = HOME ?? USERPROFILE ?? "";
  const usual = join(home, ".kube", "config");
  return home !== "" && existsSync(usual) ? [usual] : [];
}

function parsed(path: string): unknown {
  try {
    // An empty file is an empty kubeconfig.
    const text = readAtMost(path, mostInputBytes).toString("utf8");
    return text.trim() === "" ? {} : load(text);
  } catch (error) {
    throw new CredentialsError(
      `kubeconfig "${path}" cannot be read: ${errorCode(error) ?? "it is not a valid kubeconfig"}`,
      userFix,
    );
  }
}

/** What the command line says in place of a kubeconfig; undefined: the kubeconfig decides. */
export interface KubeconfigOverrides {
  readonly context?: string | undefined;
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  readonly namespace?: string | undefined;
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  readonly certificateAuthority?: string | undefined;
  readonly clientCertificate?: string | undefined;
  readonly clientKey?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly as?: string | undefined;
  readonly asGroups?: readonly string[] | undefined;
}

/**
 * The YAML of the kubeconfig of a connected cluster; undefined if it is none, or too long, because
 * the parser's error quotes it.
 */
export function clusterKubeconfigYaml(text: string): unknown {
  if (text.length > readingBounds.clusterKubeconfig.bytes) return undefined;
  try {
    return load(text);
  } catch {
    return undefined;
  }
}

/** PEM text that a kubeconfig holds in base64 or names as a file. */
export type PemSource =
  | { readonly kind: "data"; readonly base64: string }
  | { readonly kind: "file"; readonly path: string; readonly directory: string };

/** A program that prints a credential (Kubernetes, client-go credential plugins). */
export interface ExecPlugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly apiVersion: string;
  readonly mayAsk: boolean;
  readonly wantsClusterInfo: boolean;
  readonly directory: string;
}

/** How requests are authenticated. */
type UserCredential =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "token-file"; readonly path: string; readonly directory: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "exec"; readonly plugin: ExecPlugin };

/** What is connected to, as whom, and the default namespace. */
export interface KubeconfigChoice {
  /** Without a trailing slash. */
  readonly server: string;
  readonly certificateAuthority: PemSource | undefined;
  readonly clientCertificate: PemSource | undefined;
  readonly clientKey: PemSource | undefined;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly proxyUrl: string | undefined;
  readonly credential: UserCredential;
  readonly impersonate: { readonly user: string; readonly groups: readonly string[] } | undefined;
  readonly namespace: string;
  readonly context: string;
}

/**
 * Chooses cluster, user and namespace as kubectl does: of entries with one name in several files,
 * the first counts. Returns a problem as a sentence without a full stop if there is no such
 * context.
 */
export function chooseKubeconfig(
  files: readonly KubeconfigFile[],
  overrides: KubeconfigOverrides,
): KubeconfigChoice | string {
  const context = overrides.context ?? firstCurrentContext(files);
  const found = entryOf(files, "contexts", context);
  if (overrides.context !== undefined && found === undefined)
    return `the kubeconfig has no context "${overrides.context}"`;
  const settings = recordAt(found?.entry, "context");
  const clusterName = overrides.cluster ?? stringAt(settings, "cluster") ?? "";
  const cluster = entryOf(files, "clusters", clusterName);
  if (cluster === undefined && (overrides.cluster !== undefined || overrides.server === undefined))
    return clusterName === ""
      ? "the kubeconfig has no current context with a cluster"
      : `the kubeconfig has no cluster "${clusterName}"`;
  const userName = overrides.user ?? stringAt(settings, "user") ?? "";
  const user = entryOf(files, "users", userName);
  if (user === undefined && userName !== "") return `the kubeconfig has no user "${userName}"`;
  const parts = { cluster, user, overrides };
  const credential = credentialOf(parts);
  if (typeof credential === "string") return credential;
  const server = overrides.server ?? stringAt(recordAt(cluster?.entry, "cluster"), "server") ?? "";
  return {
    ...tlsOf(parts),
    server: withoutEnd(server, "/"),
    credential,
    impersonate: impersonationOf(parts),
    namespace: overrides.namespace ?? (stringAt(settings, "namespace") || "default"),
    context,
  };
}

interface Entry {
  readonly entry: unknown;
  readonly directory: string;
}

interface Parts {
  readonly cluster: Entry | undefined;
  readonly user: Entry | undefined;
  readonly overrides: KubeconfigOverrides;
}

function firstCurrentContext(files: readonly KubeconfigFile[]): string {
  const names = files.map(({ content }) => stringAt(content, "current-context") ?? "");
  return names.find((name) => name !== "") ?? "";
}

function entryOf(
  files: readonly KubeconfigFile[],
  list: "contexts" | "clusters" | "users",
  name: string,
): Entry | undefined {
  const entries = files.flatMap(({ directory, content }) =>
    listAt(content, list).map((entry) => ({ entry, directory })),
  );
  return name === "" ? undefined : entries.find(({ entry }) => stringAt(entry, "name") === name);
}

/** The names of all contexts, each once. */
export function contextNames(files: readonly KubeconfigFile[]): readonly string[] {
  const names = files.flatMap(({ content }) =>
    listAt(content, "contexts").flatMap((entry) => stringAt(entry, "name") ?? []),
  );
  return [...new Set(names)];
}

function credentialOf({ user, overrides }: Parts): UserCredential | string {
  if (overrides.token !== undefined) return { kind: "token", token: overrides.token };
  if (user === undefined) return { kind: "none" };
  const { directory } = user;
  const settings = recordAt(user.entry, "user");
  const tokenFile = stringAt(settings, "tokenFile") ?? "";
  if (tokenFile !== "") return { kind: "token-file", path: tokenFile, directory };
  const token = stringAt(settings, "token") ?? "";
  if (token !== "") return { kind: "token", token };
  const username = stringAt(settings, "username") ?? "";
  if (username !== "")
    return { kind: "basic", username, password: stringAt(settings, "password") ?? "" };
  const exec = recordAt(settings, "exec");
  if (Object.keys(exec).length > 0) return { kind: "exec", plugin: pluginOf(exec, directory) };
  if (Object.keys(recordAt(settings, "auth-provider")).length > 0)
    return (
      `the user "${stringAt(user.entry, "name") ?? ""}" has an auth-provider, ` +
      "which is not supported; use an exec plugin, such as kubelogin"
    );
  return { kind: "none" };
}

function pluginOf(exec: Readonly<Record<string, unknown>>, directory: string): ExecPlugin {
  return {
    command: stringAt(exec, "command") ?? "",
    args: stringsAt(exec, "args"),
    env: listAt(exec, "env").map(
      (entry) => [stringAt(entry, "name") ?? "", stringAt(entry, "value") ?? ""] as const,
    ),
    apiVersion: stringAt(exec, "apiVersion") ?? "client.authentication.k8s.io/v1",
    mayAsk: stringAt(exec, "interactiveMode") !== "Never",
    wantsClusterInfo: isTrueAt(exec, "provideClusterInfo"),
    directory,
  };
}

function tlsOf({ cluster, user, overrides }: Parts) {
  const ours = recordAt(cluster?.entry, "cluster");
  const theirs = recordAt(user?.entry, "user");
  const isOtherUser = overrides.token !== undefined || overrides.clientCertificate !== undefined;
  const isInsecure = overrides.insecureSkipTlsVerify ?? isTrueAt(ours, "insecure-skip-tls-verify");
  return {
    certificateAuthority: isInsecure
      ? undefined
      : (fileOf(overrides.certificateAuthority) ??
        pemOf(ours, "certificate-authority", cluster?.directory)),
    clientCertificate:
      fileOf(overrides.clientCertificate) ??
      (isOtherUser ? undefined : pemOf(theirs, "client-certificate", user?.directory)),
    clientKey:
      fileOf(overrides.clientKey) ??
      (isOtherUser ? undefined : pemOf(theirs, "client-key", user?.directory)),
    tlsServerName: overrides.tlsServerName ?? stringAt(ours, "tls-server-name"),
    insecureSkipTlsVerify: isInsecure,
    proxyUrl: stringAt(ours, "proxy-url"),
  };
}

function fileOf(path: string | undefined): PemSource | undefined {
  return path === undefined ? undefined : { kind: "file", path, directory: "" };
}

/** Data takes precedence over a file (client-go, `AuthInfo` and `Cluster`). */
function pemOf(
  settings: Readonly<Record<string, unknown>>,
  field: string,
  directory = "",
): PemSource | undefined {
  const base64 = stringAt(settings, `${field}-data`) ?? "";
  if (base64 !== "") return { kind: "data", base64 };
  const path = stringAt(settings, field) ?? "";
  return path === "" ? undefined : { kind: "file", path, directory };
}

function impersonationOf({ user, overrides }: Parts): KubeconfigChoice["impersonate"] {
  const settings = recordAt(user?.entry, "user");
  const name = overrides.as ?? stringAt(settings, "as") ?? "";
  const groups = overrides.asGroups ?? [];
  if (name === "") return undefined;
  return {
    user: name,
    groups: groups.length > 0 ? groups : stringsAt(settings, "as-groups"),
  };
}
