import type { ClaimRule } from "./claim-rules.ts";

/** What is known of an issuer whose tokens many parties get: data alone. */
interface KnownIssuer {
  /** In messages. */
  readonly name: string;
  /** Whose tokens it signs, by URL. */
  readonly url: RegExp;
  /** One of these claims has to be in a rule, as a whole: it says whose job it is. */
  readonly required: readonly string[];
  /** Claims that many of its tokens have alike, so that a rule of these alone means nothing. */
  readonly common: readonly string[];
  /** A rule without one of these claims is warned of. */
  readonly advised: readonly string[];
  /** Another host that its keys may be read from. */
  readonly keysHost?: string;
}

/** Claims that every token has (RFC 7519, section 4.1); `sub` says who it is for. */
const registered: readonly string[] = ["iss", "aud", "exp", "iat", "nbf", "jti"];

const knownIssuers: readonly KnownIssuer[] = [
  {
    // Names of repositories and owners are given to others after a deletion or a renaming; ids are
    // not. A pull request of a fork runs with the ref of the base, so a ref alone is no proof.
    name: "GitHub Actions",
    url: /^https:\/\/token\.actions\.githubusercontent\.com(\/[^/]+)?$/,
    required: ["repository_id", "repository_owner_id"],
    common: [
      "repository_visibility",
      "runner_environment",
      "ref_type",
      "ref_protected",
      "run_attempt",
    ],
    advised: ["environment", "job_workflow_ref"],
  },
  {
    name: "GitLab",
    url: /^https:\/\/gitlab\.com$/,
    required: ["project_id", "namespace_id"],
    common: ["runner_environment", "ref_type", "ref_protected", "environment_protected"],
    advised: ["environment_protected", "ref_protected"],
  },
  {
    name: "Google",
    url: /^https:\/\/accounts\.google\.com$/,
    required: ["sub", "email"],
    common: ["email_verified", "hd", "azp"],
    advised: [],
    keysHost: "www.googleapis.com",
  },
  {
    name: "CircleCI",
    url: /^https:\/\/oidc\.circleci\.com\/org\/[^/]+$/,
    required: ["oidc.circleci.com/project-id", "sub"],
    common: ["oidc.circleci.com/ssh-rerun", "oidc.circleci.com/vcs-ref"],
    advised: ["oidc.circleci.com/vcs-ref"],
  },
  {
    name: "Buildkite",
    url: /^https:\/\/agent\.buildkite\.com$/,
    required: ["organization_id", "pipeline_id"],
    common: ["build_branch", "step_key", "runner_environment"],
    advised: ["pipeline_id"],
  },
];

/** The issuer of this URL, if it is known. */
export function knownIssuer(url: string): KnownIssuer | undefined {
  return knownIssuers.find((issuer) => issuer.url.test(url));
}

/**
 * Why the rules of a key trust too many tokens of an issuer, as a sentence without a period;
 * undefined if they do not.
 */
export function rulesProblem(url: string, rules: readonly ClaimRule[]): string | undefined {
  const { name = "", required = [], common = [] } = knownIssuer(url) ?? {};
  const names = rules.map((rule) => rule.name);
  if (names.every((one) => registered.includes(one) || common.includes(one)))
    return "it names only claims that the tokens of many have; name one that only yours have";
  const exact = rules.filter(({ isPrefix }) => !isPrefix).map((rule) => rule.name);
  if (required.length > 0 && !required.some((one) => exact.includes(one)))
    return `for ${name}, it must name ${required.join(" or ")}, without "*"`;
  if (exact.includes("email") && !hasRule(rules, "email_verified", "true"))
    return "with email, it must have email_verified=true, because anybody may claim an address";
  return undefined;
}

/** What is probably not meant about the rules of a key, as a sentence without a period. */
export function rulesAdvice(url: string, rules: readonly ClaimRule[]): string | undefined {
  const known = knownIssuer(url);
  const advised = known?.advised ?? [];
  return advised.length === 0 || rules.some(({ name }) => advised.includes(name))
    ? undefined
    : `without ${advised.join(" or ")}, every job of the repositories or projects has the key, ` +
        "also one that somebody else changed";
}

function hasRule(rules: readonly ClaimRule[], name: string, value: string): boolean {
  return rules.some((rule) => rule.name === name && rule.value === value && !rule.isPrefix);
}
