import { expect, test } from "vitest";
import { parseClaimRules } from "../../../src/domain/oidc/claim-rules.ts";
import { knownIssuer, rulesAdvice, rulesProblem } from "../../../src/domain/oidc/known-issuers.ts";

const github = "https://token.actions.githubusercontent.com";
const own = "https://oidc.example";
const rulesOf = (text: string) => {
  const parsed = parseClaimRules(text);
  if (parsed.kind === "refused") throw new Error(parsed.problem);
  return parsed.rules;
};

test.each([
  [own, "sub=me", "none"],
  [own, "iss=https://oidc.example", "only claims that the tokens of many have"],
  [own, "aud=ci\njti=1", "only claims that the tokens of many have"],
  [own, "email=me@example.com", "email_verified=true"],
  [own, "email=me@example.com\nemail_verified=true", "none"],
  [github, "repository_id=1", "none"],
  [github, "repository_owner_id=1\nref=refs/heads/main", "none"],
  [github, "ref=refs/heads/main", "repository_id or repository_owner_id"],
  [github, "repository=acme/app", "repository_id or repository_owner_id"],
  [github, "sub=repo:acme/app:ref:refs/heads/main", "repository_id or repository_owner_id"],
  [github, "repository_id=1/*", "repository_id or repository_owner_id"],
  [github, "ref_protected=true\nrunner_environment=github-hosted", "only claims"],
  [`${github}/acme`, "ref=refs/heads/main", "repository_id"],
  [`${github}.example`, "ref=refs/heads/main", "none"],
  ["https://gitlab.com", "project_path=acme/app", "project_id or namespace_id"],
  ["https://accounts.google.com", "email=me@example.com", "email_verified=true"],
])("the rules of %s, %j: %j", (url, text, problem) => {
  expect(rulesProblem(url, rulesOf(text)) ?? "none").toContain(problem);
});

test("a rule for a repository without environment or workflow is warned of", () => {
  expect(rulesAdvice(github, rulesOf("repository_id=1"))).toContain(
    "environment or job_workflow_ref",
  );
  expect(rulesAdvice(github, rulesOf("repository_id=1\nenvironment=production"))).toBeUndefined();
  expect(rulesAdvice(own, rulesOf("sub=me"))).toBeUndefined();
});

test("another host of keys is in the table", () => {
  expect(knownIssuer("https://accounts.google.com")?.keysHost).toBe("www.googleapis.com");
  expect(knownIssuer(own)).toBeUndefined();
});
