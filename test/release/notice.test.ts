import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Component } from "../../release/component.ts";
import { licenseTexts } from "../../release/license-texts.ts";
import { noticeText } from "../../release/notice.ts";
import { repository } from "../support/install.ts";
import { packages } from "./release-fixture.ts";

const rule = "-".repeat(80);
const debian: Component = {
  purl: "pkg:deb/debian/libd@1?arch=amd64",
  name: "libd",
  version: "1",
  license: { textIn: "its own file" },
  checksum: { algorithm: "SHA256", hex: "ab".repeat(32) },
  needs: [],
};
const texts = new Map([
  ["pkg:npm/%40s/b@2.0.0", "Text of b\n"],
  ["pkg:npm/a@1.0.0", "\nText of a\n"],
  ["pkg:npm/c@1.1.0", "Text of c  \r\nwith two lines\r\n\r\n"],
  ["pkg:npm/c@2.1.0", "Text of c\nwith two lines"],
]);

test("a notice lists the packages, then each text once", () => {
  expect(noticeText([...packages, debian, ...packages], texts)).toBe(`\
Latchkey contains the following packages. The texts of their licenses are below.

libd 1: see its own file
@s/b 2.0.0: Apache-2.0
a 1.0.0: MIT
c 1.1.0: 0BSD
c 2.1.0: 0BSD

${rule}
License of @s/b 2.0.0
${rule}

Text of b

${rule}
License of a 1.0.0
${rule}

Text of a

${rule}
License of c 1.1.0, c 2.1.0
${rule}

Text of c
with two lines
`);
});

test("a package without the text of its license is refused", () => {
  expect(() => noticeText(packages, new Map())).toThrow("@s/b 2.0.0 has no text of its license");
});

test("the texts are the files of the packages, and LICENSE for Apache-2.0 without a file", () => {
  const root = mkdtempSync(join(tmpdir(), "latchkey-licenses-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const { path } of packages) mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, "LICENSE"), "Apache");
  const files = ["LICENCE.md", "NOTICE", "license-checker.js", "licensed.txt", "index.js"];
  for (const file of files) writeFileSync(join(root, "node_modules", "a", file), file);
  writeFileSync(join(root, "node_modules", "c", "license"), "of c");
  expect([...licenseTexts(packages, root)]).toEqual([
    ["pkg:npm/%40s/b@2.0.0", "Apache"],
    ["pkg:npm/a@1.0.0", "LICENCE.md\nNOTICE"],
    ["pkg:npm/c@1.1.0", "of c"],
  ]);
});

test("LICENSE is the text of Apache-2.0, without changes of its own", () => {
  const license = readFileSync(join(repository, "LICENSE"), "utf8");
  expect(license.trim()).toMatch(/^Apache License\s+Version 2\.0, January 2004/);
});
