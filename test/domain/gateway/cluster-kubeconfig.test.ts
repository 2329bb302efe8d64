import { describe, expect, test } from "vitest";
import { parseClusterKubeconfig } from "../../../src/domain/gateway/cluster-kubeconfig.ts";

const pem = Buffer.from("-----BEGIN CERTIFICATE-----\n").toString("base64");

function kubeconfig(server: string, ca: string): unknown {
  const cluster = { server, "certificate-authority-data": ca };
  return {
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster }],
    users: [{ name: "a", user: { token: "t" } }],
  };
}

describe("a kubeconfig of a connected cluster", () => {
  test.each([
    ["slashes at the end of the server", "https://a.example.com//", pem],
    ["line breaks in base64", "https://a.example.com", ` ${pem.slice(0, 8)}\n${pem.slice(8)}\n`],
  ])("may have %s", (_what, server, ca) => {
    expect(parseClusterKubeconfig(kubeconfig(server, ca))).toMatchObject({
      kind: "access",
      server: "https://a.example.com",
      ca: "-----BEGIN CERTIFICATE-----\n",
    });
  });

  test.each([
    ["a server of more than 512 characters", `https://a/${"b".repeat(503)}`, pem, "at most 512"],
    ["a CA of blanks", "https://a", " ".repeat(100_000), "must be base64 of PEM"],
    ["a CA of other characters", "https://a", `${pem}!`, "must be base64 of PEM"],
  ])("must not have %s", (_what, server, ca, problem) => {
    expect(parseClusterKubeconfig(kubeconfig(server, ca))).toEqual({
      kind: "refused",
      problem: expect.stringContaining(problem),
    });
  });
});
