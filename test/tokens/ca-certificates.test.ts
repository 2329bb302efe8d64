import { beforeAll, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { caCertificates, caOfSecret } from "../../src/tokens/ca-certificates.ts";
import { type KeyPair, newCa } from "../../src/tokens/certificate-signing.ts";

let ca: KeyPair;
beforeAll(async () => {
  ca = await newCa({ dnsNames: ["a.example.com"], clientName: "a", now: Date.now() });
});

test("certificates are taken without the text around them, such as a private key", () => {
  const text = `# of us\r\n${SecretText.reveal(ca.privateKey)}\n${ca.certificate}\n${ca.certificate}`;
  const found = caCertificates(text) ?? "";
  expect(found.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  expect(found).not.toMatch(/PRIVATE|# of us/);
});

test.each([
  ["nothing", ""],
  ["no certificate", "-----BEGIN CERTIFICATE-----"],
  ["an invalid certificate", "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"],
])("%s is refused", (_what, text) => {
  expect(caCertificates(text)).toBeUndefined();
});

test("a valid certificate before an invalid one is refused", () => {
  const invalid = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n";
  expect(caCertificates(ca.certificate + invalid)).toBeUndefined();
});

test("the CA of a Secret is its ca.crt", () => {
  const data = { "ca.crt": Buffer.from(ca.certificate).toString("base64") };
  expect(caOfSecret({ data })).toBe(caCertificates(ca.certificate));
  expect(caOfSecret({ data: { "tls.crt": data["ca.crt"] } })).toBeUndefined();
  expect(caOfSecret({})).toBeUndefined();
});
