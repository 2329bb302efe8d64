import { describe, expect, test } from "vitest";
import {
  chooseKubeconfig,
  contextNames,
  type KubeconfigOverrides,
} from "../../../src/kube/credentials/kubeconfig-choice.ts";

const first = {
  directory: "/one",
  content: {
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "c", user: "u", namespace: "web" } }],
    clusters: [
      { name: "c", cluster: { server: "https://one/", "certificate-authority": "ca.crt" } },
    ],
  },
};
const second = {
  directory: "/two",
  content: {
    "current-context": "b",
    contexts: [
      { name: "a", context: { cluster: "other" } },
      { name: "b", context: { cluster: "plain", user: "exec" } },
      { name: "old", context: { cluster: "c", user: "provider" } },
      { name: "bare", context: { cluster: "c" } },
    ],
    clusters: [
      { name: "c", cluster: { server: "https://two" } },
      {
        name: "plain",
        cluster: {
          server: "http://plain",
          "insecure-skip-tls-verify": true,
          "certificate-authority-data": "Y2E=",
          "proxy-url": "http://proxy",
          "tls-server-name": "name",
        },
      },
    ],
    users: [
      {
        name: "u",
        user: {
          tokenFile: "token",
          token: "ignored",
          "client-certificate-data": "Yw==",
          "client-certificate": "ignored",
          "client-key": "key",
          as: "carol",
          "as-groups": ["g"],
        },
      },
      {
        name: "exec",
        user: { exec: { command: "./login", args: ["x"], interactiveMode: "Never" } },
      },
      { name: "provider", user: { "auth-provider": { name: "oidc" } } },
    ],
  },
};

function chosen(overrides: KubeconfigOverrides = {}) {
  return chooseKubeconfig([first, second], overrides);
}

describe("several kubeconfig files", () => {
  test("are merged as by kubectl: the first entry of a name counts", () => {
    expect(chosen()).toEqual({
      server: "https://one",
      certificateAuthority: { kind: "file", path: "ca.crt", directory: "/one" },
      clientCertificate: { kind: "data", base64: "Yw==" },
      clientKey: { kind: "file", path: "key", directory: "/two" },
      tlsServerName: undefined,
      insecureSkipTlsVerify: false,
      proxyUrl: undefined,
      credential: { kind: "token-file", path: "token", directory: "/two" },
      impersonate: { user: "carol", groups: ["g"] },
      namespace: "web",
      context: "a",
    });
  });

  test("have contexts, each once", () => {
    expect(contextNames([first, second])).toEqual(["a", "b", "old", "bare"]);
  });
});

test("an exec plugin starts at its kubeconfig, and a CA is not used without verification", () => {
  expect(chosen({ context: "b" })).toMatchObject({
    certificateAuthority: undefined,
    insecureSkipTlsVerify: true,
    proxyUrl: "http://proxy",
    tlsServerName: "name",
    namespace: "default",
    credential: {
      kind: "exec",
      plugin: { command: "./login", args: ["x"], mayAsk: false, directory: "/two" },
    },
  });
});

describe("flags", () => {
  test("a token replaces the whole credential of the user", () => {
    expect(chosen({ token: "t", asGroups: ["h"] })).toMatchObject({
      credential: { kind: "token", token: "t" },
      clientCertificate: undefined,
      clientKey: undefined,
      impersonate: { user: "carol", groups: ["h"] },
    });
  });

  test("need no kubeconfig", () => {
    const flags = {
      server: "https://s/",
      token: "t",
      namespace: "n",
      as: "x",
      certificateAuthority: "f",
    };
    expect(chooseKubeconfig([], flags)).toMatchObject({
      server: "https://s",
      namespace: "n",
      certificateAuthority: { kind: "file", path: "f", directory: "" },
      impersonate: { user: "x", groups: [] },
    });
  });

  test("a user without credentials has none", () => {
    expect(chosen({ context: "bare" })).toMatchObject({ credential: { kind: "none" } });
  });
});

describe("one sentence says what is missing", () => {
  test.each<[KubeconfigOverrides, string]>([
    [{ context: "nowhere" }, 'the kubeconfig has no context "nowhere"'],
    [{ cluster: "nowhere" }, 'the kubeconfig has no cluster "nowhere"'],
    [{ user: "nobody" }, 'the kubeconfig has no user "nobody"'],
    [
      { context: "old" },
      'the user "provider" has an auth-provider, which is not supported; use an exec plugin, such as kubelogin',
    ],
  ])("%j", (overrides, problem) => {
    expect(chosen(overrides)).toBe(problem);
  });

  test("an empty kubeconfig", () => {
    expect(chooseKubeconfig([], {})).toBe("the kubeconfig has no current context with a cluster");
  });
});
