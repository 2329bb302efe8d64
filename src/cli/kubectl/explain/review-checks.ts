import { apiVersion, extras, webhookConfigurations } from "../../../api/names.ts";
import { isTrueAt, recordAt, stringAt } from "../../../api/parse.ts";
import type { ReportItem, ReportReason } from "../../../api/report.ts";
import { resources } from "../../../api/resources.ts";
import { isKubeError } from "../../../kube/client/kube-error.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { newBoundKey } from "../../../tokens/access-key.ts";
import type { Cluster } from "../connection/cluster.ts";
import { sentenceOf } from "../failure.ts";
import { asSentence } from "./report.ts";

/** An item of `check`, whose message says what to change. */
export type Check = Omit<ReportItem, "causes" | "reason"> & { readonly reason: ReportReason };

/** Dependencies of {@link reviewChecks}. */
interface ReviewCheckDeps {
  readonly clock: Pick<Clock, "wakeAfter">;
}

/**
 * Makes kube-apiserver send one review to each part of the webhook, and waits for the answers.
 * Nothing is stored.
 */
export function reviewChecks(cluster: Cluster, deps: ReviewCheckDeps): Promise<readonly Check[]> {
  const { ownedAccessKeys, tokenReviews, accessReviews, mutatingWebhookConfigurations } = resources;
  const [name = ""] = webhookConfigurations;
  // kube-apiserver keeps answers for a while, so it is asked about a key of this moment.
  const unknownKey = newBoundKey("user:check");
  const newObject = {
    ...{ apiVersion, kind: ownedAccessKeys.kind },
    ...{ metadata: { name: "", generateName: "check-" }, spec: { disabled: true } },
  };
  const ofUnknownKey = {
    ...{ user: "check", extra: { [extras.keyId]: [unknownKey.digest] } },
    nonResourceAttributes: { path: "/version", verb: "get" },
  };
  const look = async (object: Check["object"], finding: Promise<Finding>): Promise<Check> => ({
    object,
    ...(await inTime(finding, deps)),
  });
  return Promise.all([
    look(
      { kind: mutatingWebhookConfigurations.kind, name },
      cluster
        .create(ownedAccessKeys, newObject, { dryRun: true })
        .then(admissionFinding, admissionRefusal),
    ),
    look(
      { kind: tokenReviews.kind },
      cluster.review(tokenReviews, { token: unknownKey.plain }).then(tokenFinding, hidden),
    ),
    look(
      { kind: accessReviews.kind },
      cluster.review(accessReviews, ofUnknownKey).then(accessFinding, hidden),
    ),
  ]);
}

type Finding = Pick<Check, "state" | "reason" | "message">;

/** Longer than kube-apiserver waits for an admission webhook or an authorizer of Latchkey. */
const answerWithinMs = 10_000;

async function inTime(finding: Promise<Finding>, { clock }: ReviewCheckDeps): Promise<Finding> {
  const end = new AbortController();
  const late = sleep(answerWithinMs, { clock, signal: end.signal });
  try {
    return await Promise.race([
      finding,
      late.then(() => noAnswer(`no answer in ${answerWithinMs / 1000} s`)),
    ]);
  } finally {
    end.abort();
  }
}

/** The webhook generates a key for an object without one. */
function admissionFinding(object: unknown): Finding {
  if ((stringAt(recordAt(object, "spec"), "key") ?? "") !== "")
    return answered("The webhook answered a review of a new access key.");
  return {
    state: "info",
    reason: "NotFound",
    message:
      "No webhook was asked about a new access key, so none generates keys and refuses those that are in use; apply config/webhook of Latchkey.",
  };
}

function admissionRefusal(error: unknown): Finding {
  return isKubeError(error) && /^admission webhook "[^"]*" denied/.test(error.explanation)
    ? answered("The webhook answered a review of a new access key, and refused it.")
    : hidden(error);
}

/** The error that kube-apiserver gives for every token that no authenticator knows. */
const unknownToken = "invalid bearer token";

function tokenFinding(status: Readonly<Record<string, unknown>>): Finding {
  const error = (stringAt(status, "error") ?? "").replaceAll(unknownToken, "");
  return /\w/.test(error)
    ? noAnswer(error)
    : answered("kube-apiserver answered that it does not know an access key that does not exist.");
}

function accessFinding(status: Readonly<Record<string, unknown>>): Finding {
  const reason = stringAt(status, "reason") ?? "";
  const problem = stringAt(status, "evaluationError") ?? "";
  if (isTrueAt(status, "denied") && reason.includes("access key of this request was deleted"))
    return answered(
      "The webhook answered a review of a request with an access key that does not exist.",
    );
  if (isTrueAt(status, "denied")) return noAnswer(problem === "" ? reason : problem);
  return {
    state: "info",
    reason: "NotFound",
    message:
      "No authorizer of Latchkey was asked about a request with an access key, so kube-apiserver enforces no scope; kubectl latchkey trust-config --authorization prints what it needs. The gateway needs none.",
  };
}

function answered(message: string): Finding {
  return { state: "ok", reason: "Answered", message };
}

/** What kube-apiserver says if no packet comes back, or a firewall refuses. */
const isUnreachable =
  /deadline exceeded|timeout|timed out|no answer in|no route to host|unreachable/;

/** The last part of a chain of errors, which before that names the secret path of the webhook. */
function noAnswer(error: string): Finding {
  const cause = error.replace(/^[^]*"[^"]*": /, "").replace(/[\s\],]+$/, "");
  const advice = isUnreachable.test(cause)
    ? "look whether a firewall or a NetworkPolicy keeps kube-apiserver from port 8443 of the webhook, and at the log of latchkey webhook"
    : "look at the log of latchkey webhook";
  const message = `The webhook did not answer a review: ${cause}; ${advice}.`;
  return { state: "problem", reason: "NotAnswered", message };
}

/** The finding for a request without an answer, or that was refused before a review. */
function hidden(error: unknown): Finding {
  if (!isKubeError(error) || error.code === "Unauthorized") throw error;
  if (isKubeError(error, "Network", "ServerError")) return noAnswer(error.explanation);
  return { state: "unknown", reason: "Forbidden", message: asSentence(sentenceOf(error)) };
}
