import { describe, expect, test } from "vitest";
import { clusterList, type ListedClusters } from "../../../src/domain/gateway/cluster-list.ts";
import { mergePatch } from "../../../src/domain/plan/merge-patch.ts";

const certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const key = "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const externalUrl = "https://latchkey.example.com";

const withoutDirect = (names: readonly string[]): ListedClusters =>
  new Map(names.map((name) => [name, undefined]));

/** The documents of a list by name, parsed. */
function documents(
  names: readonly string[],
  gateway: Partial<Parameters<typeof clusterList>[1]> = {},
): readonly unknown[] {
  const { data } = clusterList(withoutDirect(names), { externalUrl, ca: certificate, ...gateway });
  return Object.entries(data)
    .filter(([name]) => name !== "_management")
    .map(([name, text]) => [name, JSON.parse(text)]);
}

describe("the list of connected clusters", () => {
  const certificateAuthorityData = base64(certificate);

  test("has address and CA of the gateway for each name, in the order of names", () => {
    expect(documents(["west", "east"])).toEqual([
      [
        "east",
        { gateway: { server: `${externalUrl}/kubernetes/cluster/east`, certificateAuthorityData } },
      ],
      [
        "west",
        { gateway: { server: `${externalUrl}/kubernetes/cluster/west`, certificateAuthorityData } },
      ],
    ]);
  });

  test.each([
    ["without an address of the gateway has its CA alone", { externalUrl: undefined }, certificate],
    [
      "has all certificates of a bundle",
      { ca: certificate + certificate },
      certificate + certificate,
    ],
    ["has no key that is beside a certificate", { ca: key + certificate }, certificate],
  ])("%s", (_rule, gateway, ca) => {
    const server =
      "externalUrl" in gateway ? {} : { server: `${externalUrl}/kubernetes/cluster/east` };
    expect(documents(["east"], gateway)).toEqual([
      ["east", { gateway: { ...server, certificateAuthorityData: base64(ca) } }],
    ]);
  });

  test("has no CA of a file without certificates", () => {
    expect(documents(["east"], { ca: key })).toEqual([
      ["east", { gateway: { server: `${externalUrl}/kubernetes/cluster/east` } }],
    ]);
  });

  test.each([
    ["with its CA", certificate, { certificateAuthorityData }],
    ["of a public CA", undefined, {}],
  ])("has a direct address %s", (_which, ca, trust) => {
    const server = "https://east.example.com";
    const { data } = clusterList(new Map([["east", { server, ca }]]), { externalUrl, ca: key });
    expect(JSON.parse(data["east"] ?? "")).toEqual({
      gateway: { server: `${externalUrl}/kubernetes/cluster/east` },
      direct: { server, ...trust },
    });
  });

  test("has the central cluster, whose name no cluster can have, if clients know an address", () => {
    const { data, omitted } = clusterList(new Map(), { externalUrl, ca: certificate });
    expect(omitted).toBe(0);
    expect(Object.keys(data)).toEqual(["_management"]);
    expect(JSON.parse(data["_management"] ?? "")).toEqual({
      gateway: { server: `${externalUrl}/kubernetes/management`, certificateAuthorityData },
    });
  });

  test("is empty without clusters and without an address", () => {
    expect(clusterList(new Map(), { externalUrl: undefined, ca: certificate }).data).toEqual({});
  });

  test("takes names that an object has anyway", () => {
    expect(documents(["constructor", "toString"])).toHaveLength(2);
  });

  test("leaves out the last names where a ConfigMap would be too large", () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `cluster-${10_000 + index}`);
    const ca = certificate.replace("MIIB", "M".repeat(800));
    const { data, omitted } = clusterList(withoutDirect(names.toReversed()), { externalUrl, ca });
    const listed = Object.keys(data).filter((name) => name !== "_management");
    expect(listed).toEqual(names.slice(0, listed.length));
    expect(listed.length + omitted).toBe(names.length);
    const size = Object.entries(data).flat().join("").length;
    expect(size).toBeLessThanOrEqual(768 * 1024);
    expect(size).toBeGreaterThan(760 * 1024);
  });
});

describe("the change of the list", () => {
  test.each([
    ["is nothing if the list is the same", { east: "a" }, { east: "a" }, undefined],
    ["adds a cluster", {}, { east: "a" }, { east: "a" }],
    ["removes a cluster", { east: "a", west: "b" }, { east: "a" }, { west: null }],
    ["removes what others wrote", { east: "a", note: "x" }, { east: "a" }, { note: null }],
    ["replaces a document", { east: "a" }, { east: "b" }, { east: "b" }],
  ])("%s", (_rule, existing, data, patch) => {
    expect(mergePatch(existing, data)).toEqual(patch);
  });
});
