import type { AdmissionUser } from "../api/admission-review.ts";
import { isTrueAt, recordAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Client } from "../kube/client.ts";

/** The attributes of a resource request (Kubernetes API reference, ResourceAttributes). */
interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Whether the API server would allow the user's request, by a SubjectAccessReview. */
export async function isAllowed(
  { username, uid, groups, extra }: AdmissionUser,
  resourceAttributes: ResourceAttributes,
  client: Pick<Client, "review">,
): Promise<boolean> {
  const answer = await client.review(resources.accessReviews, {
    user: username,
    uid,
    groups,
    extra,
    resourceAttributes,
  });
  return isTrueAt(recordAt(answer, "status"), "allowed");
}
