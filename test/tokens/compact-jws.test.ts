import { describe, expect, test } from "vitest";
import { isSignedWith, verifyJws } from "../../src/tokens/compact-jws.ts";
import { bytesIn, es256PublicKeyOf } from "../../src/tokens/es256-key.ts";
import { newKeys, publishedKeys, signedText, signerWith, strangeKey } from "./signed-text.ts";

/** RFC 7515, appendix A.3. */
const rfcKey = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
};
const rfcHeader = "eyJhbGciOiJFUzI1NiJ9";
const rfcPayload =
  "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const rfcSignature =
  "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

const half = (text: string, fill: number) => Buffer.alloc(32, fill).toString("hex") + text;
const ofHex = (hex: string) => Buffer.from(hex, "hex").toString("base64url");
const [r, s] = [0, 32].map((at) =>
  Buffer.from(rfcSignature, "base64url")
    .subarray(at, at + 32)
    .toString("hex"),
);
/** The order n of P-256 (FIPS 186-4, D.1.2.3). */
const order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

describe("a signature", () => {
  const key = es256PublicKeyOf(rfcKey) ?? strangeVerificationKey();

  test.each<[string, string, string, boolean]>([
    ["of RFC 7515, appendix A.3", rfcPayload, rfcSignature, true],
    ["of another payload", rfcPayload.replace("eyJ", "eyK"), rfcSignature, false],
    ["with r and s exchanged", rfcPayload, ofHex(`${s}${r}`), false],
    ["with r = s = 0 (CVE-2022-21449)", rfcPayload, ofHex(half(half("", 0), 0)), false],
    ["with r = 0", rfcPayload, ofHex(half(`${s}`, 0)), false],
    ["with s = 0", rfcPayload, ofHex(`${r}${half("", 0)}`), false],
    ["with r = s = n", rfcPayload, ofHex(`${order}${order}`), false],
    ["with r = n and s = 0", rfcPayload, ofHex(`${order}${half("", 0)}`), false],
    ["with r and s of all ones", rfcPayload, ofHex(half(half("", 255), 255)), false],
    ["of 63 bytes", rfcPayload, ofHex(`${r}${s}`.slice(0, -2)), false],
    ["of 65 bytes", rfcPayload, ofHex(`${r}${s}00`), false],
    ["of no bytes", rfcPayload, "", false],
    ["with bits that no byte needs", rfcPayload, `${rfcSignature.slice(0, -1)}R`, false],
    ["with padding", rfcPayload, `${rfcSignature}==`, false],
    ["in base64 with + and /", rfcPayload, rfcSignature.replaceAll("-", "+"), false],
  ])("%s: %#", async (_rule, payload, signature, isValid) => {
    expect(await isSignedWith(`${rfcHeader}.${payload}.${signature}`, key)).toBe(isValid);
  });

  test("of another key is invalid", async () => {
    const text = `${rfcHeader}.${rfcPayload}.${rfcSignature}`;
    expect(await isSignedWith(text, strangeVerificationKey())).toBe(false);
  });
});

describe("a text that is signed", () => {
  const keys = newKeys("signing");
  const { kid, privateKey } = keys.signing;
  const header = `{"alg":"ES256","typ":"t","kid":"${kid}"}`;

  test.each<[string, string, string, string | undefined]>([
    ["is valid as JSON.stringify writes it", header, '{"a":1}', undefined],
    ["has no blank in its header", header.replace(",", ", "), '{"a":1}', "malformed"],
    ["has no blank in its payload", header, '{"a": 1}', "malformed"],
    ["has no number in another form", header, '{"a":1.0}', "malformed"],
    ["has no escape that is not needed", header, String.raw`{"\u0061":1}`, "malformed"],
  ])("%s", async (_rule, head, payload, reason) => {
    const text = signedText(head, payload, signerWith(privateKey));
    const options = { keys: publishedKeys(keys), typ: "t", mostCharacters: 1_000 };
    const expected = reason === undefined ? { ok: true, payload: { a: 1 } } : { ok: false, reason };
    expect(await verifyJws(text, options)).toMatchObject(expected);
  });
});

test.each<[string, number | undefined]>([
  ["", 0],
  ["QQ", 1],
  ["QR", undefined],
  ["QQ==", undefined],
  ["Q", undefined],
  ["-_-_", 3],
  ["+/+/", undefined],
  ["QQ QQ", undefined],
  ["QQQQ\n", undefined],
  ["QQQé", undefined],
])("bytesIn of %j has length %s", (text, length) => {
  expect(bytesIn(text)?.length).toBe(length);
});

function strangeVerificationKey() {
  const key = es256PublicKeyOf(strangeKey().publicJwk);
  if (key === undefined) throw new TypeError("a new key is not on its curve");
  return key;
}
