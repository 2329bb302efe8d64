import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { syncFormatOf, typeOf } from "../../../src/domain/sync/sync-format.ts";

const { syncFormat, syncFormatFrom, syncFormatKey, syncSecretType } = annotations;

describe("the option sync-format", () => {
  test.for<[string, Readonly<Record<string, string>>, object | undefined, string]>([
    ["is not set", {}, undefined, "Opaque"],
    ["dotenv", { [syncFormat]: "dotenv" }, { kind: "dotenv", key: ".env", from: [] }, "Opaque"],
    ["json", { [syncFormat]: "json" }, { kind: "json", key: "data.json", from: [] }, "Opaque"],
    [
      "dockerconfigjson",
      { [syncFormat]: "dockerconfigjson" },
      { kind: "dockerconfigjson", key: ".dockerconfigjson", from: [] },
      "kubernetes.io/dockerconfigjson",
    ],
    [
      "dockerconfigjson of another type, with another key",
      {
        [syncFormat]: "dockerconfigjson",
        [syncSecretType]: "Opaque",
        [syncFormatKey]: "config.json",
      },
      { kind: "dockerconfigjson", key: "config.json", from: [] },
      "kubernetes.io/dockerconfigjson",
    ],
    [
      "dotenv with names",
      { [syncFormat]: "dotenv", [syncFormatFrom]: "KEY=tls.key, USER\n", [syncFormatKey]: "a.env" },
      {
        kind: "dotenv",
        key: "a.env",
        from: [
          { name: "KEY", dataKey: "tls.key" },
          { name: "USER", dataKey: "USER" },
        ],
      },
      "Opaque",
    ],
  ])("%s", ([, given, format, type]) => {
    const option = syncFormatOf(given);
    expect(option).toEqual({ kind: "format", ...(format && { format }) });
    expect(option.kind === "format" && typeOf(option.format)).toBe(type);
  });

  const dotenv = { [syncFormat]: "dotenv" };
  test.for<[string, Readonly<Record<string, string>>, string]>([
    ["an unknown form", { [syncFormat]: "yaml" }, `${syncFormat}: "yaml" is not supported`],
    ["an inherited name", { [syncFormat]: "constructor" }, `${syncFormat}: "constructor" is not`],
    ["a key alone", { [syncFormatKey]: "x" }, `${syncFormatKey}: has no effect without`],
    ["names alone", { [syncFormatFrom]: "x" }, `${syncFormatFrom}: has no effect without`],
    ["a key with a slash", { ...dotenv, [syncFormatKey]: "a/b" }, `${syncFormatKey}: "a/b" is`],
    ["a key of two dots", { ...dotenv, [syncFormatKey]: ".." }, `${syncFormatKey}: ".." is`],
    ["an empty key", { ...dotenv, [syncFormatKey]: "" }, `${syncFormatKey}: "" is invalid`],
    [
      "another key for the type of registries",
      { [syncFormat]: "dockerconfigjson", [syncFormatKey]: "x" },
      'needs the key ".dockerconfigjson"',
    ],
    [
      "a name that begins with a digit",
      { ...dotenv, [syncFormatFrom]: "1A=b" },
      '"1A=b" is invalid',
    ],
    [
      "a name of no login",
      { [syncFormat]: "dockerconfigjson", [syncFormatFrom]: "user=b" },
      "one of",
    ],
    ["a name without a data key", { ...dotenv, [syncFormatFrom]: "A=" }, "<name>=<data key>"],
    ["a name twice", { ...dotenv, [syncFormatFrom]: "A=b,A=c" }, 'has the key "A" twice'],
    [
      "too many names",
      { ...dotenv, [syncFormatFrom]: Array.from({ length: 65 }, (_, at) => `A${at}`).join() },
      "has 65 items; must have at most 64",
    ],
  ])("is refused with %s, which names the annotation", ([, given, why]) => {
    expect(syncFormatOf(given)).toMatchObject({
      kind: "refused",
      why: expect.stringContaining(why),
    });
  });
});
