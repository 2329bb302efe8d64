import { expect, test } from "vitest";
import { runInMemory } from "../memory-cli.ts";
import { claims, now, showsToken, tokenOf, withFile } from "./unsigned-token.ts";

const audience = claims.aud;
const flag = `--audience=${audience}`;

/** Runs `credential --from-variable` with this text in the variable. */
const fromVariable = (text: string, env: Readonly<Record<string, string>> = {}) =>
  runInMemory(["credential", flag, "--from-variable=JOB_TOKEN"], {
    env: { ...env, JOB_TOKEN: text },
  });

const ended = { code: 0, stderr: "" };
const credential = (token: string, version = "v1") => ({
  apiVersion: `client.authentication.k8s.io/${version}`,
  kind: "ExecCredential",
  // Ten seconds before its end, so that none of the client's requests arrives after it.
  status: { token, expirationTimestamp: "2026-01-01T00:04:50Z" },
});

test.each<[string, object]>([
  ["one audience", {}],
  ["several audiences", { aud: ["other", audience] }],
])("credential prints the token of a variable with %s", async (_audiences, changed) => {
  const token = tokenOf(changed);
  const { stdout, ...result } = await fromVariable(`${token}\n`);
  expect(result).toMatchObject(ended);
  expect(JSON.parse(stdout)).toEqual(credential(token));
});

test("credential prints the version that kubectl asks for", async () => {
  const info = JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1beta1" });
  const token = tokenOf();
  const { stdout } = await fromVariable(token, { KUBERNETES_EXEC_INFO: info });
  expect(JSON.parse(stdout)).toEqual(credential(token, "v1beta1"));
});

test("credential prints the token of a file", async () => {
  const token = tokenOf();
  const { stdout, ...result } = await withFile(`${token}\n`, (path) =>
    runInMemory(["credential", flag, `--from-file=${path}`]),
  );
  expect(result).toMatchObject(ended);
  expect(JSON.parse(stdout)).toEqual(credential(token));
});

test.each<[string, string, string]>([
  ["of another audience", tokenOf({ aud: "https://latchkey.example" }), "is not for the audience"],
  ["without an audience", tokenOf({ aud: undefined }), "request it with this aud"],
  ["that has ended", tokenOf({ exp: now }), "ended at 2026-01-01T00:00:00Z; request another"],
  ["without an end", tokenOf({ exp: undefined }), "has no exp that is a date"],
  ["with an end that is no number", tokenOf({ exp: "never" }), "has no exp that is a date"],
  ["with an end behind all dates", tokenOf({ exp: 1e300 }), "has no exp that is a date"],
  ["without kid", tokenOf({}, { kid: undefined }), "has no kid in its header"],
  ["of a shared key", tokenOf({}, { alg: "HS256" }), "is not signed with one of RS256"],
  ["for a logout", tokenOf({}, { typ: "logout+jwt" }), "typ is not JWT"],
  ["that is too large", tokenOf({ padding: "x".repeat(20_000) }), "more than 16384 bytes"],
  ["that is none", "canary-text-of-another-kind", "is no JWT"],
])("credential refuses a token %s, and quotes nothing of it", async (_what, token, why) => {
  const { code, stdout, stderr } = await fromVariable(token);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^the token in JOB_TOKEN /);
  expect(stderr).toContain(why);
  expect(stderr).not.toContain("canary");
  expect(showsToken(stderr, token)).toBe(false);
});

const from = "--from-variable=JOB_TOKEN";
const sources = "set one of --from-github, --from-file and --from-variable";

test.each<[string, readonly string[], string]>([
  ["without an audience", [from], "--audience is required"],
  ["with an audience of two words", ["--audience=a b", from], "--audience"],
  ["without a source", [flag], sources],
  ["with two sources", [flag, from, "--from-github"], sources],
  ["with a name of no variable", [flag, "--from-variable=1"], "--from-variable"],
  ["with a variable that is not set", [flag, from], "JOB_TOKEN is not set, or is empty"],
  ["with a name of every object", [flag, "--from-variable=constructor"], "constructor is not set"],
  ["without the file", [flag, "--from-file=/nonexistent"], "cannot be read: ENOENT"],
  ["outside of a job", [flag, "--from-github"], "the job needs permissions: id-token: write"],
])("credential %s is a mistake in the command line", async (_what, words, sentence) => {
  expect(await runInMemory(["credential", ...words])).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(sentence),
  });
});

test("credential reads no large file", async () => {
  const result = await withFile("x".repeat(64 * 1024 + 1), (path) =>
    runInMemory(["credential", flag, `--from-file=${path}`]),
  );
  expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("larger than 65536") });
});
