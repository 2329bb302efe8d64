import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { bundledPackages } from "../../release/bundled-packages.ts";
import { licenseTexts } from "../../release/license-texts.ts";
import { noticeText } from "../../release/notice.ts";
import { spdxDocument } from "../../release/sbom.ts";
import { repository } from "../support/install.ts";
import { artefact, created } from "./release-fixture.ts";

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
const installed = {
  lock: readJson(join(repository, "package-lock.json")),
  manifestOf: (path: string) => readJson(join(repository, path, "package.json")),
};

describe.each([
  ["the image", "build", "--outfile=bundle/latchkey.mjs", "pkg:npm/prom-client@"],
  ["kubectl latchkey", "build:cli", "--outdir=bundle", "pkg:npm/%40stricli/core@"],
])("the bundle of %s", (_product, script, output, known) => {
  it("has packages with permitted licenses and their texts, and a valid SBOM", () => {
    const directory = mkdtempSync(join(tmpdir(), "latchkey-bundles-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const metafile = join(directory, "metafile.json");
    const flags = [output.replace("=", `=${directory}/`), `--metafile=${metafile}`];
    execFileSync("npm", ["run", "--silent", script, "--", ...flags], { cwd: repository });
    const packages = bundledPackages(readJson(metafile), installed);
    expect(packages.filter(({ purl }) => purl.startsWith(known))).toHaveLength(1);
    const { packages: named } = spdxDocument({ ...artefact, components: packages }, created);
    expect(named).toHaveLength(packages.length + 1);
    const notice = noticeText(packages, licenseTexts(packages, repository));
    for (const { name, version } of packages) expect(notice).toContain(`\n${name} ${version}: `);
  });
});
