import { readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { recordAt, stringAt } from "../../src/api/parse.ts";

/** A shipped policy and its binding, as a cluster has them that got them at this time. */
export function shippedPolicy(
  name: string,
  creationTimestamp: string,
): { readonly policy: object; readonly binding: object } {
  const file = `../../config/connected-policies/${name.replace("latchkey-", "")}.yaml`;
  const objects = loadAll(readFileSync(new URL(file, import.meta.url), "utf8"));
  const stored = (kind: string): object => {
    const found = objects.find((object) => stringAt(object, "kind") === kind);
    const metadata = { ...recordAt(found, "metadata"), uid: "u", resourceVersion: "1" };
    return { ...Object(found), metadata: { ...metadata, creationTimestamp } };
  };
  return {
    policy: stored("ValidatingAdmissionPolicy"),
    binding: stored("ValidatingAdmissionPolicyBinding"),
  };
}
