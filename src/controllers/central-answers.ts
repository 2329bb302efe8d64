import { isTrueAt, recordAt, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { isHonoured, reviewSpec } from "../domain/grants/former-grantee.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError, isRefusal } from "../kube/client/kube-error.ts";
import { mintToken } from "../tokens/direct-token.ts";
import { signingKeys } from "./kinds/signing-keys.ts";
import type { Question } from "./question.ts";
import type { AnswerOther } from "./send.ts";
import type { World } from "./world.ts";

/** Answers what the decisions of the central cluster ask about grants and tokens. */
export function centralAnswers(world: World): AnswerOther {
  return async (question, client) => {
    if (question.do === "review")
      return { do: "review", isHonoured: await isStillHonoured(question, client) };
    const keys = signingKeys(world);
    const minted = keys === undefined ? undefined : await mintToken(question.claims, keys);
    return { do: "sign", minted };
  };
}

async function isStillHonoured(
  { grantee, resource, ref }: Extract<Question, { do: "review" }>,
  client: Client,
): Promise<boolean> {
  try {
    const review = await client.review(resources.accessReviews, reviewSpec(grantee, resource, ref));
    const status = recordAt(review, "status");
    return isHonoured(grantee, {
      allowed: isTrueAt(status, "allowed"),
      reason: stringAt(status, "reason") ?? "",
    });
  } catch (error) {
    // If the API server rejects the review, the object waits for the maximum time instead of
    // forever.
    if (isKubeError(error) && isRefusal(error)) return true;
    throw error;
  }
}
