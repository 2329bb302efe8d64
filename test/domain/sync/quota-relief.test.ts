import { describe, expect, test } from "vitest";
import { parseResourceQuota } from "../../../src/api/resource-quota.ts";
import { quotaRelief } from "../../../src/domain/sync/quota-relief.ts";

const quota = (hard: object, used: object = {}) =>
  parseResourceQuota({ metadata: {}, status: { hard, used } });
const roles = "count/roles.rbac.authorization.k8s.io";

describe("the relief by a change of a quota is", () => {
  test.each<[string, ReturnType<typeof quota>, ReturnType<typeof quota>, number]>([
    [
      "one if an object was deleted",
      quota({ secrets: "5" }, { secrets: "5" }),
      quota({ secrets: "5" }, { secrets: "4" }),
      1,
    ],
    [
      "the growth of the limit",
      quota({ secrets: "5" }, { secrets: "5" }),
      quota({ secrets: "1k" }, { secrets: "5" }),
      995,
    ],
    [
      "at most what the strictest limit allows",
      quota({ secrets: "5", "count/secrets": "5" }, { secrets: "5", "count/secrets": "3" }),
      quota({ secrets: "9", "count/secrets": "5" }, { secrets: "5", "count/secrets": "3" }),
      2,
    ],
    [
      "unlimited if the quota was deleted",
      quota({ secrets: "5" }, { secrets: "5" }),
      undefined,
      Infinity,
    ],
    [
      "unlimited if the quota no longer limits Secrets",
      quota({ secrets: "5", [roles]: "1" }, { secrets: "5" }),
      quota({ [roles]: "1" }),
      Infinity,
    ],
    [
      "none if an object was created",
      quota({ secrets: "5" }, { secrets: "3" }),
      quota({ secrets: "5" }, { secrets: "4" }),
      0,
    ],
    [
      "none if the limit decreased",
      quota({ secrets: "5" }, { secrets: "3" }),
      quota({ secrets: "4" }, { secrets: "3" }),
      0,
    ],
    ["none for a new quota", undefined, quota({ secrets: "5" }), 0],
    [
      "none if the quota is still exceeded",
      quota({ secrets: "5" }, { secrets: "9" }),
      quota({ secrets: "5" }, { secrets: "8" }),
      0,
    ],
    ["none if nothing changed", quota({ secrets: "5" }), quota({ secrets: "5" }), 0],
    [
      "the limit if the usage has an unknown form",
      quota({ secrets: "5" }, { secrets: "5" }),
      quota({ secrets: "5" }, { secrets: "5e0" }),
      5,
    ],
  ])("%s", (_rule, before, after, secrets) => {
    expect(quotaRelief(before, after).secrets).toBe(secrets);
  });

  test("separate for Roles and RoleBindings and for Secrets", () => {
    expect(
      quotaRelief(
        quota({ [roles]: "1", secrets: "1" }, { [roles]: "1", secrets: "1" }),
        quota({ [roles]: "3", secrets: "1" }, { [roles]: "1", secrets: "1" }),
      ),
    ).toEqual({ access: 2, secrets: 0 });
  });
});

test("does not store a quota that does not limit what Latchkey writes", () => {
  expect(quota({ pods: "5", "requests.cpu": "1" }, { pods: "5" })).toBeUndefined();
});
