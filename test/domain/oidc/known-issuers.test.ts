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

const gitlab = "https://gitlab.com";
const google = "https://accounts.google.com";
const circle = "https://oidc.circleci.com/org/1";
const buildkite = "https://agent.buildkite.com";

/** Claims of each issuer of which one suffices, and which mean nothing without one of these. */
test.each<[url: string, enough: readonly string[], common: readonly string[]]>([
  [
    github,
    ["repository_id", "repository_owner_id"],
    ["repository_visibility", "runner_environment", "ref_type", "ref_protected", "run_attempt"],
  ],
  [
    gitlab,
    ["project_id", "namespace_id"],
    ["runner_environment", "ref_type", "ref_protected", "environment_protected"],
  ],
  [google, ["sub"], ["email_verified", "hd", "azp"]],
  [
    circle,
    ["oidc.circleci.com/project-id", "sub"],
    ["oidc.circleci.com/ssh-rerun", "oidc.circleci.com/vcs-ref"],
  ],
  [
    buildkite,
    ["organization_id", "pipeline_id"],
    ["build_branch", "step_key", "runner_environment"],
  ],
  [own, ["anything"], ["iss", "aud", "exp", "iat", "nbf", "jti"]],
])("%s has claims that suffice, and claims that many tokens have", (url, enough, common) => {
  const problemOf = (...names: readonly string[]) =>
    rulesProblem(url, rulesOf(names.map((name) => `${name}=1`).join("\n")));
  for (const name of enough) expect([name, problemOf(name)]).toEqual([name, undefined]);
  for (const name of common) {
    expect(problemOf(name, name === "iat" ? "exp" : "iat")).toContain(
      "it names only claims that the tokens of many have",
    );
    expect(problemOf(name, enough[0] ?? "")).toBeUndefined();
  }
});

test.each([
  [github, "repository_id=1", ["environment", "job_workflow_ref"]],
  [gitlab, "project_id=1", ["environment_protected", "ref_protected"]],
  [circle, "sub=1", ["oidc.circleci.com/vcs-ref"]],
  [buildkite, "organization_id=1", ["pipeline_id"]],
])("a rule of %s with %s alone is warned of", (url, text, advised) => {
  expect(rulesAdvice(url, rulesOf(text))).toContain(`without ${advised.join(" or ")}, every job`);
  for (const name of advised)
    expect(rulesAdvice(url, rulesOf(`${text}\n${name}=true`))).toBeUndefined();
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
