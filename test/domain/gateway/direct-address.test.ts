import { describe, expect, test } from "vitest";
import { parseDirectAddress } from "../../../src/domain/gateway/direct-address.ts";

const certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const key = "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n";
const server = "https://east.example.com:6443";

describe("a direct address", () => {
  test("is not there without its data keys", () => {
    expect(parseDirectAddress(undefined, undefined)).toBeUndefined();
  });

  test.each([
    ["without a CA", server, undefined, { server, ca: undefined }],
    ["with a CA", server, certificate, { server, ca: certificate }],
    ["with a path and a newline", `${server}/path/\n`, undefined, { server: `${server}/path` }],
    ["without a key that is beside the CA", server, key + certificate, { server, ca: certificate }],
  ])("%s is published", (_how, address, ca, expected) => {
    expect(parseDirectAddress(address, ca)).toMatchObject(expected);
  });

  const wrongServer = "data[direct-server] must be an https URL";
  const wrongCa = "data[direct-ca.crt] must be certificates";
  test.each([
    ["http", "http://east.example.com", undefined, wrongServer],
    ["credentials", "https://canary:canary@east.example.com", undefined, wrongServer],
    ["a query", `${server}/?token=canary`, undefined, wrongServer],
    ["an empty query", `${server}/?`, undefined, wrongServer],
    ["a fragment", `${server}/#canary`, undefined, wrongServer],
    ["a line break", `${server}/\ncanary`, undefined, wrongServer],
    ["no URL", "canary", undefined, wrongServer],
    ["nothing", "", undefined, wrongServer],
    ["a long path", `${server}/${"a".repeat(512)}`, undefined, wrongServer],
    ["a key instead of a CA", server, key, wrongCa],
    ["a long CA", server, certificate + "a".repeat(16 * 1024), wrongCa],
    ["a CA without an address", undefined, certificate, "data[direct-ca.crt] requires"],
  ])("with %s is refused without its value", (_what, address, ca, sentence) => {
    const found = parseDirectAddress(address, ca);
    expect(found).toEqual(expect.stringContaining(sentence));
    expect(found).not.toContain("canary");
  });
});
