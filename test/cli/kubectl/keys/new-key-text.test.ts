import { load } from "js-yaml";
import { expect, test } from "vitest";
import { newKeyText } from "../../../../src/cli/kubectl/keys/new-key-text.ts";
import type { KubeconfigChoice } from "../../../../src/kube/credentials/kubeconfig.ts";
import { clusterInfo } from "../../../../src/kube/credentials/kubeconfig-credentials.ts";

const choice: KubeconfigChoice = {
  server: "https://example.com/kubernetes/management",
  certificateAuthority: { kind: "data", base64: "Q0E=" },
  clientCertificate: undefined,
  clientKey: undefined,
  tlsServerName: "inside",
  insecureSkipTlsVerify: false,
  proxyUrl: "http://proxy.example.com",
  credential: { kind: "none" },
  impersonate: { user: "alice", groups: [] },
  namespace: "web",
  context: "c",
};
const key = { name: "ci", subject: "user:alice", key: "lk_test" };

test("the kubeconfig reaches the server as the context does, as the key", () => {
  expect(load(newKeyText("kubeconfig", key, clusterInfo(choice)))).toEqual({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "latchkey-ci",
    clusters: [
      {
        name: "latchkey-ci",
        cluster: {
          server: "https://example.com/kubernetes/management",
          "certificate-authority-data": "Q0E=",
          "tls-server-name": "inside",
          "proxy-url": "http://proxy.example.com",
        },
      },
    ],
    users: [{ name: "latchkey-ci", user: { token: "lk_test" } }],
    contexts: [{ name: "latchkey-ci", context: { cluster: "latchkey-ci", user: "latchkey-ci" } }],
  });
});

test.each([
  [choice.server, "LATCHKEY_SERVER=https://example.com/kubernetes/management"],
  ["https://example.com/a;b c", "LATCHKEY_SERVER='https://example.com/a;b c'"],
])("the variable of %s is a line of a shell", (server, line) => {
  const text = newKeyText("env", key, { server });
  expect(text).toBe(`LATCHKEY_ACCESS_KEY=lk_test\n${line}\n`);
});

test("without a format it is the key alone", () => {
  expect(newKeyText(undefined, key, clusterInfo(choice))).toBe("lk_test\n");
});
