import { describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/runtime/options.ts";
import {
  checkTrustConfigOptions,
  trustConfigOptions,
} from "../../../src/client/admin/trust-config-options.ts";
import { flagTexts } from "../../runtime/flag-texts.ts";

function parse(argv: readonly string[]) {
  const options = parseConfig(trustConfigOptions, { flags: flagTexts(argv), env: {} });
  checkTrustConfigOptions(options);
  return options;
}

test("without options, all values are read from the cluster, and the files are printed", () => {
  expect(parse(["--authorization=true"])).toEqual({
    authorization: true,
    authentication: false,
    serviceName: undefined,
    webhookUrl: undefined,
    issuer: "https://latchkey.latchkey-system.svc",
    audience: "management.service/direct",
    maximumTokenTtl: 86_400,
    clusterName: undefined,
    ownAudienceOnly: false,
    discoveryUrl: undefined,
    issuerCertificateAuthority: undefined,
    usernamePrefix: "",
    groupsPrefix: "",
    directory: "/etc/kubernetes/latchkey",
    output: undefined,
  });
});

const connected = ["--authentication=true", "--cluster-name=east"];

describe("one sentence refuses", () => {
  test.each<[string, readonly string[], string]>([
    ["no mode", [], "trust-config requires --authorization, which prints"],
    [
      "a connected cluster without its name",
      ["--authentication=true"],
      "--authentication requires --cluster-name, the name of the connected cluster",
    ],
    [
      "both modes without the CA of the issuer",
      ["--authorization=true", ...connected],
      "--authentication with --authorization requires --issuer-certificate-authority",
    ],
    [
      "the webhook's URL for a connected cluster",
      [...connected, "--webhook-url=https://a"],
      "--webhook-url has no effect with --authentication alone; remove it, or set --authorization too",
    ],
    ...[
      ...["cluster-name=east", "own-audience-only=true"],
      ...["discovery-url=https://a", "issuer-certificate-authority=a"],
    ].map((option): [string, readonly string[], string] => [
      `--${option} for the central cluster`,
      ["--authorization=true", `--${option}`],
      `--${option.replace(/=.*/, "")} has no effect with --authorization alone; remove it, or set --authentication`,
    ]),
    ...["username-prefix", "groups-prefix"].flatMap(
      (option): readonly [string, readonly string[], string][] => [
        [
          `--${option} for the central cluster`,
          ["--authorization=true", `--${option}=a`],
          `--${option} has no effect with --authorization alone; remove it, or set --authentication`,
        ],
        [
          `--${option} of Kubernetes`,
          [...connected, `--${option}=system:`],
          "must not begin with system:",
        ],
      ],
    ),
  ])("%s", (_what, argv, problem) => {
    expect(() => parse(argv)).toThrow(problem);
  });
});

test("both modes have the options of both", () => {
  const both = ["--authorization=true", ...connected, "--issuer-certificate-authority=system"];
  const others = ["--webhook-url=https://a", "--username-prefix=mc:"];
  expect(parse([...both, ...others])).toMatchObject({
    webhookUrl: "https://a",
    usernamePrefix: "mc:",
  });
});

test("the options of direct tokens may be set for the central cluster: the controller has them", () => {
  const argv = ["--authorization=true", "--issuer=https://a.example.com", "--audience=a"];
  expect(parse(argv)).toMatchObject({ authorization: true, audience: "a" });
});

test("a trailing slash of a directory is removed", () => {
  expect(parse(["--authorization=true", "--directory=/etc/trust//"]).directory).toBe("/etc/trust");
});
