import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type ControllerConfig, parseControllerConfig } from "./controller-config.ts";
import { parseWebhookConfig, type WebhookConfig } from "./webhook-config.ts";

/** The configuration of this process; `argv` is what follows `controller` on the command line. */
export function readControllerConfig(argv: readonly string[]): ControllerConfig {
  return parseControllerConfig({ argv, env: process.env, defaultIdentity: `${hostname()}_${randomUUID()}` });
}

/** The configuration of this process; `argv` is what follows `webhook` on the command line. */
export function readWebhookConfig(argv: readonly string[]): WebhookConfig {
  return parseWebhookConfig({ argv, env: process.env });
}
