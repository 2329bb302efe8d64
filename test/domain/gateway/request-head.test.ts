import { describe, expect, it } from "vitest";
import {
  asksForUpgrade,
  checkHead,
  type RequestHead,
  upgradeProtocol,
} from "../../../src/domain/gateway/request-head.ts";
import { withLowerNames } from "../../../src/runtime/exchange.ts";

const headOf = (fields: Partial<RequestHead> & { readonly extra?: readonly string[] }) => {
  const { extra = [], rawHeaders = ["Host", "gateway", ...extra], ...others } = fields;
  return {
    method: "GET",
    target: "/",
    rawHeaders: withLowerNames(rawHeaders),
    httpVersion: "1.1",
    isUpgrade: false,
    peerAddress: "192.0.2.1",
    ...others,
  } as const;
};

describe("the head of a request", () => {
  it.each<[string, Parameters<typeof headOf>[0], object]>([
    ["a GET", {}, { method: "GET", framing: { kind: "none" } }],
    [
      "a body with a length",
      { method: "POST", extra: ["Content-Length", "12"] },
      { framing: { kind: "body", length: 12 } },
    ],
    [
      "an empty body",
      { method: "POST", extra: ["Content-Length", "0"] },
      { framing: { kind: "none" } },
    ],
    [
      "a chunked body",
      { method: "PATCH", extra: ["Transfer-Encoding", "Chunked"] },
      { framing: { kind: "body", length: undefined } },
    ],
    [
      "HTTP/2 without host",
      { httpVersion: "2", rawHeaders: [], authority: "gateway", endsAfterHead: true },
      { framing: { kind: "none" } },
    ],
    [
      "a body over HTTP/2 whose length is not announced",
      { method: "POST", httpVersion: "2", rawHeaders: [], endsAfterHead: false },
      { framing: { kind: "body", length: undefined } },
    ],
  ])("accepts %s", (_what, fields, checked) => {
    expect(checkHead(headOf(fields))).toMatchObject({ kind: "head", ...checked });
  });

  it("says what a proxy in front has to send", () => {
    expect(checkHead(headOf({ httpVersion: "1.0" }))).toMatchObject({
      status: 505,
      reason: expect.stringMatching(/HTTP\/1\.1.*nginx with proxy_http_version 1\.1$/),
    });
  });

  it.each<[string, Parameters<typeof headOf>[0], number]>([
    ["HTTP/1.0", { httpVersion: "1.0" }, 505],
    ["a method in small letters", { method: "get" }, 405],
    ["CONNECT", { method: "CONNECT" }, 405],
    ["no method", { method: "" }, 405],
    ["OPTIONS, so that there is no CORS", { method: "OPTIONS" }, 405],
    ["two of authorization", { extra: ["Authorization", "a", "authorization", "b"] }, 400],
    ["two of host", { extra: ["HOST", "gateway"] }, 400],
    ["no host", { rawHeaders: [] }, 400],
    ["two of content-type", { extra: ["content-type", "a", "Content-Type", "a"] }, 400],
    [
      "two of content-length",
      { method: "POST", extra: ["content-length", "1", "content-length", "1"] },
      400,
    ],
    [
      "content-length beside transfer-encoding",
      { method: "POST", extra: ["content-length", "1", "transfer-encoding", "chunked"] },
      400,
    ],
    [
      "another transfer-encoding",
      { method: "POST", extra: ["transfer-encoding", "gzip, chunked"] },
      400,
    ],
    [
      "two of transfer-encoding",
      { method: "POST", extra: ["transfer-encoding", "chunked", "transfer-encoding", "chunked"] },
      400,
    ],
    ["a signed content-length", { method: "POST", extra: ["content-length", "+1"] }, 400],
    ["a list as content-length", { method: "POST", extra: ["content-length", "1, 1"] }, 400],
    ["GET with a body", { extra: ["content-length", "1"] }, 400],
    ["HEAD with a chunked body", { method: "HEAD", extra: ["transfer-encoding", "chunked"] }, 400],
    [
      "an upgrade with a body",
      { method: "POST", isUpgrade: true, extra: ["content-length", "1"] },
      400,
    ],
    ["an underscore in a name", { extra: ["Impersonate_User", "root"] }, 400],
    ["a blank in a name", { extra: ["Impersonate-User ", "root"] }, 400],
    [
      "a host unlike :authority",
      { httpVersion: "2", rawHeaders: ["host", "a"], authority: "b" },
      400,
    ],
    [
      "transfer-encoding over HTTP/2",
      { method: "POST", httpVersion: "2", rawHeaders: ["transfer-encoding", "chunked"] },
      400,
    ],
  ])("refuses %s", (_what, fields, status) => {
    expect(checkHead(headOf(fields))).toMatchObject({ kind: "refused", status });
  });

  it.each([
    [["Connection", "Upgrade", "Upgrade", "websocket"], true],
    [["connection", "keep-alive, upgrade", "upgrade", "SPDY/3.1"], true],
    [["connection", "Upgrade", "upgrade", "h2c"], false],
    [["connection", "Upgrade", "upgrade", "websocket, h2c"], false],
    [["connection", "Upgrade", "upgrade", "websocket", "upgrade", "h2c"], false],
    [["upgrade", "websocket"], false],
    [[], false],
  ])("with %j asks for an upgrade: %s", (rawHeaders, asks) => {
    expect(asksForUpgrade(withLowerNames(rawHeaders))).toBe(asks);
  });

  it.each([
    ["WebSocket", "websocket"],
    [" websocket , ", "websocket"],
    ["spdy/3.1", "SPDY/3.1"],
    ["h2c", undefined],
  ])("that asks for %j is forwarded as %s", (value, protocol) => {
    expect(upgradeProtocol(["connection", "Upgrade", "upgrade", value])).toBe(protocol);
  });
});
