import { readdirSync, readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { expect, test } from "vitest";
import { listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";

const directories = ["policies", "connected-policies"].map(
  (name) => new URL(`../../config/${name}/`, import.meta.url),
);
const objects = directories.flatMap((directory) =>
  readdirSync(directory)
    .filter((name) => name !== "kustomization.yaml")
    .flatMap((name) => loadAll(readFileSync(new URL(name, directory), "utf8"))),
);
const specs = (kind: string) =>
  objects
    .filter((object) => stringAt(object, "kind") === kind)
    .map((object) => ({
      name: stringAt(recordAt(object, "metadata"), "name") ?? "",
      spec: recordAt(object, "spec"),
    }));
const policies = specs("ValidatingAdmissionPolicy");
const actionsOf = new Map(
  specs("ValidatingAdmissionPolicyBinding").map(({ spec }) => [
    stringAt(spec, "policyName"),
    stringsAt(spec, "validationActions"),
  ]),
);
const denies = ({ name }: { readonly name: string }): boolean =>
  actionsOf.get(name)?.includes("Deny") ?? false;

// A policy cannot set the field of an error: with Invalid, kubectl prints "is invalid: :".
test("a policy rejects with Forbidden, and its message names the field", () => {
  const validations = policies.filter(denies).flatMap(({ name, spec }) =>
    listAt(spec, "validations").map((validation) => ({
      name,
      reason: stringAt(validation, "reason") ?? "Invalid",
    })),
  );
  expect(validations.filter(({ reason }) => reason !== "Forbidden")).toEqual([]);
});

test("a policy either denies and fails closed, or warns and fails open", () => {
  const modes = policies.map(
    (policy) =>
      `${actionsOf.get(policy.name)?.join(",")} ${stringAt(policy.spec, "failurePolicy")}`,
  );
  expect(modes.filter((mode) => mode !== "Deny Fail" && mode !== "Warn Ignore")).toEqual([]);
});

test("the name of a policy begins with latchkey-warn- if and only if it warns", () => {
  expect(
    policies
      .filter((policy) => policy.name.startsWith("latchkey-warn-") === denies(policy))
      .map(({ name }) => name),
  ).toEqual([]);
});
