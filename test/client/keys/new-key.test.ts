import { load } from "js-yaml";
import { expect, test } from "vitest";
import { managementEntry } from "../../../src/api/names.ts";
import type { ConnectionFlags } from "../../../src/client/connection/connection-options.ts";
import { newKeyText } from "../../../src/client/keys/new-key.ts";
import type { ApiRequest } from "../../../src/kube/client/transport.ts";
import { clusterInfo } from "../../../src/kube/credentials/kubeconfig-credentials.ts";
import type { KubeconfigChoice } from "../../../src/kube/credentials/kubeconfig.ts";
import { answeringCluster, type FakeAnswer, refusal, runCommand } from "../run-command.ts";

const at = "2026-01-01T00:00:00Z";
const gateway = { server: "https://gateway.example/kubernetes/management" };
const unauthorized = refusal(401, "Unauthorized", "Unauthorized");
const accepted: FakeAnswer = [201, { status: { userInfo: { username: "alice" } } }];
const published: FakeAnswer = [
  200,
  { data: { [managementEntry]: JSON.stringify({ gateway }), east: "{}" } },
];
const ready = {
  type: "Ready",
  status: "True",
  reason: "Active",
  message: "The key is accepted. It expires at 2026-01-01T00:00:30Z.",
  lastTransitionTime: at,
};

interface Installation {
  /** The answer to a SelfSubjectReview with the new key. */
  readonly toKey: FakeAnswer;
  readonly list?: FakeAnswer;
  readonly expiresAt?: string;
}

/** Runs `keys create` on this installation. */
function createKey(flags: Readonly<Record<string, string>>, installation: Installation) {
  const { toKey, list = published, expiresAt } = installation;
  const answer = ({ method, path }: ApiRequest): FakeAnswer => {
    if (path.includes("selfsubjectreviews")) return toKey;
    if (path.includes("configmaps")) return list;
    const metadata = {
      name: "ci",
      uid: "u",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: at,
    };
    const status = { observedGeneration: 1, conditions: [ready], expiresAt };
    return [method === "POST" ? 201 : 200, { metadata, status }];
  };
  const connect = async (_flags: ConnectionFlags) => answeringCluster(answer).cluster;
  return runCommand({
    command: "keys create",
    args: ["ci"],
    flags: { user: "alice", ...flags },
    connect,
  });
}

const own = "https://cluster.example";
const given = "https://other.example/kubernetes/management";

test.each<[string, Readonly<Record<string, string>>, Installation, number, string, string]>([
  ["the server of the context, which accepts the key", {}, { toKey: accepted }, 0, own, "Active"],
  [
    "the published gateway where that server refuses keys",
    {},
    { toKey: unauthorized },
    0,
    gateway.server,
    `${own} does not accept access keys, so the output has the gateway ${gateway.server}`,
  ],
  [
    "the server of the context if no gateway is published, which is not well",
    {},
    { toKey: unauthorized, list: refusal(404, "NotFound", "no list") },
    3,
    own,
    "no gateway publishes its address; set --gateway to it",
  ],
  [
    "the gateway of --gateway",
    { gateway: "https://other.example" },
    { toKey: unauthorized },
    0,
    given,
    "Active",
  ],
])("a new kubeconfig names %s", async (_server, flags, installation, code, server, sentence) => {
  const made = await createKey({ output: "kubeconfig", ...flags }, installation);
  expect(made.code).toBe(code);
  expect(made.stderr).toContain(sentence);
  expect(load(made.stdout)).toMatchObject({
    clusters: [{ cluster: { server } }],
    users: [{ user: { token: expect.stringMatching(/^lk_/) } }],
  });
  expect(made.stderr).not.toContain("lk_");
});

test("a new key is printed also if its server fails once it is stored", async () => {
  const failing = refusal(500, "InternalError", "broken");
  expect(await createKey({ output: "json" }, { toKey: failing })).toEqual({
    code: 1,
    stdout: expect.stringContaining('"key": "lk_'),
    stderr: "broken\n",
  });
});

test.each<[string, Readonly<Record<string, string>>, string | undefined]>([
  ["ends 30s after its creation, at 2026-01-01T00:00:30Z", { ttl: "30" }, "2026-01-01T00:00:30Z"],
  ["does not expire; --ttl sets a lifetime", {}, undefined],
])("keys create says that the key %s", async (end, flags, expiresAt) => {
  const { stderr } = await createKey(flags, {
    toKey: accepted,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });
  expect(stderr.match(/2026-01-01T00:00:30Z/g) ?? []).toHaveLength(expiresAt === undefined ? 0 : 1);
  expect(stderr).toContain(`ownedaccesskey/ci created: Active; it ${end}\n`);
});

test("keys create says what a key without a scope may do", async () => {
  const sentence = 'OwnedAccessKey "ci" has no scope: all rights of alice\n';
  expect((await createKey({}, { toKey: accepted })).stderr).toContain(sentence);
  const scoped = await createKey({ role: "serviceCLI" }, { toKey: accepted });
  expect(scoped.stderr).not.toContain("no scope");
});

test.each([
  ["--gateway requires --output", { gateway: "https://a" }],
  ["--gateway-ca requires --gateway", { output: "env", "gateway-ca": "ca.crt" }],
  ['--gateway: "http://a" must be an https URL', { output: "env", gateway: "http://a" }],
])("%s", async (sentence, flags) => {
  expect(await createKey(flags, { toKey: accepted })).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(sentence),
  });
});

const denied = (why: string) =>
  refusal(
    403,
    "Forbidden",
    `selfsubjectreviews.authentication.k8s.io is forbidden: User "bob" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope: ${why}`,
  );

test.each([
  "the access key of this request is not valid (Disabled)",
  "the access key of this request was deleted",
])("keys test says why a key is refused, and advises no right: %s", async (why) => {
  const connect = async () => answeringCluster(() => denied(why)).cluster;
  expect(await runCommand({ command: "keys test", input: "canary-0123456789", connect })).toEqual({
    code: 1,
    stdout: "",
    stderr: `the server does not accept this key any more: ${why}\n`,
  });
});

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

test("the kubeconfig of a key has no login of its maker at the proxy", () => {
  const own = { ...choice, proxyUrl: "http://me:canary@proxy.example.com:3128" };
  const text = newKeyText("kubeconfig", key, clusterInfo(own));
  expect(text).toContain("proxy-url: http://proxy.example.com:3128\n");
  expect(text).not.toContain("canary");
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
