import { expect, test } from "vitest";
import { managementEntry } from "../../../src/api/names.ts";
import {
  centralServer,
  isLoopback,
  namedServer,
} from "../../../src/client/cluster/central-server.ts";
import type { KubeconfigChoice } from "../../../src/kube/credentials/kubeconfig.ts";
import { fakeChoice } from "../fake-cluster.ts";

const gateway = {
  server: "https://gateway.example/kubernetes/management",
  certificateAuthorityData: "Z2F0ZXdheQ==",
};
const list = { data: { [managementEntry]: JSON.stringify({ gateway }) } };
const choice: KubeconfigChoice = {
  ...fakeChoice,
  certificateAuthority: { kind: "data", base64: "b3du" },
};

async function serverOf(given: string) {
  const named = namedServer({ centralServer: given, centralCa: undefined });
  const found = await centralServer(named!, "latchkey-system", { choice, get: async () => list });
  return [found.server, found["certificate-authority-data"]];
}

test.for<[string, string, string, string]>([
  ["has the CA of the context", "https://api.example:6443", "https://api.example:6443", "b3du"],
  [
    "keeps its path",
    "https://api.example/k8s/clusters/c/",
    "https://api.example/k8s/clusters/c",
    "b3du",
  ],
  ["gets path and CA of the gateway", "https://gateway.example", gateway.server, "Z2F0ZXdheQ=="],
  ["is the gateway with its path, too", `${gateway.server}/`, gateway.server, "Z2F0ZXdheQ=="],
  [
    "at the gateway with another path is as it is written",
    "https://gateway.example/other",
    "https://gateway.example/other",
    "b3du",
  ],
])("a named server %s", async ([, given, server, ca]) => {
  expect(await serverOf(given)).toEqual([server, ca]);
});

test("without a named server there is no CA, and plain HTTP is refused", () => {
  const none = { centralServer: undefined, centralCa: undefined };
  expect(namedServer(none)).toBeUndefined();
  expect(() => namedServer({ ...none, centralCa: "ca.crt" })).toThrow("--central-ca requires");
  expect(() => namedServer({ ...none, centralServer: "http://a" })).toThrow("must be an https URL");
});

test.for<[string, boolean]>([
  ["https://127.0.0.1:6443", true],
  ["https://127.8.0.1", true],
  ["https://localhost:8443/kubernetes/management", true],
  ["https://[::1]:6443", true],
  ["https://10.0.0.1", false],
  ["https://127.0.0.1.example.com", false],
])("%s means this machine: %s", ([server, wanted]) => {
  expect(isLoopback({ server })).toBe(wanted);
});
