import { annotations } from "../../api/names.ts";
import type { Annotated } from "../../api/object.ts";
import { type ClaimRule, parseClaimRules } from "./claim-rules.ts";
import type { IssuerEntry } from "./issuer-entries.ts";
import { rulesProblem } from "./known-issuers.ts";

/** The issuers that count, by URL. */
export type Issuers = ReadonlyMap<string, IssuerEntry>;

/** The tokens that a key trusts, or why there are none. */
export type TrustedTokens =
  | {
      readonly kind: "trusted";
      readonly issuer: IssuerEntry;
      readonly rules: readonly ClaimRule[];
    }
  | { readonly kind: "unknown-issuer"; readonly url: string }
  | InvalidRule;

interface InvalidRule {
  readonly kind: "invalid";
  /** The key of the annotation. */
  readonly annotation: string;
  /** A sentence without subject and period. */
  readonly problem: string;
}

/** What the annotations of a key say about the tokens that it trusts. */
type TokenRule =
  | { readonly kind: "rule"; readonly issuer: string; readonly rules: readonly ClaimRule[] }
  | InvalidRule;

const longestUrl = 512;

/**
 * The rule of a key about tokens: the annotations `issuer` and `claims`, which stand for `spec.key`
 * where that is empty. Undefined without them; an empty one counts as none.
 */
export function tokenRuleOf({ annotations: given }: Annotated): TokenRule | undefined {
  const [issuer, claims] = [given[annotations.issuer] ?? "", given[annotations.claims] ?? ""];
  if (issuer === "" && claims === "") return undefined;
  if (issuer === "") return invalid(annotations.issuer, "is required beside the claims");
  if (claims === "") return invalid(annotations.claims, "is required beside the issuer");
  if (issuer.length > longestUrl)
    return invalid(annotations.issuer, `has more than ${longestUrl} characters`);
  const parsed = parseClaimRules(claims);
  const problem = parsed.kind === "refused" ? parsed.problem : rulesProblem(issuer, parsed.rules);
  return parsed.kind === "refused" || problem !== undefined
    ? invalid(annotations.claims, `is refused: ${problem ?? ""}`)
    : { kind: "rule", issuer, rules: parsed.rules };
}

/** The tokens that a key without `spec.key` trusts; undefined if it names none. */
export function trustedTokens(metadata: Annotated, issuers: Issuers): TrustedTokens | undefined {
  const rule = tokenRuleOf(metadata);
  if (rule?.kind !== "rule") return rule;
  const issuer = issuers.get(rule.issuer);
  return issuer === undefined
    ? { kind: "unknown-issuer", url: rule.issuer }
    : { kind: "trusted", issuer, rules: rule.rules };
}

/** What decides which tokens are trusted, beside the keys of the issuer; empty for none. */
export function trustOf(tokens: TrustedTokens | undefined): readonly unknown[] {
  if (tokens?.kind !== "trusted") return [];
  const { url, audiences, required } = tokens.issuer;
  return [{ url, audiences, required, rules: tokens.rules }];
}

/** Whether two keys trust the same tokens. */
export function trustsSame(
  one: TrustedTokens | undefined,
  other: TrustedTokens | undefined,
): boolean {
  return one === other || JSON.stringify(trustOf(one)) === JSON.stringify(trustOf(other));
}

function invalid(annotation: string, problem: string): InvalidRule {
  return { kind: "invalid", annotation, problem };
}
