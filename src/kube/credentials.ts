import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { load } from "js-yaml";
import { listAt, recordAt, stringAt } from "../api/parse.ts";
import type { Clock } from "../runtime/clock.ts";

/** What a TLS connection to the API server needs; PEM texts. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
}

/** How to reach the API server, and as whom. */
export interface Credentials {
  /** Origin and path prefix of the API server, without a trailing slash. */
  readonly server: string;
  readonly tls: TlsMaterial;
  /** The Authorization header, at most a minute old; undefined with client certificates. */
  authorization(): Promise<string | undefined>;
  /** Makes the next call read the credential afresh, after a 401. */
  forget(): void;
}

const freshMs = 60_000;

/**
 * There is no usable way to an API server; the message names the file and what is wrong with it.
 */
export class CredentialsError extends Error {
  constructor(problem: string) {
    super(
      `${problem}; name a kubeconfig with --kubeconfig or KUBECONFIG, or run in a pod with a service account`,
    );
    this.name = "CredentialsError";
  }
}

/**
 * Credentials of the current context of a kubeconfig file (its user's `tokenFile` included, which
 * the library leaves out), or of the pod's service account when no file is named. Throws a
 * CredentialsError.
 */
export async function loadCredentials(
  path: string | undefined,
  clock: Clock,
): Promise<Credentials> {
  const config = loadConfig(path);
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new CredentialsError(
      `the kubeconfig ${path ?? "of the pod"} has no current context with a cluster`,
    );
  const tokenFile =
    path === undefined ? undefined : tokenFileOf(path, config.getCurrentUser()?.name);
  const options = await optionsOf(config);
  let cached: { readonly header: string | undefined; readonly readAt: number } | undefined;
  return {
    server: cluster.server.replace(/\/+$/, ""),
    tls: tlsOf(options, cluster.skipTLSVerify),
    async authorization() {
      if (cached === undefined || clock.monotonic() - cached.readAt > freshMs) {
        const header =
          tokenFile === undefined ? headerOf(await optionsOf(config)) : bearerFrom(tokenFile);
        cached = { header, readAt: clock.monotonic() };
      }
      return cached.header;
    },
    forget() {
      cached = undefined;
    },
  };
}

function loadConfig(path: string | undefined): KubeConfig {
  const config = new KubeConfig();
  try {
    if (path === undefined) config.loadFromCluster();
    else config.loadFromFile(path);
  } catch (error) {
    // What the parser says may quote the file.
    const code =
      error instanceof Error && "code" in error ? String(error.code) : "it is no valid kubeconfig";
    throw new CredentialsError(`the kubeconfig ${path ?? "of the pod"} cannot be read: ${code}`);
  }
  if (path === undefined && !URL.canParse(config.getCurrentCluster()?.server ?? ""))
    throw new CredentialsError("this is no pod, and no kubeconfig is named");
  return config;
}

async function optionsOf(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

function headerOf(options: RequestOptions): string | undefined {
  return stringAt(options.headers, "Authorization");
}

function bearerFrom(file: string): string {
  return `Bearer ${readFileSync(file, "utf8").trim()}`;
}

function tlsOf(options: RequestOptions, skipVerify: boolean | undefined): TlsMaterial {
  const texts = {
    ca: textOf(options.ca),
    cert: textOf(options.cert),
    key: textOf(options.key),
    servername: options.servername,
  };
  const given = Object.fromEntries(
    Object.entries(texts).filter(([, value]) => value !== undefined),
  );
  return { ...given, rejectUnauthorized: skipVerify !== true };
}

function textOf(material: unknown): string | undefined {
  if (typeof material === "string") return material;
  return Buffer.isBuffer(material) ? material.toString("utf8") : undefined;
}

function tokenFileOf(path: string, userName: string | undefined): string | undefined {
  const users = listAt(load(readFileSync(path, "utf8")), "users");
  const user = users.find((entry) => stringAt(entry, "name") === userName);
  const tokenFile = stringAt(recordAt(user, "user"), "tokenFile");
  return tokenFile === undefined ? undefined : resolve(dirname(path), tokenFile);
}
