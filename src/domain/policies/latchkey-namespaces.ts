import { listAt, recordAt, stringAt } from "../../api/parse.ts";

/**
 * The namespaces of Latchkey's accounts that a policy of a cluster names: where Latchkey runs.
 * Another administrator decides what the policy is, but it can only add names.
 */
export function namespacesInPolicy(policy: unknown): readonly string[] {
  const spec = recordAt(policy, "spec");
  return ["matchConditions", "variables", "validations"]
    .flatMap((list) => listAt(spec, list))
    .flatMap((item) => accountNamespaces(stringAt(item, "expression") ?? ""));
}

/** The namespaces of the accounts of Latchkey in a text, such as a username. */
export function accountNamespaces(text: string): readonly string[] {
  return text
    .split("system:serviceaccount:")
    .slice(1)
    .flatMap((account) => {
      const [namespace = "", name = ""] = account.split(":", 2);
      return name.startsWith("latchkey-") ? [namespace] : [];
    });
}
