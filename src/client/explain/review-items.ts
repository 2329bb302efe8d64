import { apiVersion, extras, webhookConfigurations } from "../../api/names.ts";
import { specKeyOf } from "../../api/owned-access-key.ts";
import { isTrueAt, stringAt } from "../../api/parse.ts";
import type { ReportItem, ReportObject } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { sleep, type Timers } from "../../runtime/clock.ts";
import { newBoundKey } from "../../tokens/access-key.ts";
import type { Cluster } from "../connection/cluster.ts";
import { sentenceOf } from "../failure.ts";
import { plainItem } from "../report.ts";

const { ownedAccessKeys, tokenReviews, accessReviews, mutatingWebhookConfigurations } = resources;
const [configurationName = ""] = webhookConfigurations;
const admission = { kind: mutatingWebhookConfigurations.kind, name: configurationName };
const tokenReview = { kind: tokenReviews.kind };
const accessReview = { kind: accessReviews.kind };

/**
 * Makes kube-apiserver send one review to each part of the webhook, and waits for the answers.
 * Nothing is stored.
 */
export function reviewItems(
  cluster: Cluster,
  { clock }: { readonly clock: Timers },
): Promise<readonly ReportItem[]> {
  // kube-apiserver keeps answers for a while, so it is asked about a key of this moment.
  const unknownKey = newBoundKey("user:check");
  const newObject = {
    apiVersion,
    kind: ownedAccessKeys.kind,
    metadata: { name: "", generateName: "check-" },
    spec: { disabled: true },
  };
  const ofUnknownKey = {
    user: "check",
    extra: { [extras.keyId]: [unknownKey.digest] },
    nonResourceAttributes: { path: "/version", verb: "get" },
  };
  const dryRun = cluster.create(ownedAccessKeys, newObject, { dryRun: true });
  const token = cluster.review(tokenReviews, { token: unknownKey.plain });
  const access = cluster.review(accessReviews, ofUnknownKey);
  return Promise.all([
    inTime(admission, dryRun.then(admissionItem, admissionRefusal), clock),
    inTime(tokenReview, token.then(tokenItem, unreviewed(tokenReview)), clock),
    inTime(accessReview, access.then(accessItem, unreviewed(accessReview)), clock),
  ]);
}

/** Longer than kube-apiserver waits for an admission webhook or an authorizer of Latchkey. */
const answerWithinMs = 10_000;

async function inTime(
  object: ReportObject,
  item: Promise<ReportItem>,
  clock: Timers,
): Promise<ReportItem> {
  const end = new AbortController();
  const late = sleep(answerWithinMs, { clock, signal: end.signal });
  try {
    return await Promise.race([
      item,
      late.then(() => noAnswer(object, `no answer in ${answerWithinMs / 1000} s`)),
    ]);
  } finally {
    end.abort();
  }
}

/** The webhook generates a key for an object without one. */
function admissionItem(object: unknown): ReportItem {
  return specKeyOf(object) !== ""
    ? answered(admission, "The webhook answered a review of a new access key.")
    : plainItem(
        admission,
        ["info", "NotFound"],
        "No webhook was asked about a new access key, so none generates keys " +
          "and refuses those that are in use; apply config/webhook of Latchkey.",
      );
}

function admissionRefusal(error: unknown): ReportItem {
  return isKubeError(error) && /^admission webhook "[^"]*" denied/.test(error.explanation)
    ? answered(admission, "The webhook answered a review of a new access key, and refused it.")
    : unreviewed(admission)(error);
}

/** The error that kube-apiserver gives for every token that no authenticator knows. */
const unknownToken = "invalid bearer token";

function tokenItem(status: Readonly<Record<string, unknown>>): ReportItem {
  const error = (stringAt(status, "error") ?? "").replaceAll(unknownToken, "");
  return /\w/.test(error)
    ? noAnswer(tokenReview, error)
    : answered(
        tokenReview,
        "kube-apiserver answered that it does not know an access key that does not exist.",
      );
}

function accessItem(status: Readonly<Record<string, unknown>>): ReportItem {
  const reason = stringAt(status, "reason") ?? "";
  const problem = stringAt(status, "evaluationError") ?? "";
  if (!isTrueAt(status, "denied"))
    return plainItem(
      accessReview,
      ["info", "NotFound"],
      "No authorizer of Latchkey was asked about a request with an access key, so " +
        "kube-apiserver enforces no scope; kubectl latchkey trust-config --authorization prints " +
        "what it needs. The gateway needs none.",
    );
  return reason.includes("access key of this request was deleted")
    ? answered(
        accessReview,
        "The webhook answered a review of a request with an access key that does not exist.",
      )
    : noAnswer(accessReview, problem === "" ? reason : problem);
}

function answered(object: ReportObject, message: string): ReportItem {
  return plainItem(object, ["ok", "Answered"], message);
}

/** What kube-apiserver says if no packet comes back, or a firewall refuses. */
const isUnreachable =
  /deadline exceeded|timeout|timed out|no answer in|no route to host|unreachable/;

/**
 * The last part of a chain of errors, which before that names the secret path of the webhook;
 * without what is left of the list of errors of all authenticators.
 */
function noAnswer(object: ReportObject, error: string): ReportItem {
  const last = error.replace(/^[^]*"[^"]*": /, "").replace(/^[\s[,]+/, "");
  const [cause = ""] = /^[^]*[^\s\],]/.exec(last) ?? [];
  const advice = isUnreachable.test(cause)
    ? "look whether a firewall or a NetworkPolicy keeps kube-apiserver " +
      "from port 8443 of the webhook, and at the log of latchkey webhook"
    : "look at the log of latchkey webhook";
  const message = `The webhook did not answer a review: ${cause}; ${advice}.`;
  return plainItem(object, ["problem", "NotAnswered"], message);
}

/** The item of a request without an answer, or that was refused before a review. */
function unreviewed(object: ReportObject): (error: unknown) => ReportItem {
  return (error) => {
    if (!isKubeError(error) || error.code === "Unauthorized") throw error;
    return isKubeError(error, "Network", "ServerError")
      ? noAnswer(object, error.explanation)
      : plainItem(object, ["unknown", "Forbidden"], sentenceOf(error));
  };
}
