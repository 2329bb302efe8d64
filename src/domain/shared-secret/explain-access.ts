import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import type { SharedSecret } from "../../api/shared-secret.ts";
import type { Prefixes } from "../names.ts";
import { reportObject } from "../report-object.ts";
import { accessOf } from "./access-rules.ts";

/** The access rules of a SharedSecret that grant nothing, and the fields that decide. */
export function explainAccess(secret: SharedSecret, prefixes: Prefixes): readonly ReportItem[] {
  const object = reportObject(resources.sharedSecrets.kind, secret.metadata);
  const { problems, emptyRules } = accessOf(secret, prefixes);
  return [
    ...problems.map((problem): ReportItem => {
      // Every problem begins with the path of its field.
      const [field] = problem.split(": ", 1);
      const reason = "InvalidAccessRule";
      const causes = [{ object, field, reason, message: "Correct the access rule." }];
      return { object, state: "problem", reason, message: `${problem}.`, causes };
    }),
    ...emptyRules.map((place): ReportItem => {
      const [field] = place.split(" ", 1);
      const reason = "EmptyAccessRule";
      const message = `${place} names no users and no teams, so it grants nothing.`;
      const fix = "Name users or teams, or remove the rule.";
      return {
        object,
        state: "info",
        reason,
        message,
        causes: [{ object, field, reason, message: fix }],
      };
    }),
  ];
}
