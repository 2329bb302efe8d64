import { expect, test } from "vitest";
import { purlOf } from "../../release/component.ts";

test.each([
  [["npm", "jose"], "6.2.17", "pkg:npm/jose@6.2.17"],
  [["npm", "@peculiar", "x509"], "2.2.0", "pkg:npm/%40peculiar/x509@2.2.0"],
  [
    ["deb", "debian", "libstdc++6"],
    "12.2-14+deb1~u",
    "pkg:deb/debian/libstdc%2B%2B6@12.2-14%2Bdeb1~u",
  ],
  [["deb", "debian", "a"], "1:2", "pkg:deb/debian/a@1:2"],
])("the package URL of %j %s is %s", (path, version, purl) => {
  expect(purlOf(path, version)).toBe(purl);
});
