import type { ReportItem } from "../../api/report.ts";
import type { SecretText } from "../../api/secret-text.ts";
import { explainKey, objectOf } from "../../domain/access-key/explain-key.ts";
import { readOidcToken } from "../../tokens/oidc-token.ts";
import type { LiveKey } from "../explain/live-keys.ts";
import { isIssuerHidden, issuersText, tokenProblems } from "./token-problems.ts";
import { formProblem } from "./token-text.ts";

/**
 * Answers whether a key accepts a token at `now`, in milliseconds since the epoch: an item for each
 * reason against it, and what is not checked. Values of claims are quoted, and nothing else of it.
 */
export function tokenItems(token: SecretText, live: LiveKey, now: number): readonly ReportItem[] {
  const object = objectOf(live.resolved);
  const item = (state: ReportItem["state"], reason: string, message: string): ReportItem => ({
    object,
    state,
    reason,
    message,
    causes: [],
  });
  const read = readOidcToken(token);
  if (read.kind === "refused")
    return [item("problem", "TokenRefused", `the token ${formProblem(read.reason)}.`)];
  const problems = tokenProblems(read, live, now);
  const { namespace } = live.resolved.config;
  const accepted = isIssuerHidden(live)
    ? item(
        "unknown",
        "Forbidden",
        `The token fits the key, as far as it is known without ${issuersText(namespace)}, ` +
          "which has the audiences and the rules of its issuer.",
      )
    : explainKey(live.resolved, now).state === "problem"
      ? item("info", "TokenAccepted", "The token fits the key, which does not work itself.")
      : item("ok", "TokenAccepted", "The key accepts the token, if its issuer signed it.");
  return [
    ...(problems.length === 0
      ? [accepted]
      : problems.map((problem) => item("problem", "TokenRefused", `${problem}.`))),
    item(
      "info",
      "SignatureNotChecked",
      "This command does not check the signature of the token; only the webhook and the gateway " +
        "have the keys of its issuer.",
    ),
  ];
}
