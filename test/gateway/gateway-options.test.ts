import { describe, expect, test } from "vitest";
import { gatewayOptions } from "../../src/gateway/gateway-options.ts";
import { parseConfig } from "../../src/runtime/options.ts";
import { flagTexts } from "../runtime/flag-texts.ts";

const externalUrl = (text: string): string | undefined =>
  parseConfig(gatewayOptions, { flags: flagTexts([`--external-url=${text}`]), env: {} })
    .externalUrl;

describe("the external URL of the gateway", () => {
  test.each([
    ["", undefined],
    ["https://latchkey.example.com", "https://latchkey.example.com"],
    ["https://latchkey.example.com/", "https://latchkey.example.com"],
    ["https://LATCHKEY.example.com:443", "https://latchkey.example.com"],
    ["https://127.0.0.1:8443", "https://127.0.0.1:8443"],
    ["https://[::1]:8443", "https://[::1]:8443"],
  ])("%j is %j", (text, url) => {
    expect(externalUrl(text)).toBe(url);
  });

  test.each([
    ["http://latchkey.example.com", "must be an https URL"],
    ["latchkey.example.com", "must be an https URL"],
    ["https://user:password@latchkey.example.com", "must be an https URL without credentials"],
    ["https://latchkey.example.com?a=b", "must be an https URL without credentials, query"],
    ["https://latchkey.example.com/proxy", "must not have a path"],
  ])("%j is refused", (text, message) => {
    expect(() => externalUrl(text)).toThrow(message);
  });
});
