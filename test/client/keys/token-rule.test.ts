import { load } from "js-yaml";
import { expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { recordAt } from "../../../src/api/parse.ts";
import { answeringCluster, type FakeAnswer, refusal, runCommand } from "../run-command.ts";
import { issuersMap } from "../oidc/unsigned-token.ts";

const github = "https://token.actions.githubusercontent.com";
const gitlab = "https://gitlab.com";
const at = "2026-01-01T00:00:00Z";
const ready = { type: "Ready", status: "True", reason: "Active", message: "It is accepted." };
const stored = {
  metadata: { name: "ci", uid: "u", resourceVersion: "1", generation: 1, creationTimestamp: at },
  status: { observedGeneration: 1, conditions: [{ ...ready, lastTransitionTime: at }] },
};

/** Runs `keys create ci --user=shop-ci` with these words, in a cluster with these issuers. */
async function create(words: readonly string[], issuers: FakeAnswer = [200, issuersMap()]) {
  const { cluster, requests } = answeringCluster(({ method, path }) =>
    path.includes("configmaps") ? issuers : [method === "POST" ? 201 : 200, stored],
  );
  const args = ["ci", "--user=shop-ci", ...words];
  const connect = async () => cluster;
  const ended = await runCommand({ command: "keys create", args, connect });
  return { ...ended, posted: requests.filter(({ method }) => method === "POST") };
}

test.each<[string, readonly string[], string, string]>([
  [
    "a repository of GitHub",
    ["--github-repository-id=123", "--claim=environment=production"],
    github,
    "repository_id=123\nenvironment=production",
  ],
  [
    "a repository of another server of GitHub",
    ["--github-repository-id=123", "--claim=job_workflow_ref=a/b", `--issuer=${github}/acme`],
    `${github}/acme`,
    "repository_id=123\njob_workflow_ref=a/b",
  ],
  [
    "a project of GitLab",
    ["--claim=project_id=7", `--issuer=${gitlab}`, "--claim=ref_protected=true", "--claim=sub=a=b"],
    gitlab,
    "project_id=7\nref_protected=true\nsub=a=b",
  ],
])("a key for %s has a rule and no secret", async (_what, words, issuer, claims) => {
  const { code, stdout, stderr, posted } = await create(words);
  expect(code).toBe(0);
  expect(posted.map(({ body }) => body)).toEqual([
    expect.objectContaining({
      metadata: {
        name: "ci",
        annotations: { [annotations.issuer]: issuer, [annotations.claims]: claims },
      },
      spec: { user: "shop-ci", type: "User" },
    }),
  ]);
  expect(stderr).toContain("ownedaccesskey/ci created: Active; it does not expire");
  expect(stderr).not.toContain("warning");
  expect(stdout + stderr).not.toContain("lk_");
});

const workflow = ["--github-repository-id=123", "--claim=environment=production"];
const project = [`--issuer=${gitlab}`, "--claim=project_id=7", "--claim=environment=production"];

test.each<[string, readonly string[], FakeAnswer, string, string, string]>([
  [
    "of GitHub",
    workflow,
    [200, issuersMap({}, github)],
    "https://latchkey.example/ci",
    "--from-github",
    "the job needs permissions: id-token: write",
  ],
  [
    "of GitLab",
    project,
    [200, issuersMap({}, gitlab)],
    "https://latchkey.example/ci",
    "--from-variable=LATCHKEY_TOKEN",
    "--from-file=FILE",
  ],
  [
    "of an issuer without an entry",
    workflow,
    [200, issuersMap()],
    "AUDIENCE/ci",
    "--from-github",
    "which has no entry with this issuer",
  ],
  [
    "for a user who may not read the issuers",
    workflow,
    refusal(403, "Forbidden", "is forbidden"),
    "AUDIENCE/ci",
    "--from-github",
    "which you may not read (get configmaps/latchkey-issuers in namespace latchkey-system)",
  ],
])("the output is the user of a job %s", async (_what, words, issuers, audience, from, note) => {
  const { stdout, stderr } = await create(words, issuers);
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "kubectl-latchkey",
    args: ["credential", `--audience=${audience}`, from],
    interactiveMode: "Never",
  };
  expect(load(stdout)).toEqual({ users: [{ name: "latchkey-ci", user: { exec } }] });
  expect(stderr).toContain("a job gets its credential with this user in its kubeconfig");
  expect(stderr).toContain(note);
});

test("a rule that is probably too wide is warned of, and stored", async () => {
  const { code, stderr, posted } = await create(["--github-repository-id=123"]);
  expect([code, posted.length]).toEqual([0, 1]);
  expect(stderr).toContain("warning: --claim: without environment or job_workflow_ref, every job");
});

test("a key that does not become ready is not well, and its user is printed", async () => {
  const conditions = [
    { ...ready, status: "False", reason: "UnknownIssuer", lastTransitionTime: at },
  ];
  const { cluster } = answeringCluster(({ path }) =>
    path.includes("configmaps")
      ? [200, issuersMap()]
      : [200, { ...stored, status: { observedGeneration: 1, conditions } }],
  );
  const args = ["ci", "--user=shop-ci", ...workflow];
  const connect = async () => cluster;
  const { code, stdout, stderr } = await runCommand({ command: "keys create", args, connect });
  expect(code).toBe(3);
  expect(stderr).toContain("created: UnknownIssuer");
  expect(recordAt(load(stdout), "users")).toEqual({});
  expect(stdout).toContain("AUDIENCE/ci");
});

test.each<[string, readonly string[], string]>([
  ["an issuer without claims", [`--issuer=${gitlab}`], "--claim is required beside the issuer"],
  ["claims without an issuer", ["--claim=a=b"], "--issuer is required beside the claims"],
  ["an issuer without TLS", ["--issuer=http://a", "--claim=a=b"], '--issuer: "http://a" must be'],
  ["a long issuer", [`--issuer=https://a/${"x".repeat(600)}`, "--claim=a=b"], "512 characters"],
  ["a name", ["--github-repository-id=acme"], '--github-repository-id: "acme" must be a number'],
  ["a claim without a value", [...project, "--claim=a"], '--claim: "a" must be a name, an equals'],
  ["an empty value", [...project, "--claim=a="], '--claim: "a=" has no value'],
  ["two lines", [...project, "--claim=a=b\nc=d"], "has a control character"],
  ["a star within", [...project, "--claim=a=b*c"], 'has a "*"'],
  [
    "a claim twice",
    [...workflow, "--claim=repository_id=5"],
    "--claim is refused: line 3 names a claim of another line",
  ],
  [
    "claims that many have",
    ["--issuer=https://a.example", "--claim=aud=b"],
    "--claim is refused: it names only claims that the tokens of many have",
  ],
  [
    "no id of GitHub",
    [`--issuer=${github}`, "--claim=repository=acme/shop"],
    "--claim is refused: for GitHub Actions, it must name repository_id",
  ],
  ["a file for a key", [...project, "--output-file=key"], "--output-file cannot be combined"],
  ["the output of a key", [...project, "-o", "env"], "--output cannot be combined"],
  ["a gateway", [...workflow, "--gateway=https://a"], "--gateway cannot be combined"],
  ["a CA", [...workflow, "--gateway-ca=ca.crt"], "--gateway-ca cannot be combined"],
])("keys create with %s is refused before any request", async (_what, words, sentence) => {
  const { code, stdout, stderr, posted } = await create(words);
  expect([code, stdout, posted]).toEqual([2, "", []]);
  expect(stderr).toContain(sentence);
});
