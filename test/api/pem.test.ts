import { expect, test } from "vitest";
import { certificateBlocks } from "../../src/api/pem.ts";

const [begin, end] = ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"];
const one = `${begin}\nMIIB\n${end}`;

test.each<[string, string, readonly string[]]>([
  ["nothing", "", []],
  ["two certificates and what is around them", `a\n${one}\nb\n${one}\nc`, [one, one]],
  ["an end without a beginning", `MIIB\n${end}\n${one}`, [one]],
  ["a beginning without an end", `${one}\n${begin}\nMIIB\n`, [one]],
  ["two beginnings", `${begin}\nMIIA\n${one}`, [one]],
  ["another block inside", `${begin}\n-----BEGIN PRIVATE KEY-----\n${end}`, []],
])("the certificates of %s", (_what, pem, blocks) => {
  expect(certificateBlocks(pem)).toEqual(blocks);
});
