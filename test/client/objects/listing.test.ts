import { describe, expect, test } from "vitest";
import { readPages } from "../../../src/client/connection/cluster.ts";
import {
  namesInReview,
  printedList,
  printedObjects,
  readEach,
} from "../../../src/client/objects/listing.ts";
import { resources } from "../../../src/api/resources.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";

const rule = (verbs: readonly string[], resource: string, resourceNames?: readonly string[]) => ({
  verbs,
  apiGroups: ["management.service"],
  resources: [resource],
  ...(resourceNames === undefined ? {} : { resourceNames }),
});

describe("a SelfSubjectRulesReview names the objects that may be read", () => {
  test.each<[string, unknown, object]>([
    ["no rules", {}, { names: [], all: false, incomplete: false }],
    [
      "names of several rules, each once",
      {
        resourceRules: [
          rule(["get"], "sharedsecrets", ["b", "a"]),
          rule(["*"], "sharedsecrets", ["b", "c"]),
        ],
      },
      { names: ["a", "b", "c"], all: false, incomplete: false },
    ],
    [
      "names that no object can have",
      { resourceRules: [rule(["get"], "sharedsecrets", ["a", "", "..", "b/c", "%2F"])] },
      { names: ["a"], all: false, incomplete: false },
    ],
    [
      "a rule without names",
      { resourceRules: [rule(["get"], "*")], incomplete: true },
      { names: [], all: true, incomplete: true },
    ],
    [
      "other verbs, resources and groups",
      {
        resourceRules: [
          rule(["list"], "sharedsecrets", ["a"]),
          rule(["get"], "ownedaccesskeys", ["a"]),
          { ...rule(["get"], "sharedsecrets", ["a"]), apiGroups: ["other"] },
        ],
      },
      { names: [], all: false, incomplete: false },
    ],
  ])("%s", (_what, status, expected) => {
    expect(namesInReview(status, resources.sharedSecrets)).toEqual(expected);
  });
});

test("columns of the client stand where those stood that they replace", () => {
  const table = {
    columnDefinitions: ["Name", "User", "Team", "Age"].map((name) => ({ name })),
    rows: [{ cells: ["a", "alice", "", "5s"], object: { metadata: { name: "a" } } }],
  };
  const own = {
    replaces: ["USER", "TEAM"],
    names: ["SUBJECT", "SCOPE"],
    cellsOf: () => ["user:alice", "nothing"],
  };
  expect(printedObjects(table, own)).toEqual({
    columns: ["NAME", "SUBJECT", "SCOPE", "AGE"],
    rows: [{ ref: { name: "a" }, cells: ["a", "user:alice", "nothing", "5s"] }],
  });
});

test("a Table is printed without its columns for wide output", () => {
  const table = {
    columnDefinitions: [{ name: "Name" }, { name: "Wide", priority: 1 }, { name: "Last-Used" }],
    rows: [
      { cells: ["a", "x", null], object: { metadata: { name: "a", namespace: "n" } } },
      { cells: ["no name"] },
    ],
  };
  expect(printedObjects(table)).toEqual({
    columns: ["NAME", "LAST-USED"],
    rows: [{ ref: { name: "a", namespace: "n" }, cells: ["a", ""] }],
  });
});

describe("the column of display names", () => {
  const resource = resources.sharedSecrets;
  const listed = (...pages: readonly (readonly unknown[])[]) => {
    let page = 0;
    const send = async () => ({
      metadata: { continue: page < pages.length - 1 ? "next" : "" },
      columnDefinitions: [
        { name: "Name" },
        { name: "Display-Name", priority: 1 },
        { name: "Age", priority: 0 },
      ],
      rows: (pages[page++] ?? []).map((text, at) => ({
        cells: [`n${at}`, text, "5s"],
        object: { metadata: { name: `n${at}` } },
      })),
    });
    return printedList({ send }, resource, "n");
  };

  test("is shown if an object of any page has one, which is cut", async () => {
    const { columns, rows } = await listed([null, ""], ["x".repeat(5_000)]);
    expect(columns).toEqual(["NAME", "DISPLAY-NAME", "AGE"]);
    expect(rows.map(({ cells }) => cells)).toEqual([
      ["n0", "", "5s"],
      ["n1", "", "5s"],
      ["n0", `${"x".repeat(64)}...`, "5s"],
    ]);
  });

  test("is left out if no object has one", async () => {
    const { columns, rows } = await listed([null], [""]);
    expect(columns).toEqual(["NAME", "AGE"]);
    expect(rows.map(({ cells }) => cells)).toEqual([
      ["n0", "5s"],
      ["n0", "5s"],
    ]);
  });
});

describe("objects are read by name", () => {
  const refs = Array.from({ length: 20 }, (_, at) => ({ name: String(at) }));
  const failing = (code: "NotFound" | "Forbidden" | "ServerError") =>
    readEach(refs, async ({ name }) => {
      if (name === "7") throw new KubeError("x", { code, status: 400 });
      return name;
    });

  test.each(["NotFound", "Forbidden"] as const)("in order, without what is %s", async (code) => {
    expect(await failing(code)).toEqual(
      refs.map(({ name }) => name).filter((name) => name !== "7"),
    );
  });

  test("and other failures are thrown", async () => {
    await expect(failing("ServerError")).rejects.toThrow("x");
  });
});

test("all pages of a list are read", async () => {
  const asked: unknown[] = [];
  const pages = await readPages(async (page) => {
    asked.push(page.continue);
    return { metadata: { continue: ["second", "third", ""][asked.length - 1] } };
  });
  expect([pages.length, asked]).toEqual([3, [undefined, "second", "third"]]);
});

test("a page that is too large is read again with fewer items, as are the ones after it", async () => {
  const asked: unknown[] = [];
  const tooLarge = new KubeError("x", { code: "Network", status: 0, isResponseTooLarge: true });
  await readPages(async ({ limit, continue: next }) => {
    asked.push(`${limit} ${next ?? "first"}`);
    if (Number(limit) > 10) throw tooLarge;
    return { metadata: { continue: next === undefined ? "second" : "" } };
  });
  expect(asked).toEqual(["500 first", "63 first", "8 first", "8 second"]);
});

test("a list without an end is an error", async () => {
  const read = async () => ({ metadata: { continue: "next" } });
  await expect(readPages(read)).rejects.toThrow("has more than 2000 pages");
});
