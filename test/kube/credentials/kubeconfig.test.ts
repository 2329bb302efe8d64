import { KubeConfig } from "@kubernetes/client-node";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  chooseKubeconfig,
  contextNames,
  type KubeconfigOverrides,
} from "../../../src/kube/credentials/kubeconfig.ts";
import { runs } from "../../support/property-runs.ts";

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

describe("client-node chooses the same", () => {
  const name = fc.constantFrom("a", "b", "c");
  const text = fc.constantFrom("x", "y", "z");
  const optional = <T>(fields: Record<string, fc.Arbitrary<T>>) =>
    fc.record(fields, { requiredKeys: [] });
  const entries = (field: string, content: fc.Arbitrary<unknown>) =>
    fc.uniqueArray(fc.record({ name, [field]: content }), { selector: (entry) => entry.name });
  const cluster = fc.record(
    {
      server: fc.constantFrom("https://one", "https://two/", "https://three/path"),
      "certificate-authority-data": text,
      "certificate-authority": text,
      "tls-server-name": text,
      "proxy-url": text,
    },
    { requiredKeys: ["server"] },
  );
  const user = optional({
    token: text,
    "client-certificate-data": text,
    "client-certificate": text,
    "client-key-data": text,
    "client-key": text,
    as: text,
  });
  const kubeconfigs = fc.record({
    "current-context": name,
    contexts: entries("context", fc.record({ cluster: name, user: name, namespace: text })),
    clusters: entries("cluster", cluster),
    users: entries("user", user),
  });
  /** PEM text of data or of a file, where data counts. */
  const pem = (data: string | undefined, path: string | undefined) =>
    data === undefined
      ? path && { kind: "file", path, directory: "/d" }
      : { kind: "data", base64: data };

  /** The choice of client-node; undefined if its context names what does not exist. */
  function theirChoice(content: object) {
    const config = new KubeConfig();
    config.loadFromString(JSON.stringify(content));
    const [cluster, login] = [config.getCurrentCluster(), config.getCurrentUser()];
    if (cluster === null || login === null) return undefined;
    const { token, impersonateUser } = login;
    return {
      server: cluster.server,
      certificateAuthority: pem(cluster.caData, cluster.caFile),
      clientCertificate: pem(login.certData, login.certFile),
      clientKey: pem(login.keyData, login.keyFile),
      tlsServerName: cluster.tlsServerName,
      insecureSkipTlsVerify: cluster.skipTLSVerify,
      proxyUrl: cluster.proxyUrl,
      credential: token === undefined ? { kind: "none" } : { kind: "token", token },
      impersonate: impersonateUser && { user: impersonateUser, groups: [] },
      namespace: config.getContextObject(config.getCurrentContext())?.namespace,
      context: config.getCurrentContext(),
    };
  }

  test("of one file", () => {
    fc.assert(
      fc.property(kubeconfigs, (content) => {
        const choice = chooseKubeconfig([{ directory: "/d", content }], {});
        expect(typeof choice === "string" ? undefined : choice).toEqual(theirChoice(content));
      }),
      runs(300),
    );
  });
});
