import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { isRecord, listAt, stringAt } from "../src/api/parse.ts";
import type { Statement } from "./provenance.ts";

/*
 * Envelopes of https://github.com/secure-systems-lab/dsse (protocol.md and envelope.md, version 1).
 * Keys are ECDSA P-256, which signs the SHA-256 and writes signatures in DER as OpenSSL does, or
 * Ed25519. The functions throw an Error for a key of another type.
 */

/** The type of a payload that is a statement of in-toto. */
const statementType = "application/vnd.in-toto+json";

/** A signed payload. Payload and signatures are in base64. */
export interface Envelope {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

/** Why an envelope is not accepted. */
export type EnvelopeProblem =
  | "not an envelope"
  | "malformed base64"
  | "another payload type"
  | "no signature of this key"
  | "wrong signature"
  | "not a statement";

/** What a verified envelope says, or why it is not accepted. */
export type Verified =
  | { readonly statement: Readonly<Record<string, unknown>> }
  | { readonly problem: EnvelopeProblem };

/** The bytes that a signature is of: the pre-authentication encoding of the protocol. */
export function signedBytes(payloadType: string, payload: Buffer): Buffer {
  const type = Buffer.from(payloadType);
  const head = `DSSEv1 ${type.length} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** The id of a key: the SHA-256 of its public half in DER (SPKI), in hexadecimal digits. */
export function keyIdOf(key: KeyObject): string {
  const open = key.type === "private" ? createPublicKey(key) : key;
  return createHash("sha256")
    .update(open.export({ type: "spki", format: "der" }))
    .digest("hex");
}

/** A statement, signed with a private key. */
export function signEnvelope(statement: Statement, privateKey: KeyObject): Envelope {
  const payload = Buffer.from(JSON.stringify(statement));
  const sig = sign(digestOf(privateKey), signedBytes(statementType, payload), privateKey);
  return {
    payloadType: statementType,
    payload: payload.toString("base64"),
    signatures: [{ keyid: keyIdOf(privateKey), sig: sig.toString("base64") }],
  };
}

/**
 * The statement of an envelope of which one signature is of this key; its `keyid` is a hint, and
 * decides nothing. The payload is parsed only after that.
 */
export function verifyEnvelope(envelope: unknown, publicKey: KeyObject): Verified {
  const algorithm = digestOf(publicKey);
  const [payloadType, text] = ["payloadType", "payload"].map((name) => stringAt(envelope, name));
  const signatures = listAt(envelope, "signatures");
  const signed = signatures.flatMap((signature) => stringAt(signature, "sig") ?? []);
  if (payloadType === undefined || text === undefined || signed.length === 0)
    return { problem: "not an envelope" };
  if (signed.length < signatures.length) return { problem: "not an envelope" };
  const [payload, ...sigs] = [text, ...signed].map(decoded);
  if (payload === undefined || sigs.includes(undefined)) return { problem: "malformed base64" };
  if (payloadType !== statementType) return { problem: "another payload type" };
  const bytes = signedBytes(payloadType, payload);
  const isOfKey = (sig: Buffer | undefined) =>
    sig !== undefined && verify(algorithm, bytes, publicKey, sig);
  if (sigs.some(isOfKey)) return statementIn(payload);
  const names = signatures.some((one) => stringAt(one, "keyid") === keyIdOf(publicKey));
  return { problem: names ? "wrong signature" : "no signature of this key" };
}

/** The digest that a key signs; null for Ed25519, which takes the whole message. */
function digestOf(key: KeyObject): "sha256" | null {
  if (key.asymmetricKeyType === "ed25519") return null;
  const { namedCurve } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "ec" && namedCurve === "prime256v1") return "sha256";
  throw new Error(`the key is ${key.asymmetricKeyType}; must be ECDSA P-256 or Ed25519`);
}

/** The bytes of a text in base64 or base64url, as the protocol allows; undefined for another. */
function decoded(text: string): Buffer | undefined {
  if (!/^(?:[A-Za-z0-9+/]*|[\w-]*)={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  const unpadded = (base64: string) => base64.replaceAll("=", "");
  const isWhole = [bytes.toString("base64"), bytes.toString("base64url")]
    .map(unpadded)
    .includes(unpadded(text));
  return isWhole ? bytes : undefined;
}

function statementIn(payload: Buffer): Verified {
  try {
    const statement: unknown = JSON.parse(payload.toString("utf8"));
    const type = stringAt(statement, "_type");
    if (isRecord(statement) && type === "https://in-toto.io/Statement/v1") return { statement };
  } catch {
    // The payload is no JSON.
  }
  return { problem: "not a statement" };
}
