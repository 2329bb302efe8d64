import { describe, expect, it } from "vitest";
import {
  refusal,
  refusalCauses,
  statusObject,
  unauthorized,
} from "../../../src/domain/gateway/refusal.ts";

describe("a refusal", () => {
  it.each([
    [429, { "retry-after": "1" }],
    [503, { "retry-after": "1" }],
    [400, undefined],
    [403, undefined],
    [504, undefined],
  ])("with %i says when to try again: %j", (status, headers) => {
    expect(refusal(status, "limit", "no").headers).toEqual(headers);
  });

  it.each([
    [400, "BadRequest"],
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [404, "NotFound"],
    [405, "MethodNotAllowed"],
    [413, "RequestEntityTooLarge"],
    [429, "TooManyRequests"],
    [500, "InternalError"],
    [503, "ServiceUnavailable"],
    [504, "Timeout"],
    [408, undefined],
  ])("with %i is a Status object with the reason %s", (status, reason) => {
    expect(statusObject({ status, message: "no" })).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "no",
      ...(reason === undefined ? {} : { reason }),
      code: status,
    });
  });

  it("of all credentials is the same", () => {
    expect(unauthorized).toEqual({
      kind: "refusal",
      status: 401,
      cause: "unauthenticated",
      message: "Unauthorized",
      headers: { "www-authenticate": "Bearer" },
    });
  });

  it("has a cause of a closed set", () => {
    expect(new Set(refusalCauses).size).toBe(refusalCauses.length);
  });
});
