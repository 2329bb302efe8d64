import { describe, expect, test } from "vitest";
import type { ConnectionFlags } from "../../../src/client/connection/connection-options.ts";
import {
  connectionVariables,
  variablesEntry,
  variablesKubeconfig,
} from "../../../src/client/connection/connection-variables.ts";
import { chooseKubeconfig } from "../../../src/kube/credentials/kubeconfig.ts";

const key = "canary-key-0123456789";
const server = "https://latchkey.example.com/kubernetes/management";
const ca = Buffer.from("-----BEGIN CERTIFICATE-----\nYQ==\n").toString("base64");
const all = {
  LATCHKEY_ACCESS_KEY: key,
  LATCHKEY_SERVER: server,
  LATCHKEY_CERTIFICATE_AUTHORITY_DATA: ca,
};
const none: ConnectionFlags = {
  namespace: undefined,
  kubeconfig: undefined,
  context: undefined,
  server: undefined,
  token: undefined,
  certificateAuthority: undefined,
  clientCertificate: undefined,
  clientKey: undefined,
  tlsServerName: undefined,
  insecureSkipTlsVerify: false,
  as: undefined,
  asGroup: [],
  requestTimeout: 1000,
};
const fileOf = (env: Readonly<Record<string, string>>, flags: Partial<ConnectionFlags> = {}) =>
  variablesKubeconfig({ ...none, ...flags }, env);

/** What is connected to, as `connect` chooses it. */
function chosen(env: Readonly<Record<string, string>>, flags: Partial<ConnectionFlags> = {}) {
  const file = fileOf(env, flags);
  const given = { ...none, ...flags, insecureSkipTlsVerify: undefined };
  return chooseKubeconfig(file === undefined ? [] : [file], {
    ...given,
    cluster: variablesEntry,
    user: variablesEntry,
  });
}

test("the variables are those that keys create -o env prints", () => {
  expect(Object.values(connectionVariables).toSorted()).toEqual(Object.keys(all).toSorted());
});

describe("the variables", () => {
  test("are the connection, without a context and in the namespace default", () => {
    expect(chosen({ ...all, KUBECONFIG: "/nowhere" })).toMatchObject({
      server,
      credential: { kind: "token", token: key },
      certificateAuthority: { kind: "data", base64: ca },
      context: "",
      namespace: "default",
    });
  });

  test.each<[string, Partial<ConnectionFlags>, object]>([
    ["--server", { server: "https://other" }, { server: "https://other" }],
    ["--token", { token: "t" }, { credential: { kind: "token", token: "t" } }],
    ["--namespace", { namespace: "web" }, { namespace: "web" }],
    ["--as", { as: "carol" }, { impersonate: { user: "carol", groups: [] } }],
    [
      "--certificate-authority",
      { certificateAuthority: "/ca" },
      { certificateAuthority: { kind: "file", path: "/ca" } },
    ],
  ])("yield to %s", (_flag, flags, expected) => {
    expect(chosen(all, flags)).toMatchObject(expected);
  });

  test.each<[string, Partial<ConnectionFlags>]>([
    ["--kubeconfig", { kubeconfig: "/some" }],
    ["--context", { context: "some" }],
  ])("do not count with %s, not even if they are wrong", (_flag, flags) => {
    expect(fileOf(all, flags)).toBeUndefined();
    expect(fileOf({ LATCHKEY_SERVER: "ftp://x" }, flags)).toBeUndefined();
  });

  test.each([{}, { LATCHKEY_ACCESS_KEY: "", LATCHKEY_SERVER: " " }, { LATCHKEY_OTHER: "x" }])(
    "are none: %j",
    (env) => {
      expect(fileOf(env)).toBeUndefined();
    },
  );

  test("may have line breaks at their ends, as secrets of a pipeline have", () => {
    const env = { LATCHKEY_ACCESS_KEY: `${key}\n`, LATCHKEY_SERVER: `${server}\n` };
    expect(chosen(env)).toMatchObject({ server, credential: { token: key } });
  });

  test.each(["http://127.0.0.1:8001", "http://localhost/x", "http://[::1]:8001"])(
    "may name a server of this machine without TLS: %s",
    (local) => {
      expect(chosen({ ...all, LATCHKEY_SERVER: local })).toMatchObject({ server: local });
    },
  );

  test.each<[string, Readonly<Record<string, string>>, Partial<ConnectionFlags>, string]>([
    [
      "without a server",
      { LATCHKEY_ACCESS_KEY: key },
      {},
      "LATCHKEY_ACCESS_KEY is set, and LATCHKEY_SERVER is not",
    ],
    [
      "with an empty key, as of a pipeline without the secret",
      { ...all, LATCHKEY_ACCESS_KEY: "" },
      {},
      "LATCHKEY_SERVER is set, and LATCHKEY_ACCESS_KEY is not, or is empty; set both",
    ],
    [
      "with the CA alone",
      { LATCHKEY_CERTIFICATE_AUTHORITY_DATA: ca },
      {},
      "DATA is set, and LATCHKEY_ACCESS_KEY is not",
    ],
    [
      "with the CA and a token",
      { LATCHKEY_CERTIFICATE_AUTHORITY_DATA: ca },
      { token: "t" },
      "DATA is set, and LATCHKEY_SERVER is not",
    ],
    ["with the key in place of the server", { ...all, LATCHKEY_SERVER: key }, {}, "must be a URL"],
    [
      "with a server of another machine without TLS",
      { ...all, LATCHKEY_SERVER: "http://127.0.0.1.example.com" },
      {},
      "LATCHKEY_SERVER must be a URL, such as https://",
    ],
    ["with a wrong CA", { ...all, LATCHKEY_CERTIFICATE_AUTHORITY_DATA: "Y2E=" }, {}, "in base64"],
    ["with a key of two lines", { ...all, LATCHKEY_ACCESS_KEY: `${key}\nx: y` }, {}, "line breaks"],
  ])("are refused %s, without the key", (_what, env, flags, sentence) => {
    const refused = expect.objectContaining({
      name: "UsageError",
      message: expect.stringMatching(/^(?!.*canary)/s),
    });
    expect(() => fileOf(env, flags)).toThrow(sentence);
    expect(() => fileOf(env, flags)).toThrow(refused);
  });
});
