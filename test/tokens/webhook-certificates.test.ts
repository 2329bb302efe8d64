import { createPrivateKey, X509Certificate } from "node:crypto";
import { inspect } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import {
  caFingerprints,
  clientDataOf,
  isSignedBy,
  newWebhookCertificates,
  parseWebhookCertificates,
  renewCertificates,
  tlsOf,
  type WebhookCertificates,
  WebhookCertificatesError,
  webhookCertificatesSecret,
} from "../../src/tokens/webhook-certificates.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const terms = { dnsNames: ["w.ns.svc", "w.ns"], clientName: "latchkey:kube-apiserver", now };
const year = 365 * 86_400_000;

const asSent = (certificates: WebhookCertificates): unknown =>
  JSON.parse(encodeBody(webhookCertificatesSecret(certificates, { namespace: "ns" })));
const read = (pem: string): X509Certificate => new X509Certificate(pem);
const countOf = (pem: string): number => pem.split("-----BEGIN CERTIFICATE-----").length - 1;

describe("new certificates", () => {
  let made: WebhookCertificates;
  beforeAll(async () => void (made = await newWebhookCertificates(terms)));

  test("are signed by the CA, and are not CAs", () => {
    const ca = read(made.ca.certificate);
    expect(ca.ca).toBe(true);
    for (const { certificate } of [made.serving, made.client]) {
      expect(read(certificate).verify(ca.publicKey)).toBe(true);
      expect(read(certificate).checkIssued(ca)).toBe(true);
      expect(read(certificate).ca).toBe(false);
    }
  });

  test("have the DNS names of the webhook, and the common name of kube-apiserver", () => {
    expect(read(made.serving.certificate).subjectAltName).toBe("DNS:w.ns.svc, DNS:w.ns");
    expect(read(made.client.certificate).subject).toBe("CN=latchkey:kube-apiserver");
  });

  test("are given to kube-apiserver as base64 of PEM", () => {
    const decoded = (encoded: string): string => Buffer.from(encoded, "base64").toString("utf8");
    const { certificate, privateKey, ca } = clientDataOf(made);
    expect(decoded(certificate)).toBe(made.client.certificate);
    expect(decoded(ca)).toBe(made.ca.certificate);
    expect(read(decoded(certificate)).checkPrivateKey(createPrivateKey(decoded(privateKey)))).toBe(
      true,
    );
  });

  test("have one extended key usage each", () => {
    expect(read(made.serving.certificate).keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(read(made.client.certificate).keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  });

  test("are valid for one year, and the CA for ten", () => {
    const { ca, serving, client } = made.validities;
    expect([ca.endsAt, serving.endsAt, client.endsAt]).toEqual([
      now + 10 * year,
      now + year,
      now + year,
    ]);
  });

  test("are parsed unchanged from their Secret", () => {
    expect(tlsOf(parseWebhookCertificates(asSent(made)))).toEqual(tlsOf(made));
    expect(parseWebhookCertificates(asSent(made)).validities).toEqual(made.validities);
  });

  test("never print their private keys", () => {
    expect(`${inspect(made, { depth: 9, showHidden: true })}${JSON.stringify(made)}`).not.toMatch(
      /PRIVATE|[A-Za-z0-9+/]{40,}\n-----END PRIVATE/,
    );
  });

  test("keep the certificates that are not renewed", async () => {
    const renewed = await renewCertificates({
      ca: made.ca,
      names: ["serving"],
      terms: { ...terms, now: now + year / 2 },
      before: made,
    });
    expect(renewed.client).toBe(made.client);
    expect(renewed.validities.serving.endsAt).toBe(now + 1.5 * year);
    expect(read(renewed.serving.certificate).verify(read(made.ca.certificate).publicKey)).toBe(
      true,
    );
  });

  test("keep only the previous CA in the bundle", async () => {
    const second = await newWebhookCertificates({ ...terms, now: now + 7 * year }, made);
    expect([
      countOf(second.ca.certificate),
      second.ca.certificate.includes(made.ca.certificate.trim()),
    ]).toEqual([2, true]);
    expect(read(second.client.certificate).verify(read(second.ca.certificate).publicKey)).toBe(
      true,
    );
    const third = await newWebhookCertificates({ ...terms, now: now + 14 * year }, second);
    expect([
      countOf(third.ca.certificate),
      third.ca.certificate.includes(made.ca.certificate.trim()),
    ]).toEqual([2, false]);
  });
});

describe("a new CA", () => {
  const long = 7 * year;

  test("leaves the serving certificate to the former CA, which kube-apiserver still trusts", async () => {
    const made = await newWebhookCertificates(terms);
    const second = await newWebhookCertificates({ ...terms, now: now + long }, made);
    expect(read(second.serving.certificate).verify(read(made.ca.certificate).publicKey)).toBe(true);
    expect([
      second.validities.serving.endsAt,
      isSignedBy(second.client.certificate, second),
      isSignedBy(made.client.certificate, second),
    ]).toEqual([now + long + year, true, false]);
    expect(tlsOf(parseWebhookCertificates(asSent(second)))).toEqual(tlsOf(second));
    expect(caFingerprints(second.ca.certificate)).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      ...caFingerprints(made.ca.certificate),
    ]);
  });

  test("signs the serving certificate if the former CA expires too early", async () => {
    const made = await newWebhookCertificates(terms);
    const second = await newWebhookCertificates({ ...terms, now: now + 9.5 * year }, made);
    expect(read(second.serving.certificate).verify(read(second.ca.certificate).publicKey)).toBe(
      true,
    );
  });
});

describe("an invalid certificate", () => {
  test.each(["", "garbage", "-----BEGIN CERTIFICATE-----\nY2FuYXJ5\n-----END CERTIFICATE-----\n"])(
    "has no fingerprint and no signature of the CA: %j",
    async (pem) => {
      expect([caFingerprints(pem), isSignedBy(pem, await newWebhookCertificates(terms))]).toEqual([
        [],
        false,
      ]);
    },
  );
});

describe("parseWebhookCertificates throws an error that does not quote the Secret", () => {
  test.each<[string, Record<string, string>, string]>([
    ["without data", {}, "data key ca.crt is missing"],
    [
      "with data that is not a certificate",
      Object.fromEntries(
        ["ca.crt", "ca.key", "tls.crt", "tls.key", "client.crt", "client.key"].map((file) => [
          file,
          "Y2FuYXJ5",
        ]),
      ),
      "the ca certificate is not a PEM certificate",
    ],
  ])("%s", (_rule, data, problem) => {
    expect(() => parseWebhookCertificates({ data })).toThrow(WebhookCertificatesError);
    expect(() => parseWebhookCertificates({ data })).toThrow(problem);
    expect(() => parseWebhookCertificates({ data })).toThrow(/^(?!.*canary)/);
  });

  test.each(["ca", "tls", "client"])("with a %s.key of another certificate", async (file) => {
    const [one, other] = [await newWebhookCertificates(terms), await newWebhookCertificates(terms)];
    const data = {
      ...recordAt(asSent(one), "data"),
      [`${file}.key`]: recordAt(asSent(other), "data")[`${file}.key`],
    };
    expect(() => parseWebhookCertificates({ data })).toThrow(
      `data key ${file}.key is not the private key of ${file}.crt`,
    );
    expect(() => parseWebhookCertificates({ data })).toThrow(/^(?![^]*(?:PRIVATE|BEGIN))/);
  });
});
