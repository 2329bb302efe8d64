import { describe, expect, test } from "vitest";
import { parseConfig } from "../../src/runtime/options.ts";
import {
  checkTrustConfigOptions,
  trustConfigOptions,
} from "../../src/runtime/trust-config-options.ts";
import { flagTexts } from "./flag-texts.ts";

function parse(argv: readonly string[]) {
  const options = parseConfig(trustConfigOptions, { flags: flagTexts(argv), env: {} });
  checkTrustConfigOptions(options);
  return options;
}

test("without options, all values are read from the cluster, and the files are printed", () => {
  expect(parse(["--authorization=true"])).toEqual({
    authorization: true,
    kubeconfig: undefined,
    namespace: "latchkey-system",
    serviceName: "latchkey-webhook",
    kubernetesVersion: undefined,
    webhookUrl: undefined,
    directory: "/etc/kubernetes/latchkey",
    output: undefined,
  });
});

describe("a version of Kubernetes", () => {
  test.each([
    ["1.36", 36],
    ["v1.30.2", 30],
    ["1.31.0+k3s1", 31],
  ])("%s is its minor version", (text, minor) => {
    expect(parse(["--authorization=true", `--kubernetes-version=${text}`]).kubernetesVersion).toBe(
      minor,
    );
  });

  test.each(["36", "2.1", "1.x", "latest"])("is not %s", (text) => {
    expect(() => parse(["--authorization=true", `--kubernetes-version=${text}`])).toThrow(
      `"${text}" must be a version of Kubernetes, such as 1.36`,
    );
  });
});

test("without --authorization there is no output", () => {
  expect(() => parse([])).toThrow("trust-config requires --authorization, which prints");
});

test("a trailing slash of a directory is removed", () => {
  expect(parse(["--authorization=true", "--directory=/etc/trust//"]).directory).toBe("/etc/trust");
});
