import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "js-yaml";
import { afterEach, beforeEach, expect, test } from "vitest";
import { boundDigest } from "../../support/bound-digest.ts";
import { answeringCluster, runCommand } from "../run-command.ts";

const oldKey = "canary-old-key-0123456789";
const newKey = "canary-new-key-0123456789";
const metadata = {
  name: "ci",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const terms = { user: "alice", ttl: 3600, scope: { projects: [{ project: "web" }] } };

let directory: string;
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "manifest-"))));
afterEach(() => rmSync(directory, { recursive: true }));

/** Runs `keys rotate ci`; `spec.key` of the stored key is a digest, or as given. */
async function rotate(flags: Readonly<Record<string, string>>, key?: string) {
  const stored = key ?? boundDigest(oldKey, "user:alice");
  const { cluster, requests } = answeringCluster(() => [
    200,
    { metadata, spec: { ...terms, key: stored } },
  ]);
  const connect = async () => cluster;
  const ended = await runCommand({ command: "keys rotate", args: ["ci"], flags, connect });
  expect(ended.stdout + ended.stderr).not.toMatch(/canary|lk_/);
  return { ...ended, sent: requests.map(({ method }) => method) };
}

test("the manifest of a successor has the digest of a new key, and changes nothing", async () => {
  const file = join(directory, "ci.key");
  const { code, stdout, stderr, sent } = await rotate({ output: "manifest", "key-file": file });
  expect([code, stderr, sent]).toEqual([0, "", ["GET"]]);
  expect(stdout).toContain("\n# kubectl latchkey keys delete ci\n");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const key = readFileSync(file, "utf8");
  expect(key).toMatch(/^lk_\w+\n$/);
  expect(load(stdout)).toEqual({
    apiVersion: "management.service/v1",
    kind: "OwnedAccessKey",
    metadata: { name: expect.stringMatching(/^ci-r\d{12}$/) },
    spec: { ...terms, key: boundDigest(key.trim(), "user:alice") },
  });
});

test("the manifest of a successor has the digest of the key in a file that exists", async () => {
  const file = join(directory, "ci.key");
  writeFileSync(file, `${newKey}\n`);
  const { code, stdout } = await rotate({ output: "manifest", "key-file": file });
  expect(code).toBe(0);
  expect(load(stdout)).toMatchObject({ spec: { key: boundDigest(newKey, "user:alice") } });
  expect(readFileSync(file, "utf8")).toBe(`${newKey}\n`);
});

test.each([
  ["as a digest", undefined],
  ["as it is", oldKey],
])("the old key is no successor, whether it is stored %s", async (_how, stored) => {
  const file = join(directory, "ci.key");
  writeFileSync(file, oldKey);
  const { code, stdout, stderr } = await rotate({ output: "manifest", "key-file": file }, stored);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("--key-file: the file has the old key");
});

test.each<[string, Readonly<Record<string, string>>, string]>([
  ["a manifest without a file", { output: "manifest" }, "-o manifest requires --key-file"],
  ["a file without a manifest", { "key-file": "ci.key" }, "--key-file requires -o manifest"],
  [
    "two outputs",
    { output: "manifest", "key-file": "a.key", "output-file": "b.yaml" },
    "prints to the standard output",
  ],
])("keys rotate refuses %s, and makes nothing", async (_what, flags, sentence) => {
  const { code, stderr, sent } = await rotate(flags);
  expect([code, sent]).toEqual([2, ["GET"]]);
  expect(stderr).toContain(sentence);
  expect(existsSync("a.key")).toBe(false);
});

test("a file without a key is refused", async () => {
  const file = join(directory, "ci.key");
  writeFileSync(file, "canary short");
  const { code, stderr } = await rotate({ output: "manifest", "key-file": file });
  expect([code, stderr]).toEqual([2, "--key-file: the file has no key\n"]);
});
