import { createPrivateKey, X509Certificate } from "node:crypto";
import { inspect } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { caCertificates, caFingerprints, isSignedBy } from "../../src/tokens/certificate-pem.ts";
import {
  caOfSecret,
  clientDataOf,
  newServerCertificates,
  parseServerCertificates,
  renewCertificates,
  tlsOf,
  type ServerCertificates,
  ServerCertificatesError,
  serverCertificatesSecret,
} from "../../src/tokens/server-certificates.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const terms = { dnsNames: ["w.ns.svc", "w.ns"], clientName: "latchkey:kube-apiserver", now };
const year = 365 * 86_400_000;

const asSent = (certificates: ServerCertificates): unknown =>
  JSON.parse(encodeBody(serverCertificatesSecret(certificates, { namespace: "ns" })));
const read = (pem: string): X509Certificate => new X509Certificate(pem);
const countOf = (pem: string): number => pem.split("-----BEGIN CERTIFICATE-----").length - 1;

describe("new certificates", () => {
  let made: ServerCertificates;
  beforeAll(async () => void (made = await newServerCertificates(terms)));

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
    expect(tlsOf(parseServerCertificates(asSent(made)))).toEqual(tlsOf(made));
    expect(parseServerCertificates(asSent(made)).validities).toEqual(made.validities);
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
      signing: { ...terms, now: now + year / 2 },
      before: made,
    });
    expect(renewed.client).toBe(made.client);
    expect(renewed.validities.serving.endsAt).toBe(now + 1.5 * year);
    expect(read(renewed.serving.certificate).verify(read(made.ca.certificate).publicKey)).toBe(
      true,
    );
  });

  test("keep only the previous CA in the bundle", async () => {
    const second = await newServerCertificates({ ...terms, now: now + 7 * year }, made);
    expect([
      countOf(second.ca.certificate),
      second.ca.certificate.includes(made.ca.certificate.trim()),
    ]).toEqual([2, true]);
    expect(read(second.client.certificate).verify(read(second.ca.certificate).publicKey)).toBe(
      true,
    );
    const third = await newServerCertificates({ ...terms, now: now + 14 * year }, second);
    expect([
      countOf(third.ca.certificate),
      third.ca.certificate.includes(made.ca.certificate.trim()),
    ]).toEqual([2, false]);
  });
});

describe("a new CA", () => {
  const long = 7 * year;

  test("leaves the serving certificate to the former CA, which kube-apiserver still trusts", async () => {
    const made = await newServerCertificates(terms);
    const second = await newServerCertificates({ ...terms, now: now + long }, made);
    expect(read(second.serving.certificate).verify(read(made.ca.certificate).publicKey)).toBe(true);
    expect([
      second.validities.serving.endsAt,
      isSignedBy(second.client.certificate, second.ca.certificate),
      isSignedBy(made.client.certificate, second.ca.certificate),
    ]).toEqual([now + long + year, true, false]);
    expect(tlsOf(parseServerCertificates(asSent(second)))).toEqual(tlsOf(second));
    expect(caFingerprints(second.ca.certificate)).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      ...caFingerprints(made.ca.certificate),
    ]);
  });

  test("signs the serving certificate if the former CA expires too early", async () => {
    const made = await newServerCertificates(terms);
    const second = await newServerCertificates({ ...terms, now: now + 9.5 * year }, made);
    expect(read(second.serving.certificate).verify(read(second.ca.certificate).publicKey)).toBe(
      true,
    );
  });
});

test("the CA of a Secret is its ca.crt", async () => {
  const made = await newServerCertificates(terms);
  const data = { "ca.crt": Buffer.from(made.ca.certificate).toString("base64") };
  expect(caOfSecret({ data })).toBe(caCertificates(made.ca.certificate));
  expect(caOfSecret({ data: { "tls.crt": data["ca.crt"] } })).toBeUndefined();
  expect(caOfSecret({})).toBeUndefined();
});

describe("parseServerCertificates throws an error that does not quote the Secret", () => {
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
    expect(() => parseServerCertificates({ data })).toThrow(ServerCertificatesError);
    expect(() => parseServerCertificates({ data })).toThrow(problem);
    expect(() => parseServerCertificates({ data })).toThrow(/^(?!.*canary)/);
  });

  test("which names the Secret", () => {
    const data = { "ca.crt": "Y2FuYXJ5", "ca.key": "Y2FuYXJ5" };
    expect(() => parseServerCertificates({ data }, "latchkey-gateway-certificates")).toThrow(
      "Secret latchkey-gateway-certificates: the ca certificate is not a PEM certificate",
    );
  });

  test.each(["ca", "tls", "client"])("with a %s.key of another certificate", async (file) => {
    const [one, other] = [await newServerCertificates(terms), await newServerCertificates(terms)];
    const data = {
      ...recordAt(asSent(one), "data"),
      [`${file}.key`]: recordAt(asSent(other), "data")[`${file}.key`],
    };
    expect(() => parseServerCertificates({ data })).toThrow(
      `data key ${file}.key is not the private key of ${file}.crt`,
    );
    expect(() => parseServerCertificates({ data })).toThrow(/^(?![^]*(?:PRIVATE|BEGIN))/);
  });
});
