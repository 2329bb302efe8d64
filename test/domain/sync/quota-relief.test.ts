import { describe, expect, test } from "vitest";
import { parseResourceQuota } from "../../../src/api/resource-quota.ts";
import { quotaRelief } from "../../../src/domain/sync/quota-relief.ts";

const quota = (hard: object, used: object = {}) =>
  parseResourceQuota({ metadata: {}, status: { hard, used } });
const roles = "count/roles.rbac.authorization.k8s.io";

describe("a quota that changes has made room", () => {
  test.each<[string, ReturnType<typeof quota>, ReturnType<typeof quota>, number]>([
    [
      "for one where one went",
      quota({ secrets: "5" }, { secrets: "5" }),
      quota({ secrets: "5" }, { secrets: "4" }),
      1,
    ],
    [
      "for as many as the limit grew",
      quota({ secrets: "5" }, { secrets: "5" }),
      quota({ secrets: "1k" }, { secrets: "5" }),
      995,
    ],
    [
      "for no more than the tightest of its limits lets in",
      quota({ secrets: "5", "count/secrets": "5" }, { secrets: "5", "count/secrets": "3" }),
      quota({ secrets: "9", "count/secrets": "5" }, { secrets: "5", "count/secrets": "3" }),
      2,
    ],
    ["for all when it goes", quota({ secrets: "5" }, { secrets: "5" }), undefined, Infinity],
    [
      "for all when it counts Secrets no more",
      quota({ secrets: "5", [roles]: "1" }, { secrets: "5" }),
      quota({ [roles]: "1" }),
      Infinity,
    ],
    [
      "for none when one came",
      quota({ secrets: "5" }, { secrets: "3" }),
      quota({ secrets: "5" }, { secrets: "4" }),
      0,
    ],
    [
      "for none when the limit fell",
      quota({ secrets: "5" }, { secrets: "3" }),
      quota({ secrets: "4" }, { secrets: "3" }),
      0,
    ],
    ["for none when it is new", undefined, quota({ secrets: "5" }), 0],
    [
      "for none when it is still overrun",
      quota({ secrets: "5" }, { secrets: "9" }),
      quota({ secrets: "5" }, { secrets: "8" }),
      0,
    ],
    ["for none when nothing changed", quota({ secrets: "5" }), quota({ secrets: "5" }), 0],
    [
      "for as many as it may be, where a number is of a form that is not known",
      quota({ secrets: "5" }, { secrets: "5" }),
      quota({ secrets: "5" }, { secrets: "5e0" }),
      5,
    ],
  ])("%s", (_rule, before, after, secrets) => {
    expect(quotaRelief(before, after).secrets).toBe(secrets);
  });

  test("for Roles and RoleBindings apart from Secrets", () => {
    expect(
      quotaRelief(
        quota({ [roles]: "1", secrets: "1" }, { [roles]: "1", secrets: "1" }),
        quota({ [roles]: "3", secrets: "1" }, { [roles]: "1", secrets: "1" }),
      ),
    ).toEqual({ access: 2, secrets: 0 });
  });
});

test("a quota that limits nothing Latchkey writes is not held", () => {
  expect(quota({ pods: "5", "requests.cpu": "1" }, { pods: "5" })).toBeUndefined();
});
