import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type ControllerConfig, parseControllerConfig } from "./controller-config.ts";
import { parseTrustConfigOptions, type TrustConfigOptions } from "./trust-config-options.ts";
import { parseWebhookConfig, type WebhookConfig } from "./webhook-config.ts";

/**
 * The Service of the API server as the kubelet names it to every container; undefined outside of a
 * pod.
 */
export function readPodApiServer(): { readonly host: string; readonly port: string } | undefined {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = process.env;
  return host === "" || port === "" ? undefined : { host, port };
}

/** The configuration of this process; `argv` is what follows `controller` on the command line. */
export function readControllerConfig(argv: readonly string[]): ControllerConfig {
  return parseControllerConfig({
    argv,
    env: process.env,
    defaultIdentity: `${hostname()}_${randomUUID()}`,
  });
}

/** The configuration of this process; `argv` is what follows `webhook` on the command line. */
export function readWebhookConfig(argv: readonly string[]): WebhookConfig {
  return parseWebhookConfig({ argv, env: process.env });
}

/**
 * The options of this process; `argv` is what follows `trust-config --authorization` on the command
 * line.
 */
export function readTrustConfigOptions(argv: readonly string[]): TrustConfigOptions {
  return parseTrustConfigOptions({ argv, env: process.env });
}
