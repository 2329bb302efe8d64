import { describe, expect, test } from "vitest";
import {
  checkControllerConfig,
  type ControllerConfig,
  controllerOptions,
} from "../../src/controllers/controller-options.ts";
import { parseConfig } from "../../src/runtime/options.ts";
import { flagTexts } from "../runtime/flag-texts.ts";

/** Reads flags and variables, such as `--namespace=a LATCHKEY_NAMESPACE=b`. */
function parse(given: string): ControllerConfig {
  const words = given.split(" ").filter(Boolean);
  const argv = words.filter((word) => word.startsWith("--"));
  const variables = words.filter((word) => !word.startsWith("--"));
  const env = Object.fromEntries(variables.map((word) => word.split("=")));
  const config = parseConfig(controllerOptions, { flags: flagTexts(argv), env });
  checkControllerConfig(config);
  return config;
}

test("without options every field has its documented default", () => {
  expect(parse("")).toEqual({
    kubeconfig: undefined,
    namespace: "latchkey-system",
    httpAddress: { host: "", port: 8080 },
    identity: undefined,
    logLevel: "info",
    userPrefix: "",
    teamPrefix: "",
    quotaExempt: [],
    quotaTokens: 1000,
    issuer: "https://latchkey.latchkey-system.svc",
    jwksUrl: undefined,
    issuerAddress: { host: "", port: 8443 },
    serviceName: "latchkey",
    externalNames: [],
    certificateDirectory: undefined,
    audience: "management.service/direct",
    maximumKeyTtl: 0,
    maximumTokenTtl: 86_400,
    signingKeyRotation: 30 * 86_400_000,
    deleteExpiredTokensAfter: 3600,
    deleteExpiredKeysAfter: undefined,
    requireSyncFrom: false,
    copyKeys: [],
    grantSettleTime: 2_000,
    leaseDuration: 15_000,
    renewDeadline: 10_000,
    retryPeriod: 2000,
    workers: 16,
    writeConcurrency: 16,
    maximumOutboxBytes: 256 * 1024 ** 2,
    maxBodyBytesInFlight: 16 * 1024 * 1024,
  });
});

describe("values", () => {
  test.for<[string, string, object]>([
    ["a flag", "--namespace=ops", { namespace: "ops" }],
    ["a variable", "LATCHKEY_NAMESPACE=ops", { namespace: "ops" }],
    ["a flag before its variable", "--namespace=a LATCHKEY_NAMESPACE=b", { namespace: "a" }],
    ["an empty variable is unset", "LATCHKEY_NAMESPACE=", { namespace: "latchkey-system" }],
    [
      "an empty flag is the default, whatever its variable says",
      "--namespace= LATCHKEY_NAMESPACE=b",
      { namespace: "latchkey-system" },
    ],
    ["KUBECONFIG", "KUBECONFIG=/a", { kubeconfig: "/a" }],
    ["a fixed identity", "LATCHKEY_IDENTITY=dev", { identity: "dev" }],
    ["an address without host", "--http-address=:9090", { httpAddress: { host: "", port: 9090 } }],
    ["an IPv6 address", "--http-address=[::1]:0", { httpAddress: { host: "::1", port: 0 } }],
    ["a duration without unit is seconds", "--maximum-key-ttl=90", { maximumKeyTtl: 90 }],
    ["seconds", "--maximum-key-ttl=30s", { maximumKeyTtl: 30 }],
    ["minutes", "--maximum-key-ttl=15m", { maximumKeyTtl: 900 }],
    ["hours", "--delete-expired-keys-after=1h", { deleteExpiredKeysAfter: 3600 }],
    ["days", "--delete-expired-keys-after=7d", { deleteExpiredKeysAfter: 604_800 }],
    ["a zero delay", "--delete-expired-keys-after=0", { deleteExpiredKeysAfter: 0 }],
    ["true", "--require-sync-from=true", { requireSyncFrom: true }],
    ["false", "LATCHKEY_REQUIRE_SYNC_FROM=false", { requireSyncFrom: false }],
    [
      "keys of labels and annotations",
      "--copy-keys=team,,example.com/Tier_1,example.com/*",
      { copyKeys: ["team", "example.com/Tier_1", "example.com/*"] },
    ],
    ["a zero settle time of grants", "--grant-settle-time=0", { grantSettleTime: 0 }],
    ["bytes", "--max-body-bytes-in-flight=2097152", { maxBodyBytesInFlight: 2 ** 21 }],
    ["binary units of bytes", "--max-body-bytes-in-flight=1Gi", { maxBodyBytesInFlight: 2 ** 30 }],
    ["durations of the Lease in milliseconds", "--lease-duration=1m", { leaseDuration: 60_000 }],
  ])("%s", ([, given, expected]) => {
    expect(parse(given)).toMatchObject(expected);
  });
});

describe("an invalid option is an error that names option, value and fix", () => {
  test.for<[string, string]>([
    [
      "--require-sync-from=yes",
      '--require-sync-from (LATCHKEY_REQUIRE_SYNC_FROM): "yes" must be true or false',
    ],
    ...["*", "/*", "a/b/c", "a/", "-a", "team-*", "A.example/*"].map((key): [string, string] => [
      `--copy-keys=team,${key}`,
      `--copy-keys (LATCHKEY_COPY_KEYS): "${key}" must be the key of a label or annotation, such as team or example.com/team, or <domain>/*`,
    ]),
    ["--issuer=http://a", '--issuer (LATCHKEY_ISSUER): "http://a" must be an https URL'],
    ["--issuer=https://a/?b=c", "must be an https URL without credentials, query and fragment"],
    [
      "LATCHKEY_WORKERS=many",
      '--workers (LATCHKEY_WORKERS): "many" must be a whole number from 1 to 256',
    ],
    ["--workers=0", "must be a whole number from 1 to 256"],
    [
      "--max-body-bytes-in-flight=16M",
      "must be a number of bytes from 1048576 to 1073741824, such as 512Ki or 16Mi",
    ],
    ["--max-body-bytes-in-flight=1Ki", "must be a number of bytes"],
    ["--max-body-bytes-in-flight=2Gi", "must be a number of bytes"],
    ["--write-concurrency=1e1", "must be a whole number"],
    [
      "--log-level=loud",
      '--log-level (LATCHKEY_LOG_LEVEL): "loud" must be one of debug, info, warn, error',
    ],
    ["--http-address=8080", "must be host:port"],
    ["--http-address=a:70000", "must be host:port"],
    ["--user-prefix=system:", "must not begin with system:"],
    ["--maximum-token-ttl=0", "must be a duration from 1s"],
    ["--maximum-token-ttl=1w", "such as 90, 30s, 15m, 1h or 7d"],
    ["--maximum-key-ttl=99999999999", "to 2147483647s"],
    ["--namespace=A_b", "must be the name of a namespace"],
    ["--renew-deadline=15s", '--renew-deadline: "15s" must be shorter than --lease-duration (15s)'],
    ["--retry-period=10s", '--retry-period: "10s" must be shorter than --renew-deadline (10s)'],
  ])("%s", ([given, message]) => {
    expect(() => parse(given)).toThrow(message);
  });
});

test("does not print the credentials in an issuer", () => {
  expect(() => parse("--issuer=https://u:canary@a")).toThrow(/^(?!.*canary)/);
});
