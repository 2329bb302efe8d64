import { expect, test } from "vitest";
import { type TokenClaims, tokenLength } from "../../../src/domain/endpoint-token/token-claims.ts";

const claims: TokenClaims = {
  iss: "https://issuer",
  sub: "alice",
  aud: "aud",
  jti: "uid",
  iat: 1000,
  nbf: 1000,
  exp: 4600,
  groups: ["devs"],
  "management.service": { name: "one" },
};

test("counts the three parts of a JWT, and the dots between them", () => {
  const encoded = [{ alg: "ES256", typ: "JWT", kid: "kid" }, claims].map(
    (part) => Buffer.from(JSON.stringify(part)).toString("base64url").length,
  );
  expect(tokenLength(claims, "kid")).toBe((encoded[0] ?? 0) + (encoded[1] ?? 0) + 86 + 2);
});

test("counts bytes of UTF-8, not characters", () => {
  const [plain, umlauts] = ["u", "ü"].map((letter) =>
    tokenLength({ ...claims, sub: letter.repeat(300) }, "kid"),
  );
  expect((umlauts ?? 0) - (plain ?? 0)).toBe(400);
});
