import { describe, expect, it } from "vitest";
import { SecretText } from "../../../src/api/secret-text.ts";
import { bearerOf } from "../../../src/domain/gateway/bearer.ts";
import { withLowerNames } from "../../../src/runtime/exchange.ts";

const encoded = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;
const read = (rawHeaders: readonly string[]) => {
  const { token, subprotocols } = bearerOf(withLowerNames(rawHeaders));
  return { token: token === undefined ? undefined : SecretText.reveal(token), subprotocols };
};

describe("the bearer token", () => {
  it.each<[string, readonly string[], string | undefined, string | undefined]>([
    ["in the header", ["Authorization", "Bearer abc"], "abc", undefined],
    ["in any capitals", ["authorization", "bEARER abc"], "abc", undefined],
    ["after blanks", ["authorization", "Bearer   abc"], "abc", undefined],
    [
      "in a sub-protocol",
      ["Sec-WebSocket-Protocol", `${encoded("abc")}, v5.channel.k8s.io`],
      "abc",
      "v5.channel.k8s.io",
    ],
    [
      "in one of several headers",
      ["sec-websocket-protocol", "v4", "sec-websocket-protocol", encoded("abc")],
      "abc",
      "v4",
    ],
    [
      "among 32 sub-protocols",
      ["sec-websocket-protocol", `${encoded("abc")}${", v5".repeat(31)}`],
      "abc",
      Array(31).fill("v5").join(", "),
    ],
    [
      "in the header beside other sub-protocols",
      ["authorization", "Bearer abc", "sec-websocket-protocol", "v5, v4"],
      "abc",
      "v5, v4",
    ],
  ])("is read %s", (_what, headers, token, subprotocols) => {
    expect(read(headers)).toEqual({ token, subprotocols });
  });

  it.each<[string, readonly string[]]>([
    ["nowhere", []],
    ["in basic authentication", ["authorization", "Basic YTpi"]],
    ["with a word behind it", ["authorization", "Bearer a b"]],
    ["twice", ["authorization", "Bearer a", "authorization", "Bearer a"]],
    ["as nothing", ["authorization", "Bearer "]],
    [
      "in both places",
      ["authorization", "Bearer abc", "sec-websocket-protocol", `${encoded("abc")}, v5`],
    ],
    ["in two sub-protocols", ["sec-websocket-protocol", `${encoded("a")}, ${encoded("b")}, v5`]],
    [
      "among more than 32 sub-protocols",
      ["sec-websocket-protocol", `${encoded("abc")}${", v5".repeat(32)}`],
    ],
    ["as the only sub-protocol", ["sec-websocket-protocol", encoded("abc")]],
    ["with padding", ["sec-websocket-protocol", `${encoded("ab")}==, v5`]],
    [
      "as an impossible length",
      ["sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.a, v5"],
    ],
  ])("is none if it is %s", (_what, headers) => {
    expect(read(headers).token).toBeUndefined();
  });
});
