import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { checksumsText, type ReleaseFile, sha256Of } from "../../release/checksums.ts";
import { keyIdOf, signEnvelope } from "../../release/envelope.ts";
import { buildType, provenanceOf } from "../../release/provenance.ts";
import { spdxDocument } from "../../release/sbom.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { releasePage } from "../dev/doc-pages.ts";
import { blocksOf, hasCommands, stepsOf } from "../support/doc-blocks.ts";
import { repository } from "../support/install.ts";
import { skippedFor } from "../support/skipped.ts";
import { surprises } from "../verify/page-shell.ts";
import { artefact, created } from "./release-fixture.ts";

const page = readFileSync(join(repository, releasePage), "utf8");
const blocks = blocksOf(page).filter(hasCommands);
const steps = blocks.flatMap(stepsOf);
const missing = ["openssl", "jq", "sha256sum", "base64"].filter(
  (program) => spawnSync(program, ["--help"]).error !== undefined,
);
const options = skippedFor(missing.length === 0 ? undefined : `needs ${missing.join(", ")}`);

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const files: readonly ReleaseFile[] = [
  { name: `latchkey-${latchkeyVersion}.tgz`, bytes: "chart" },
  { name: "kubectl-latchkey-linux-x64", bytes: Buffer.from([0, 1, 255]) },
  {
    name: `latchkey-${latchkeyVersion}-amd64.spdx.json`,
    bytes: JSON.stringify(spdxDocument(artefact, created)),
  },
];
const notDownloaded: ReleaseFile = { name: "latchkey.yaml", bytes: "manifest" };

/** A directory with what a user downloads of a release. */
function downloads(): string {
  const all = [...files, notDownloaded];
  const subjects = all.map(({ name, bytes }) => ({ name, sha256: sha256Of(bytes) }));
  const statement = provenanceOf(subjects, {
    repository: "https://git.example.com/latchkey",
    ref: `refs/tags/v${latchkeyVersion}`,
    commit: "1".repeat(40),
    lockSha256: "2".repeat(64),
    builder: "https://builder.example.com/1",
  });
  const directory = mkdtempSync(join(tmpdir(), "latchkey-release-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const published = [
    ...files,
    { name: "SHA256SUMS", bytes: checksumsText(all) },
    { name: "provenance.json", bytes: JSON.stringify(signEnvelope(statement, privateKey)) },
    { name: "latchkey-release.pub", bytes: publicKey.export({ type: "spki", format: "pem" }) },
  ];
  for (const { name, bytes } of published) writeFileSync(join(directory, name), bytes);
  return directory;
}

/** The commands of the page that do not do what it says. */
async function failing(directory: string): Promise<readonly string[]> {
  const found = await surprises(steps, directory);
  return found.map(({ command }) => command.split(" ", 2).join(" "));
}

describe("the page about the files of a release", () => {
  it("has commands that verify the files of a release", options, async () => {
    expect(steps.length).toBeGreaterThan(10);
    const directory = downloads();
    expect(await surprises(steps, directory)).toEqual([]);
    const [first] = blocks;
    const { stdout } = spawnSync("bash", ["-c", first?.text ?? ""], {
      cwd: directory,
      encoding: "utf8",
    });
    expect(stdout).toBe(`${keyIdOf(publicKey)}  -\n${keyIdOf(publicKey)}\n`);
  });

  it.each<[string, (directory: string) => void, readonly string[]]>([
    [
      "a changed file",
      (directory) => writeFileSync(join(directory, "kubectl-latchkey-linux-x64"), "other"),
      ["sha256sum --check", "sha256sum --check"],
    ],
    [
      "a changed file with its checksum",
      (directory) => {
        const other = { name: "kubectl-latchkey-linux-x64", bytes: "other" };
        const changed = files.map((file) => (file.name === other.name ? other : file));
        writeFileSync(join(directory, other.name), other.bytes);
        writeFileSync(join(directory, "SHA256SUMS"), checksumsText(changed));
      },
      ["sha256sum --check"],
    ],
    [
      "another key",
      (directory) => {
        const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
        const pem = other.export({ type: "spki", format: "pem" });
        writeFileSync(join(directory, "latchkey-release.pub"), pem);
      },
      ["openssl dgst"],
    ],
    [
      "an altered statement",
      (directory) => {
        const file = join(directory, "provenance.json");
        const envelope: unknown = JSON.parse(readFileSync(file, "utf8"));
        const statement = provenanceOf([{ name: "a", sha256: "a".repeat(64) }], {
          repository: "",
          ref: `refs/tags/v${latchkeyVersion}`,
          commit: "1".repeat(40),
          lockSha256: "2".repeat(64),
          builder: "https://builder.example.com/1",
        });
        const payload = Buffer.from(JSON.stringify(statement)).toString("base64");
        writeFileSync(file, JSON.stringify(Object.assign({}, envelope, { payload })));
      },
      ["openssl dgst", "sha256sum --check"],
    ],
  ])("detects %s", options, async (_what, change, commands) => {
    const directory = downloads();
    change(directory);
    expect(await failing(directory)).toEqual(commands);
  });

  it("describes the type of the build, and names this version", () => {
    const [path = "", anchor = ""] = buildType.split("/").at(-1)?.split("#") ?? [];
    expect(releasePage).toBe(`docs/${path}.md`);
    expect(page).toContain(`\n### ${anchor.replaceAll("-", " ").replace(/^b/, "B")}\n`);
    const versions = page.match(/\b\d+\.\d+\.\d+\b/g) ?? [];
    expect([...new Set(versions)]).toEqual([latchkeyVersion]);
  });
});
