import { expect, test } from "vitest";
import { type Environment, parseConfig } from "../../src/runtime/options.ts";
import {
  checkWebhookConfig,
  directWebhookConfig,
  type WebhookConfig,
  webhookOptions,
} from "../../src/webhooks/webhook-options.ts";
import { flagTexts } from "../runtime/flag-texts.ts";

const segment = "0123456789abcdef0123456789abcdef";

function parse(argv: readonly string[], env: Environment = {}): WebhookConfig {
  const config = parseConfig(webhookOptions, { flags: flagTexts(argv), env });
  checkWebhookConfig(config);
  return config;
}

test("without options every field has its documented default", () => {
  expect(parse([])).toEqual({
    direct: false,
    kubeconfig: undefined,
    namespace: "latchkey-system",
    httpAddress: { host: "", port: 8080 },
    logLevel: "info",
    userPrefix: "",
    teamPrefix: "",
    quotaExempt: [],
    quotaKeys: 1000,
    maximumKeyTtl: 0,
    webhookAddress: { host: "", port: 8443 },
    serviceName: undefined,
    certificateNames: [],
    certificateDirectory: undefined,
    admissionPath: undefined,
    requireAdmissionClientCertificate: false,
    drainTimeout: 95_000,
    issuer: "https://latchkey.latchkey-system.svc",
    clusterName: undefined,
    jwksUrl: undefined,
    certificateAuthority: undefined,
    maximumListAge: undefined,
  });
});

test("values come from flags and variables", () => {
  const env = {
    LATCHKEY_WEBHOOK_ADDRESS: "127.0.0.1:9443",
    LATCHKEY_CERTIFICATE_DIRECTORY: "/tls",
    LATCHKEY_ADMISSION_PATH: segment,
  };
  expect(parse(["--maximum-key-ttl=1d"], env)).toMatchObject({
    webhookAddress: { host: "127.0.0.1", port: 9443 },
    certificateDirectory: "/tls",
    admissionPath: segment,
    maximumKeyTtl: 86_400,
  });
});

test("the wait for open connections is a duration", () => {
  expect(parse(["--drain-timeout=1m"]).drainTimeout).toBe(60_000);
  expect(parse([], { LATCHKEY_DRAIN_TIMEOUT: "0" }).drainTimeout).toBe(0);
});

test("users without a quota are a comma-separated list", () => {
  const users = "system:serviceaccount:argocd:deployer, ops@example.com,";
  expect(parse([`--quota-exempt=${users}`, "--quota-keys=5"])).toMatchObject({
    quotaExempt: ["system:serviceaccount:argocd:deployer", "ops@example.com"],
    quotaKeys: 5,
  });
  expect(() => parse(["--quota-keys=0"])).toThrow("whole number from 1");
});

test("additional certificate names must be DNS names", () => {
  expect(parse(["--certificate-names=localhost, latchkey.example.com"]).certificateNames).toEqual([
    "localhost",
    "latchkey.example.com",
  ]);
  expect(() => parse(["--certificate-names=localhost,https://a"])).toThrow(
    '"https://a" must be a DNS name',
  );
});

test("an admission path must be hard to guess, and is not printed", () => {
  expect(parse([`--admission-path=${segment}`]).admissionPath).toBe(segment);
  for (const path of [
    "short",
    `${segment}/a`,
    `${segment}%2f`,
    "replace-me-with-openssl-rand-hex-20",
  ])
    expect(() => parse([`--admission-path=${path}`])).toThrow(/"\(not shown\)" must be 32 to 128/);
});

test("certificates from files require an admission path, because the webhook does not publish one then", () => {
  expect(() => parse(["--certificate-directory=/tls"])).toThrow(
    "--admission-path is required with --certificate-directory",
  );
});

const direct = ["--direct=true", "--cluster-name=east"];

test("the authorizer of a connected cluster has the options of its issuer and the name of its cluster", () => {
  const argv = [
    ...direct,
    "--issuer=https://a.example.com",
    "--jwks-url=https://b.example.com/jwks",
    "--certificate-authority=/ca.crt",
    "--maximum-list-age=5m",
    "--certificate-directory=/tls",
  ];
  expect(directWebhookConfig(parse(argv))).toMatchObject({
    clusterName: "east",
    issuer: "https://a.example.com",
    jwksUrl: "https://b.example.com/jwks",
    certificateAuthority: "/ca.crt",
    maximumListAge: 300_000,
    certificateDirectory: "/tls",
  });
  expect(directWebhookConfig(parse([]))).toBeUndefined();
});

test("variables of other processes in a shared environment are no mistake", () => {
  const env = { LATCHKEY_ISSUER: "https://a.example.com" };
  expect(parse([], env).direct).toBe(false);
});

test.each<[string, readonly string[], string]>([
  ["--direct without the name of its cluster", direct.slice(0, 1), "--cluster-name is required"],
  [
    "a name that is none",
    ["--direct=true", "--cluster-name=East"],
    '"East" must be the name of a connected cluster',
  ],
  [
    "an admission path for a connected cluster",
    [...direct, `--admission-path=${segment}`],
    "--admission-path has no effect with --direct",
  ],
  [
    "a client certificate for admission with --direct",
    [...direct, "--require-admission-client-certificate=true"],
    "--require-admission-client-certificate has no effect with --direct",
  ],
  [
    "the namespace of a cluster that is not virtual",
    [...direct, "--virtual-cluster-namespace=vc-web"],
    "--virtual-cluster-namespace=vc-web requires that --cluster-name names a virtual cluster",
  ],
  ["a short age", [...direct, "--maximum-list-age=1m"], "must be a duration from 120s"],
  ...[
    "cluster-name=east",
    "virtual-cluster-namespace=a",
    "jwks-url=https://a",
    "maximum-list-age=5m",
  ].map((option): [string, readonly string[], string] => [
    `--${option} without --direct`,
    [`--${option}`],
    `--${option.replace(/=.*/, "")} has no effect without --direct; remove it`,
  ]),
])("one sentence refuses %s", (_what, argv, problem) => {
  expect(() => parse(argv)).toThrow(problem);
});
