import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { dataConsent, dataFromOf, isSecretName } from "../../../src/domain/sync/data-from.ts";

const { dataFor, dataFrom, dataFromKeys } = annotations;

describe("the option data-from", () => {
  const of = (name: string | undefined, keys?: string) =>
    dataFromOf({
      annotations: {
        ...(name === undefined ? {} : { [dataFrom]: name }),
        ...(keys === undefined ? {} : { [dataFromKeys]: keys }),
      },
    });

  test("is absent for a SharedSecret with data of its own", () => {
    expect(of(undefined)).toEqual({ kind: "own" });
  });

  test.for<[string, string | undefined, readonly (readonly [string, string])[] | undefined]>([
    ["db", undefined, undefined],
    ["a.b-c.1", undefined, undefined],
    ["x".repeat(253), undefined, undefined],
    ["db", "password", [["password", "password"]]],
    [
      "db",
      " PASS = password ,\nca.crt",
      [
        ["PASS", "password"],
        ["ca.crt", "ca.crt"],
      ],
    ],
  ])("names %s with the keys %j", ([name, keys, picked]) => {
    const option = of(name, keys);
    if (option.kind !== "from") throw new Error(option.kind);
    expect(option.from.name).toBe(name);
    expect(option.from.keys && [...option.from.keys]).toEqual(picked);
  });

  test.for<[string, string]>([
    ["an empty name", ""],
    ["blanks", " db"],
    ["two names", "db,api"],
    ["a glob", "db-*"],
    ["another namespace", "other/db"],
    ["capitals", "Db"],
    ["a line break", "db\n"],
    ["a dot at the end", "db."],
    ["a hyphen at the begin", "-db"],
    ["254 characters", "x".repeat(254)],
  ])("is refused with %s", ([, name]) => {
    expect(isSecretName(name)).toBe(false);
    expect(of(name)).toEqual({
      kind: "refused",
      why: expect.stringMatching(/^management.service\/data-from: .* is not a valid Secret name/),
    });
    // The name is said before the keys.
    expect(of(name, "")).toEqual(of(name));
  });

  test.for<[string, string | undefined, string, RegExp]>([
    ["without a name", undefined, "password", /data-from-keys: has no effect without .*data-from;/],
    ["that are empty", "db", "", /data-from-keys: is empty; name at least one data key/],
    ["that are invalid", "db", "a b", /data-from-keys: "a b" is invalid/],
    ["that are named twice", "db", "a=x,a=y", /data-from-keys: has the key "a" twice/],
    ["without a data key", "db", "a=", /data-from-keys: "a=" is invalid/],
  ])("is refused with keys %s", ([, name, keys, why]) => {
    expect(of(name, keys)).toEqual({ kind: "refused", why: expect.stringMatching(why) });
  });
});

describe("the consent of a Secret", () => {
  test.for<[string | undefined, ReturnType<typeof dataConsent>]>([
    [undefined, "not-named"],
    ["", "not-named"],
    [" , \n", "not-named"],
    ["db", "named"],
    [" other,\n db ,", "named"],
    ["other", "not-named"],
    ["db-2, a.db", "not-named"],
    ["DB", "not-named"],
    ["*", "unreadable"],
    ["db, d*", "unreadable"],
    ["db api", "unreadable"],
    ["team/db", "unreadable"],
    ["db;api", "unreadable"],
    [Array.from({ length: 16 }, (_, at) => `x${at}`).join(), "not-named"],
    [["db", ...Array.from({ length: 16 }, (_, at) => `x${at}`)].join(), "unreadable"],
    [`db,${"x".repeat(4096)}`, "unreadable"],
  ])("data-for %j says of db: %s", ([list, expected]) => {
    const given = list === undefined ? {} : { [dataFor]: list };
    expect(dataConsent({ annotations: given }, "db")).toBe(expected);
  });

  test("is not that of a list for something else", () => {
    const given = { [annotations.syncToProjects]: "db", [dataFrom]: "db", "data-for": "db" };
    expect(dataConsent({ annotations: given }, "db")).toBe("not-named");
  });
});
