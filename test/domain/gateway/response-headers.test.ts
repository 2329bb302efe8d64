import { describe, expect, it } from "vitest";
import { responseHeaders } from "../../../src/domain/gateway/response-headers.ts";
import { withLowerNames } from "../../../src/runtime/exchange.ts";

describe("the headers of an answer", () => {
  const origin = { prefix: "/kubernetes/management", isProxied: false };

  it("are all but those of the connection and those that a browser obeys", () => {
    const sent = [
      ...[
        "Content-Type",
        "application/json",
        "Audit-Id",
        "1",
        "X-Kubernetes-Pf-Flowschema-Uid",
        "u",
      ],
      ...[
        "Connection",
        "close, X-Hop",
        "X-Hop",
        "1",
        "Keep-Alive",
        "1",
        "Transfer-Encoding",
        "chunked",
      ],
      ...["Set-Cookie", "a=b", "Access-Control-Allow-Origin", "*", "Alt-Svc", "h3", "Trailer", "x"],
      ...["Warning", '299 - "a"', "Warning", '299 - "b"'],
    ];
    expect(responseHeaders(withLowerNames(sent), origin)).toEqual([
      ...["content-type", "application/json", "audit-id", "1"],
      ...["x-kubernetes-pf-flowschema-uid", "u", "warning", '299 - "a"', "warning", '299 - "b"'],
    ]);
  });

  it.each<[string, boolean, string | undefined]>([
    ["/api/v1", false, "/kubernetes/management/api/v1"],
    ["next", false, "next"],
    ["?a=b", false, "?a=b"],
    ["https://elsewhere/api", false, undefined],
    ["//elsewhere/api", false, undefined],
    ["/\\elsewhere/api", false, undefined],
    ["\\\\elsewhere", false, undefined],
    ["https://elsewhere/api", true, "https://elsewhere/api"],
    ["/login", true, "/kubernetes/management/login"],
  ])("redirect to %s (from a backend: %s) as %s", (location, isProxied, sent) => {
    const headers = responseHeaders(["location", location], { ...origin, isProxied });
    expect(headers).toEqual(sent === undefined ? undefined : ["location", sent]);
  });
});
