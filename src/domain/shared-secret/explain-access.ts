import type { SharedSecret } from "../../api/shared-secret.ts";
import { resources } from "../../api/resources.ts";
import type { Cause } from "../cause.ts";
import type { Prefixes } from "../names.ts";
import { accessOf } from "./access-rules.ts";

/** A rule that grants nothing, and the field that decides. */
interface AccessExplanation {
  readonly reason: "InvalidAccessRule" | "EmptyAccessRule";
  readonly sentence: string;
  readonly causes: readonly Cause[];
}

/** Explains the access rules of a SharedSecret that grant nothing. */
export function explainAccess(
  secret: SharedSecret,
  prefixes: Prefixes,
): readonly AccessExplanation[] {
  const { namespace = "", name } = secret.metadata;
  const object = { kind: resources.sharedSecrets.kind, namespace, name };
  const { problems, emptyRules } = accessOf(secret, prefixes);
  return [
    ...problems.map((sentence) => {
      // Every problem begins with the path of its field.
      const [field = ""] = sentence.split(": ", 1);
      const reason = "InvalidAccessRule";
      const causes = [{ object, field, reason, fix: "Correct the access rule" }];
      return { reason, sentence: `${sentence}.`, causes } as const;
    }),
    ...emptyRules.map((place) => {
      const [field = ""] = place.split(" ", 1);
      const fix = "Name users or teams, or remove the rule";
      const reason = "EmptyAccessRule";
      return {
        reason,
        sentence: `${place} names no users and no teams, so it grants nothing.`,
        causes: [{ object, field, reason, fix }],
      } as const;
    }),
  ];
}
