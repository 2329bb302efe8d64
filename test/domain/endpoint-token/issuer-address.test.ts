import { describe, expect, test } from "vitest";
import { addressProblem } from "../../../src/domain/endpoint-token/issuer-address.ts";

const local = "https://latchkey.latchkey-system.svc";
const document = "https://latchkey.example.com/.well-known/openid-configuration";

describe("a connected cluster can use", () => {
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
    expect(addressProblem({ issuer, discoveryUrl })).toBeUndefined();
  });
});

describe("a connected cluster cannot use the issuer", () => {
  test.each([
    [local, "has a host that another cluster cannot resolve; set --discovery-url"],
    [`${local}:8443/path`, "cannot resolve"],
    [`${local}.cluster.local`, "cannot resolve"],
    [`${local}.`, "cannot resolve"],
    ["https://pod.latchkey.latchkey-system.svc.cluster.local", "cannot resolve"],
    ["https://latchkey.svc", "cannot resolve"],
    ["https://LATCHKEY.LATCHKEY-SYSTEM.SVC", "cannot resolve"],
    ["https://latchkey", "cannot resolve"],
    ["https://localhost:8443", "cannot resolve"],
    [String.raw`https:\\latchkey.example.com`, "must begin with https:// and a host"],
    ["https:latchkey.example.com", "must begin with https:// and a host"],
    ["https://@latchkey.example.com", "must begin with https:// and a host"],
  ])("%s", (issuer, problem) => {
    expect(addressProblem({ issuer, discoveryUrl: undefined })).toEqual({
      option: "--issuer",
      value: issuer,
      fix: expect.stringContaining(problem),
    });
  });
});

describe("a connected cluster cannot use the discovery URL", () => {
  test.each([
    [`${local}/.well-known/openid-configuration`, "cannot resolve; set the URL of an Ingress"],
    ["https://latchkey/.well-known/openid-configuration", "cannot resolve"],
    ["https://latchkey.example.com/oidc", "must differ from --issuer"],
    ["https://latchkey.example.com/oidc//", "must differ from --issuer"],
    ["https://other.example.com", "must be the whole URL of the discovery document"],
    ["https://other.example.com/", "must be the whole URL of the discovery document"],
    ["https:other.example.com/x", "must begin with https:// and a host"],
  ])("%s", (discoveryUrl, problem) => {
    expect(addressProblem({ issuer: "https://latchkey.example.com/oidc", discoveryUrl })).toEqual({
      option: "--discovery-url",
      value: discoveryUrl,
      fix: expect.stringContaining(problem),
    });
  });
});
