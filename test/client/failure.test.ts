import { describe, expect, test } from "vitest";
import { exitCodeOf, Failure, printable, sentenceOf } from "../../src/client/failure.ts";
import { CredentialsError } from "../../src/kube/credentials/credentials.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { UsageError } from "../../src/runtime/config-values.ts";

type Details = ConstructorParameters<typeof KubeError>[1];
const refused = (code: Details["code"], status: number, details: Partial<Details> = {}) =>
  new KubeError("GET /path: 403 text", { explanation: "the message", code, status, ...details });

describe("an error has an exit code and a sentence", () => {
  test.each<[string, unknown, number, string]>([
    ["a usage error", new UsageError("wrong"), 2, "wrong"],
    ["credentials", new CredentialsError("no context", "set one"), 2, "no context; set one"],
    ["a missing object", refused("NotFound", 404, { objectName: "x" }), 4, "the message"],
    [
      "a missing kind",
      refused("NotFound", 404),
      4,
      "the message; this may be a connected cluster, or one without Latchkey: kubectl latchkey check says which",
    ],
    ["a missing right", refused("Forbidden", 403, { lacksPermission: true }), 5, "the message"],
    ["a policy", refused("Forbidden", 403), 1, "the message"],
    [
      "a policy that asks for a verb",
      refused("Forbidden", 403, {
        explanation: 'a key that acts as another user requires the verb impersonate on users "x"',
      }),
      5,
      'a key that acts as another user requires the verb impersonate on users "x"',
    ],
    ["an invalid object", refused("Invalid", 422), 1, "the message"],
    [
      "a bad credential",
      refused("Unauthorized", 401),
      1,
      "the API server does not accept the credentials; log in again, or use another context or key",
    ],
    [
      "no network",
      refused("Network", 0, { explanation: "ECONNREFUSED" }),
      1,
      "the API server does not answer: ECONNREFUSED",
    ],
    [
      "no network to a host",
      refused("Network", 0, { explanation: "ECONNREFUSED", host: "a:6443" }),
      1,
      "the API server at a:6443 does not answer: ECONNREFUSED",
    ],
    ["a failure", new Failure("not well", "unhealthy"), 3, "not well"],
    ["a bug", new TypeError("x is\nundefined"), 1, "x is undefined"],
    ["a thrown text", "text", 1, "text"],
  ])("%s", (_what, error, code, sentence) => {
    expect([exitCodeOf(error), sentenceOf(error)]).toEqual([code, sentence]);
  });
});

describe("a TLS handshake that fails is said in words", () => {
  test.each([
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "the certificate of the API server is not trusted"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "or with --certificate-authority"],
    ["CERT_HAS_EXPIRED", "the certificate of the API server has expired; check the clock"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "or set --tls-server-name to a name of it"],
    ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "does not accept the client certificate"],
    ["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", "does not accept the client certificate"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "check the address and the port of the server"],
    ["EPROTO", "check the address and the port of the server"],
  ])("%s", (code, part) => {
    const sentence = sentenceOf(refused("Network", 0, { explanation: code }));
    expect(sentence).toContain(part);
    expect(sentence).toMatch(new RegExp(`\\(${code}\\)$`));
  });
});

test("a server cannot control the terminal", () => {
  expect(printable("a\u{1b}]0;title\u{7}\n  b\u{9b}31m\u{202e}")).toBe("a�]0;title� b�31m�");
});
