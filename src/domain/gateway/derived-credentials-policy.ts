import type { ReviewedRequest } from "../../api/access-review.ts";
import type { PolicyProblem } from "./connected-policy.ts";
import { type Refusal, refusal } from "./refusal.ts";

/**
 * Whether a request writes a Secret. Its type decides whether it becomes a credential, and the head
 * of a request does not tell the type: an apply or a patch may create the Secret, too. The verb `*`
 * of a review includes these.
 */
export function writesSecret(request: ReviewedRequest): boolean {
  return (
    request.kind === "resource" &&
    request.group === "" &&
    request.resource === "secrets" &&
    ["create", "update", "patch", "*"].includes(request.verb)
  );
}

const forbidden = "forbidden: a credential with a scope may not write Secrets here";
const apply = "an administrator of the cluster must apply";

/**
 * The refusal of a scoped credential's write of a Secret in a cluster that is not known to enforce
 * the policy on derived credentials.
 */
export function secretWriteRefusal({ kind, fact }: PolicyProblem): Refusal {
  switch (kind) {
    case "not-enforced":
      return refusal(
        403,
        "scope",
        `${forbidden}, because a Secret can become a credential without that scope: ${fact}; ` +
          `${apply} config/connected-policies`,
      );
    case "unreadable":
      return refusal(
        403,
        "scope",
        `${forbidden}: ${fact}; ${apply} config/connected-cluster again`,
      );
    case "settling":
    case "unknown":
      return refusal(503, "not-ready", `${fact}; retry`);
  }
}
