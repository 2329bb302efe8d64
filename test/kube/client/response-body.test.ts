import { describe, expect, test } from "vitest";
import { SecretText } from "../../../src/api/secret-text.ts";
import { bodyOf, watchError } from "../../../src/kube/client/response-body.ts";
import {
  isKubeError,
  isRefusal,
  isRejection,
  KubeError,
  type KubeErrorDetails,
} from "../../../src/kube/client/kube-error.ts";
import type { ApiRequest } from "../../../src/kube/client/transport.ts";

const get: ApiRequest = { method: "GET", path: "/api/v1/namespaces/ns/secrets/one" };

function refused(
  answer: { readonly status: number; readonly retryAfterMs?: number; readonly body?: unknown },
  call = get,
): KubeError {
  const { body, ...rest } = answer;
  try {
    bodyOf(call, {
      ...rest,
      text: typeof body === "string" ? body : JSON.stringify({ kind: "Status", ...Object(body) }),
    });
  } catch (error) {
    if (error instanceof KubeError) return error;
  }
  throw new Error("no KubeError was thrown");
}

test.for([200, 201, 202, 299])("bodyOf returns the JSON of a response with status %i", (status) => {
  expect(bodyOf(get, { status, text: '{"kind":"Secret","a":1}' })).toEqual({
    kind: "Secret",
    a: 1,
  });
});

test("a response that is not JSON is a Network error that does not quote it", () => {
  const error = refused({ status: 200, body: "canary" });
  expect(error).toMatchObject({
    code: "Network",
    status: 200,
    message: expect.stringContaining("answered 200 with other text"),
  });
});

describe("an error response", () => {
  test.for<[number, string | undefined, KubeErrorDetails["code"]]>([
    [400, "BadRequest", "BadRequest"],
    [401, "Unauthorized", "Unauthorized"],
    [403, "Forbidden", "Forbidden"],
    [404, "NotFound", "NotFound"],
    [405, "MethodNotAllowed", "BadRequest"],
    [409, "AlreadyExists", "AlreadyExists"],
    [409, "Conflict", "Conflict"],
    [409, undefined, "Conflict"],
    [410, "Expired", "Gone"],
    [422, "Invalid", "Invalid"],
    [429, "TooManyRequests", "TooManyRequests"],
    [500, "InternalError", "ServerError"],
    [503, undefined, "ServerError"],
    [400, undefined, "BadRequest"],
  ])("of status %i and reason %s is %s", ([status, reason, code]) => {
    const error = refused({ status, body: reason === undefined ? {} : { reason } });
    expect(error).toMatchObject({ code, status, reason });
    expect(isKubeError(error, code)).toBe(true);
    expect(isKubeError(error, "Fenced")).toBe(false);
    expect(isKubeError(error)).toBe(true);
  });

  test("has every field of its Status in the KubeError", () => {
    const body = {
      reason: "Forbidden",
      message: "no quota",
      details: {
        name: "one",
        causes: [{ reason: "NamespaceTerminating" }, {}],
        retryAfterSeconds: 2,
      },
    };
    expect(refused({ status: 403, body })).toMatchObject({
      message: "GET /api/v1/namespaces/ns/secrets/one: 403 no quota",
      explanation: "no quota",
      causes: ["NamespaceTerminating"],
      objectName: "one",
      retryAfterMs: 2000,
    });
  });

  test.for<[string, boolean]>([
    [
      `secrets is forbidden: User "system:serviceaccount:latchkey-system:latchkey-controller" cannot create resource "secrets" in API group "" in the namespace "web"`,
      true,
    ],
    [
      `secrets "db" is forbidden: User "u" cannot update resource "secrets" in API group "" in the namespace "web"`,
      true,
    ],
    [
      `roles.rbac.authorization.k8s.io "r" is forbidden: user "u" (groups=["g"]) is attempting to grant RBAC permissions not currently held`,
      true,
    ],
    [
      `secrets "db" is forbidden: exceeded quota: few, requested: secrets=1, used: secrets=1, limited: secrets=1`,
      false,
    ],
    [
      `secrets "db" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: x is forbidden: User "u"`,
      false,
    ],
    [`admission webhook "w" denied the request: secrets is forbidden: User "u" cannot`, false],
    ["forbidden: the scope of this credential does not allow create secrets: no role", true],
    [`admission webhook "w": forbidden: the scope of this credential does not allow it`, false],
  ])("distinguishes RBAC from admission: %s", ([message, lacksPermission]) => {
    const error = refused({ status: 403, body: { reason: "Forbidden", message } });
    expect(error.lacksPermission).toBe(lacksPermission);
    expect([isRefusal(error), isRejection(error)]).toEqual([true, !lacksPermission]);
  });

  test("has the Retry-After of the header, or else of the body", () => {
    expect(
      refused({ status: 429, retryAfterMs: 5000, body: { details: { retryAfterSeconds: 2 } } })
        .retryAfterMs,
    ).toBe(5000);
    expect(refused({ status: 429 }).retryAfterMs).toBeUndefined();
  });

  test("that is not JSON, such as from a proxy, is not quoted", () => {
    expect(refused({ status: 502, body: "<html>canary" })).toMatchObject({
      code: "ServerError",
      explanation: expect.not.stringContaining("canary"),
      causes: [],
    });
  });

  test("has no explanation if the server gives an empty one", () => {
    expect(refused({ status: 503, body: { message: "" } }).explanation).toBe("no explanation");
  });

  test.for<[string, ApiRequest["method"], string]>([
    [
      "of a write of the whole object has its message without secrets",
      "PUT",
      "data: [secret] is bad",
    ],
    [
      "of a patch has only its reason, because the message may quote the object",
      "PATCH",
      "Invalid",
    ],
    ["of a delete has only its reason", "DELETE", "Invalid"],
  ])("%s", ([, method, explanation]) => {
    const body = { data: { a: new SecretText("canary") } };
    const error = refused(
      { status: 422, body: { reason: "Invalid", message: "data: canary is bad" } },
      { ...get, method, body },
    );
    expect(error.explanation).toBe(explanation);
    expect(error.message).not.toContain("canary");
  });

  const policy = "ValidatingAdmissionPolicy 'freeze' with binding 'all.of-them' denied request";
  const webhook = 'admission webhook "validate.kyverno.svc-fail" denied the request';
  test.for([
    [`${policy}: canary`, policy],
    [`secrets "db" is forbidden: ${policy}: canary`, policy],
    [`${webhook}: canary`, webhook],
    [`${webhook}: ${policy.replace("freeze", "canary")}: canary`, webhook],
    [`canary ${webhook}: canary`, "Invalid"],
    [`canary: canary: ${policy}: canary`, "Invalid"],
    [`${policy.replace("freeze", "canary canary")}: canary`, "Invalid"],
  ] as const)(
    "of a delete names the policy or webhook, and not its words: %s",
    ([text, expected]) => {
      const body = { reason: "Invalid", message: text };
      const { explanation } = refused({ status: 422, body }, { ...get, method: "DELETE" });
      expect(explanation).toBe(expected);
    },
  );

  test("of a patch without a reason has no explanation", () => {
    expect(
      refused({ status: 500, body: { message: "canary" } }, { ...get, method: "PATCH" })
        .explanation,
    ).toBe("no explanation");
  });
});

describe("an ERROR event of a watch", () => {
  test("is the KubeError of its Status", () => {
    expect(watchError(get, { code: 410, reason: "Expired", message: "too old" })).toMatchObject({
      code: "Gone",
      status: 410,
      explanation: "too old",
    });
  });

  test("without a code is a ServerError", () => {
    expect(watchError(get, {})).toMatchObject({ code: "ServerError", status: 500 });
  });
});
