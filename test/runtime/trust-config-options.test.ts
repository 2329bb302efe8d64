import { describe, expect, test } from "vitest";
import {
  parseTrustConfigOptions,
  trustConfigHelp,
} from "../../src/runtime/trust-config-options.ts";

test("without options all is asked of the cluster, and printed", () => {
  expect(parseTrustConfigOptions({ argv: [], env: {} })).toEqual({
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
    expect(
      parseTrustConfigOptions({ argv: [`--kubernetes-version=${text}`], env: {} })
        .kubernetesVersion,
    ).toBe(minor);
  });

  test.each(["36", "2.1", "1.x", "latest"])("is not %s", (text) => {
    expect(() =>
      parseTrustConfigOptions({ argv: [`--kubernetes-version=${text}`], env: {} }),
    ).toThrow(`"${text}" must be a version of Kubernetes, such as 1.36`);
  });
});

test("the help tells all options", () => {
  expect(trustConfigHelp()).toMatch(
    /Usage: latchkey trust-config --authorization[^]*--webhook-url <url>[^]*--output <directory>/,
  );
});
