import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { keyIdOf, signedBytes, signEnvelope, verifyEnvelope } from "../../release/envelope.ts";
import { provenanceOf } from "../../release/provenance.ts";

const statement = provenanceOf([{ name: "a", sha256: "a".repeat(64) }], {
  repository: "https://git.example.com/latchkey",
  ref: "refs/tags/v0.1.0",
  commit: "1".repeat(40),
  lockSha256: "2".repeat(64),
  builder: "https://builder.example.com/1",
});
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed25519 = generateKeyPairSync("ed25519");
const { publicKey } = p256;
const envelope = signEnvelope(statement, p256.privateKey);
const [signature = { keyid: "", sig: "" }] = envelope.signatures;
const otherSignatures = signEnvelope(statement, ed25519.privateKey).signatures;

/** An envelope whose one signature, of the P-256 key, is of any payload of any type. */
function signed(text: string, payloadType = envelope.payloadType) {
  const payload = Buffer.from(text);
  const sig = sign("sha256", signedBytes(payloadType, payload), p256.privateKey);
  return {
    payloadType,
    payload: payload.toString("base64"),
    signatures: [{ sig: sig.toString("base64") }],
  };
}

test("the signed bytes are those of the example of the protocol", () => {
  expect(signedBytes("http://example.com/HelloWorld", Buffer.from("hello world")).toString()).toBe(
    "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
  );
  expect(signedBytes("é", Buffer.from("é")).toString()).toBe("DSSEv1 2 é 2 é");
});

describe("an envelope", () => {
  it.each([
    ["ECDSA P-256", p256],
    ["Ed25519", ed25519],
  ])("of a key %s is verified with its public half", (_type, pair) => {
    const own = signEnvelope(statement, pair.privateKey);
    expect(own.signatures[0]?.keyid).toBe(keyIdOf(pair.publicKey));
    expect(verifyEnvelope(JSON.parse(JSON.stringify(own)), pair.publicKey)).toEqual({ statement });
  });

  it.each([
    ["with two signatures, one of this key", [...otherSignatures, signature]],
    ["whose signature names another key", [{ ...signature, keyid: "0" }]],
    ["whose signature names no key", [{ sig: signature.sig }]],
    ["in base64url", [{ sig: Buffer.from(signature.sig, "base64").toString("base64url") }]],
  ])("%s is verified", (_rule, signatures) => {
    expect(verifyEnvelope({ ...envelope, signatures }, publicKey)).toEqual({ statement });
  });

  const altered = Buffer.from(JSON.stringify({ ...statement, subject: [] })).toString("base64");
  it.each<[string, unknown, string]>([
    ["that is a text", "envelope", "not an envelope"],
    ["without a payload", { ...envelope, payload: undefined }, "not an envelope"],
    ["without signatures", { ...envelope, signatures: [] }, "not an envelope"],
    [
      "with a signature that is a text",
      { ...envelope, signatures: [signature, signature.sig] },
      "not an envelope",
    ],
    ["with a payload that is cut", { ...envelope, payload: "AAAAA" }, "malformed base64"],
    ["with a space", { ...envelope, payload: `${envelope.payload} ` }, "malformed base64"],
    [
      "with a second signature in other characters",
      { ...envelope, signatures: [signature, { sig: "!" }] },
      "malformed base64",
    ],
    ["with bits beyond its end", { ...envelope, payload: "AB==" }, "malformed base64"],
    ["of two alphabets", { ...envelope, payload: "+_AA" }, "malformed base64"],
    ["of another type", { ...envelope, payloadType: "text/plain" }, "another payload type"],
    ["signed with another type", signed("{}", "text/plain"), "another payload type"],
    ["with an altered payload", { ...envelope, payload: altered }, "wrong signature"],
    [
      "with a signature of no form",
      { ...envelope, signatures: [{ ...signature, sig: "AAAA" }] },
      "wrong signature",
    ],
    ["of another key", { ...envelope, signatures: otherSignatures }, "no signature of this key"],
    ["of a text that is no JSON", signed("{"), "not a statement"],
    ["of a list", signed("[]"), "not a statement"],
    ["of another object", signed('{"_type": "other"}'), "not a statement"],
  ])("%s is refused", (_rule, received, problem) => {
    expect(verifyEnvelope(received, publicKey)).toEqual({ problem });
  });

  it.each([
    ["RSA", generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["another curve", generateKeyPairSync("ec", { namedCurve: "P-384" })],
  ])("is neither signed nor verified with a key of %s", (_rule, pair) => {
    const message = "must be ECDSA P-256 or Ed25519";
    expect(() => signEnvelope(statement, pair.privateKey)).toThrow(message);
    expect(() => verifyEnvelope(envelope, pair.publicKey)).toThrow(message);
  });
});
