import { describe, expect, test } from "vitest";
import {
  applierWarnings,
  conflictAdvice,
  keptDataKeys,
} from "../../../src/client/secrets/field-owners.ts";

const data = { "f:spec": { "f:data": { ".": {}, "f:password": {}, "f:user": {} } } };
const lastApplied = { "f:kubectl.kubernetes.io/last-applied-configuration": {} };
const objectOf = (...managedFields: readonly object[]) => ({ metadata: { managedFields } });

describe("a changed data key has a warning if it is applied", () => {
  test.each<[string, unknown, readonly string[], readonly string[]]>([
    [
      "by server-side apply",
      objectOf({ manager: "argocd-controller", operation: "Apply", fieldsV1: data }),
      ["password", "other"],
      ['"argocd-controller" applies password from'],
    ],
    [
      "by client-side apply",
      objectOf({
        manager: "kubectl-client-side-apply",
        operation: "Update",
        fieldsV1: { ...data, "f:metadata": { "f:annotations": lastApplied } },
      }),
      ["password", "user"],
      ['"kubectl-client-side-apply" applies password, user from'],
    ],
    [
      "not for another key",
      objectOf({ manager: "argocd-controller", operation: "Apply", fieldsV1: data }),
      ["other"],
      [],
    ],
    [
      "not if it was set once",
      objectOf({ manager: "kubectl-edit", operation: "Update", fieldsV1: data }),
      ["password"],
      [],
    ],
    [
      "not by the client itself",
      objectOf({ manager: "kubectl-latchkey", operation: "Apply", fieldsV1: data }),
      ["password"],
      [],
    ],
    ["not in a new object", undefined, ["password"], []],
  ])("%s", (_what, object, keys, parts) => {
    const warnings = applierWarnings(object, keys);
    expect(warnings).toEqual(
      parts.map((part) => expect.stringContaining(`warning: field manager ${part}`)),
    );
  });
});

describe("an apply that conflicts says who owns the field and what to do", () => {
  test.each([
    [
      'Apply failed with 1 conflict: conflict with "kubectl-latchkey" using management.service/v1: .spec.data.password',
      "a user set a value with kubectl latchkey, whose field manager is kubectl-latchkey; leave the field out of the file, or take it over with --force-conflicts",
    ],
    [
      'Apply failed with 1 conflict: conflict with "helm" using management.service/v1: .spec.data.password',
      "the field manager that the message names has set the field; leave the field out of the file, or take it over with --force-conflicts",
    ],
    ["the object has been modified; please apply your changes to the latest version", undefined],
  ])("%s", (message, advice) => {
    expect(conflictAdvice(message)).toBe(advice);
  });
});

describe("data keys that a manager leaves out of its files", () => {
  const fields = (...keys: readonly string[]) => ({
    "f:spec": { "f:data": Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
  });
  const owned = (manager: string, operation: string, ...keys: readonly string[]) => ({
    manager,
    operation,
    fieldsV1: fields(...keys),
  });
  const object = (...managedFields: readonly object[]) => ({
    metadata: { managedFields },
    spec: { data: { password: "eA==", user: "eA==" } },
  });
  const created = owned("kubectl-create", "Update", "password", "user");

  test("are those that another manager has set", () => {
    expect(keptDataKeys(object(created, owned("kubectl", "Apply", "user")))).toEqual({
      keys: ["password"],
      setBy: "kubectl-create",
      appliedBy: "kubectl",
    });
  });

  test("are all of them if it applies none", () => {
    const kept = keptDataKeys(object(owned("argocd", "Apply"), created));
    expect(kept?.keys).toEqual(["password", "user"]);
  });

  test.each([
    ["nobody applies the object", object(created)],
    ["somebody applies them", object(created, owned("a", "Apply", "user", "password"))],
    [
      "two managers apply them",
      object(created, owned("a", "Apply", "user"), owned("b", "Apply", "password")),
    ],
    [
      "kubectl latchkey set them",
      object(owned("kubectl", "Apply", "user"), owned("kubectl-latchkey", "Update", "password")),
    ],
    [
      "client-side apply keeps them in its annotation",
      object({
        manager: "kubectl-client-side-apply",
        operation: "Update",
        fieldsV1: {
          ...fields("user", "password"),
          "f:metadata": { "f:annotations": lastApplied },
        },
      }),
    ],
    ["they are not there any more", { ...object(created, owned("a", "Apply")), spec: {} }],
    ["there is no object", undefined],
  ])("are none if %s", (_what, found) => {
    expect(keptDataKeys(found)).toBeUndefined();
  });
});
