import { describe, expect, test } from "vitest";
import { clusterLocalAddress } from "../../../src/domain/endpoint-token/issuer-address.ts";

const local = "https://latchkey.latchkey-system.svc";
const document = "https://latchkey.example.com/.well-known/openid-configuration";

describe("another cluster may resolve", () => {
  test.each([
    ["https://latchkey.example.com", undefined],
    ["https://latchkey.example.com:8443/oidc", undefined],
    ["https://svc.example.com", undefined],
    ["https://oidc.svc.example.com", undefined],
    ["https://10.0.0.7", undefined],
    ["https://[fd00::7]:8443", undefined],
    [local, document],
    ["https://localhost", document],
    ["https://latchkey.example.com", "https://other.example.com/oidc.json"],
  ])("%s with discovery at %s", (issuer, discoveryUrl) => {
    expect(clusterLocalAddress({ issuer, discoveryUrl })).toBeUndefined();
  });
});

test.each([
  local,
  `${local}:8443/path`,
  `${local}.cluster.local`,
  `${local}.`,
  "https://pod.latchkey.latchkey-system.svc.cluster.local",
  "https://latchkey.svc",
  "https://LATCHKEY.LATCHKEY-SYSTEM.SVC",
  "https://latchkey",
  "https://localhost:8443",
])("no other cluster resolves %s", (value) => {
  const issuer = "https://latchkey.example.com";
  expect(clusterLocalAddress({ issuer: value, discoveryUrl: undefined })).toEqual({
    option: "--issuer",
    value,
  });
  expect(clusterLocalAddress({ issuer, discoveryUrl: value })).toEqual({
    option: "--discovery-url",
    value,
  });
});
