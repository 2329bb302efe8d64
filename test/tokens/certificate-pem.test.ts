import { beforeAll, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import {
  caCertificates,
  caFingerprints,
  isSignedBy,
  type KeyPair,
} from "../../src/tokens/certificate-pem.ts";
import { newCa } from "../../src/tokens/certificate-signing.ts";

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

test.each(["", "garbage", "-----BEGIN CERTIFICATE-----\nY2FuYXJ5\n-----END CERTIFICATE-----\n"])(
  "an invalid certificate has no fingerprint and no signature of the CA: %j",
  (pem) => {
    expect([caFingerprints(pem), isSignedBy(pem, ca.certificate)]).toEqual([[], false]);
  },
);
