import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { load } from "js-yaml";
import { listAt, recordAt, stringAt } from "../../api/parse.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import type { Clock } from "../../runtime/clock.ts";
import {
  bearerFrom,
  cachedAuthorization,
  type Credentials,
  CredentialsError,
  type TlsMaterial,
} from "./credentials.ts";

/**
 * Reads the credentials of the current context of a kubeconfig file, including its user's
 * `tokenFile`, which the client library ignores. Rejects with a CredentialsError.
 */
export async function kubeconfigCredentials(path: string, clock: Clock): Promise<Credentials> {
  const config = loadConfig(path);
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new CredentialsError(`kubeconfig "${path}" has no current context with a cluster`);
  const tokenFile = tokenFileOf(path, config.getCurrentUser()?.name);
  const options = await optionsOf(config).catch(explained(path));
  return {
    server: cluster.server.replace(/\/+$/, ""),
    tls: tlsOf(options, cluster.skipTLSVerify),
    ...cachedAuthorization(
      async () =>
        tokenFile === undefined ? headerOf(await optionsOf(config)) : bearerFrom(tokenFile),
      clock,
    ),
  };
}

function loadConfig(path: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromFile(path);
  } catch (error) {
    // The parser's message may quote the file.
    throw new CredentialsError(
      `kubeconfig "${path}" cannot be read: ${errorCode(error) ?? "it is not a valid kubeconfig"}`,
    );
  }
  return config;
}

/**
 * Converts the error of a file that the kubeconfig names (certificate, key or exec plugin) to a
 * CredentialsError; rethrows any other error.
 */
function explained(path: string): (error: unknown) => never {
  return (error) => {
    const file = stringAt(error, "path");
    if (file === undefined) throw error;
    const verb = stringAt(error, "syscall")?.startsWith("spawn") === true ? "started" : "read";
    throw new CredentialsError(
      `kubeconfig "${path}" names "${file}", which cannot be ${verb}: ${errorCode(error) ?? ""}`,
    );
  };
}

async function optionsOf(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

function headerOf(options: RequestOptions): string | undefined {
  return stringAt(options.headers, "Authorization");
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
