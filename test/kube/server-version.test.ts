import { expect, test } from "vitest";
import { minorOf, serverVersion } from "../../src/kube/server-version.ts";

const transport = (status: number, text: string) => ({ request: async () => ({ status, text }) });

test.each([
  ['{"major":"1","minor":"36","gitVersion":"v1.36.2"}', "v1.36.2"],
  ['{"major":"1"}', ""],
])("the version in %s is %j", async (text, version) => {
  expect(await serverVersion(transport(200, text))).toBe(version);
});

test.each([
  [403, "Forbidden", '{"kind":"Status","reason":"Forbidden"}'],
  [200, "Network", "<html>"],
])("a response with status %i rejects with %s", async (status, code, text) => {
  await expect(serverVersion(transport(status, text))).rejects.toMatchObject({ code });
});

test.each([
  ["v1.36.2", 36],
  ["v1.35.9-eks-1a2b", 35],
  ["v1.37.0+k3s1", 37],
  ["v2.0.0", undefined],
  ["", undefined],
])("the minor version of %j is %j", (version, minor) => {
  expect(minorOf(version)).toBe(minor);
});
