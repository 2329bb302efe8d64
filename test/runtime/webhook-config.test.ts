import { expect, test } from "vitest";
import { type Environment, parseConfig } from "../../src/runtime/options.ts";
import {
  checkWebhookConfig,
  type WebhookConfig,
  webhookOptions,
} from "../../src/runtime/webhook-config.ts";
import { flagTexts } from "./flag-texts.ts";

const segment = "0123456789abcdef0123456789abcdef";

function parse({ argv, env }: { argv: readonly string[]; env: Environment }): WebhookConfig {
  const config = parseConfig(webhookOptions, { flags: flagTexts(argv), env });
  checkWebhookConfig(config);
  return config;
}

test("without options every field has its documented default", () => {
  expect(parse({ argv: [], env: {} })).toEqual({
    kubeconfig: undefined,
    namespace: "latchkey-system",
    httpAddress: { host: "0.0.0.0", port: 8080 },
    logLevel: "info",
    userPrefix: "",
    teamPrefix: "",
    quotaExempt: [],
    quotaKeys: 1000,
    maximumKeyTtl: 0,
    webhookAddress: { host: "0.0.0.0", port: 8443 },
    serviceName: "latchkey-webhook",
    certificateNames: [],
    certificateDirectory: undefined,
    admissionPath: undefined,
    drainTimeout: 20_000,
  });
});

test("values come from flags and variables", () => {
  const env = {
    LATCHKEY_WEBHOOK_ADDRESS: "127.0.0.1:9443",
    LATCHKEY_CERTIFICATE_DIRECTORY: "/tls",
    LATCHKEY_ADMISSION_PATH: segment,
  };
  expect(parse({ argv: ["--maximum-key-ttl=1d"], env })).toMatchObject({
    webhookAddress: { host: "127.0.0.1", port: 9443 },
    certificateDirectory: "/tls",
    admissionPath: segment,
    maximumKeyTtl: 86_400,
  });
});

test("the wait for open connections is a duration", () => {
  expect(parse({ argv: ["--drain-timeout=1m"], env: {} }).drainTimeout).toBe(60_000);
  expect(parse({ argv: [], env: { LATCHKEY_DRAIN_TIMEOUT: "0" } }).drainTimeout).toBe(0);
});

test("users without a quota are a comma-separated list", () => {
  const users = "system:serviceaccount:argocd:deployer, ops@example.com,";
  expect(parse({ argv: [`--quota-exempt=${users}`, "--quota-keys=5"], env: {} })).toMatchObject({
    quotaExempt: ["system:serviceaccount:argocd:deployer", "ops@example.com"],
    quotaKeys: 5,
  });
  expect(() => parse({ argv: ["--quota-keys=0"], env: {} })).toThrow("whole number from 1");
});

test("additional certificate names must be DNS names", () => {
  expect(
    parse({ argv: ["--certificate-names=localhost, latchkey.example.com"], env: {} })
      .certificateNames,
  ).toEqual(["localhost", "latchkey.example.com"]);
  expect(() => parse({ argv: ["--certificate-names=localhost,https://a"], env: {} })).toThrow(
    '"https://a" must be a DNS name',
  );
});

test("an admission path must be hard to guess, and is not printed", () => {
  expect(parse({ argv: [`--admission-path=${segment}`], env: {} }).admissionPath).toBe(segment);
  for (const path of [
    "short",
    `${segment}/a`,
    `${segment}%2f`,
    "replace-me-with-openssl-rand-hex-20",
  ])
    expect(() => parse({ argv: [`--admission-path=${path}`], env: {} })).toThrow(
      /"\(not shown\)" must be 32 to 128/,
    );
});

test("certificates from files require an admission path, because the webhook does not publish one then", () => {
  expect(() => parse({ argv: ["--certificate-directory=/tls"], env: {} })).toThrow(
    "--admission-path is required with --certificate-directory",
  );
});
