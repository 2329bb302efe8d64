import { describe, expect, it } from "vitest";
import { extras } from "../../../src/api/names.ts";
import {
  asksForImpersonation,
  forwardedHeaders,
  unforwardableName,
} from "../../../src/domain/gateway/forwarded-headers.ts";
import { withLowerNames } from "../../../src/runtime/exchange.ts";

const user = {
  username: "alice",
  groups: ["devs", "ops"],
  extra: {
    [extras.keyId]: ["uid-1"],
    [extras.scopeHash]: ["hash"],
    [extras.credentialId]: ["uid-1"],
    unknown: ["x"],
  },
};
const terms = { user, request: { verb: "get" }, subprotocols: undefined };
const head = (rawHeaders: readonly string[], isUpgrade = false) =>
  ({
    method: "GET",
    target: "/",
    rawHeaders: withLowerNames(rawHeaders),
    httpVersion: "1.1",
    isUpgrade,
    peerAddress: "192.0.2.1",
  }) as const;

const ours = [
  ...["impersonate-user", "alice", "impersonate-group", "devs", "impersonate-group", "ops"],
  ...["impersonate-extra-management.service%2fkey-id", "uid-1"],
  ...["impersonate-extra-management.service%2fscope-hash", "hash"],
  ...["impersonate-extra-management.service%2fcredential-id", "uid-1"],
  ...["x-forwarded-for", "192.0.2.1"],
];

describe("the headers of a forwarded request", () => {
  it("are those of the client that are listed, and the user of the key", () => {
    const sent = [
      ...["Host", "gateway", "Accept", "application/json", "User-Agent", "kubectl"],
      ...["Authorization", "Bearer client", "Cookie", "a=b", "X-Forwarded-For", "10.0.0.1"],
      ...["X-Remote-User", "root", "Forwarded", "for=1", "Content-Length", "3"],
    ];
    expect(forwardedHeaders(head(sent), terms)).toEqual([
      ...["accept", "application/json", "user-agent", "kubectl"],
      ...ours,
    ]);
  });

  it.each([
    ["list", ["accept-encoding", "gzip"]],
    ["watch", []],
  ])("ask for the encodings of the client, except of a watch: %s", (verb, expected) => {
    const sent = head(["Accept-Encoding", "gzip"]);
    expect(forwardedHeaders(sent, { ...terms, request: { verb } })).toEqual([...expected, ...ours]);
  });

  it.each([
    [
      "a header of the gateway named in Connection",
      ["Connection", "impersonate-user, authorization"],
    ],
    ["impersonation headers of the client", ["Impersonate-User", "root", "impersonate-uid", "0"]],
    ["an upgrade that the gateway does not make", ["Connection", "Upgrade", "Upgrade", "h2c"]],
  ])("are not changed by %s", (_what, sent) => {
    expect(forwardedHeaders(head(sent), terms)).toEqual(ours);
  });

  it("contain the handshake of an upgrade without the client's credential", () => {
    const sent = [
      "Sec-WebSocket-Key",
      "k",
      "Sec-WebSocket-Version",
      "13",
      "Sec-WebSocket-Protocol",
      "x",
    ];
    expect(forwardedHeaders(head(sent, true), { ...terms, subprotocols: "v5" })).toEqual([
      ...["sec-websocket-key", "k", "sec-websocket-version", "13"],
      ...["sec-websocket-protocol", "v5"],
      ...ours,
    ]);
  });

  it("contain names as bytes of UTF-8", () => {
    const headers = forwardedHeaders(head([]), { ...terms, user: { ...user, username: "ünal" } });
    expect(headers[headers.indexOf("impersonate-user") + 1]).toBe("Ã¼nal");
  });

  it.each(["Impersonate-User", "impersonate-group", "IMPERSONATE-EXTRA-x", "impersonate"])(
    "are not offered to a client that sends %s",
    (name) => {
      expect(asksForImpersonation(withLowerNames(["Accept", "x", name, "root"]))).toBe(true);
    },
  );

  it.each<[string, string[], string | undefined]>([
    ["alice", ["devs"], undefined],
    ["ünal", [], undefined],
    ["a b", [], undefined],
    ["alice ", [], "alice "],
    ["alice", ["devs", "\tops"], "\tops"],
    ["a\nb", [], "a\nb"],
    ["a\u007fb", [], "a\u007fb"],
    ["a\ud800", [], "a\ud800"],
    ["\u00a0alice\u00a0", ["\ufeffdevs\u2003"], undefined],
    [" alice", [], " alice"],
    ["", [], ""],
  ])("can carry the user %j in %j: all but %j", (username, groups, bad) => {
    expect(unforwardableName({ username, groups, extra: {} })).toBe(bad);
  });
});
