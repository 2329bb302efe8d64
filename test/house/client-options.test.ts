import { expect, test } from "vitest";
import { commands } from "../../src/cli/kubectl/command-table.ts";
import { connectionFlags } from "../../src/cli/kubectl/connection/connection-flags.ts";
import type { FlagTable } from "../../src/cli/kubectl/flag.ts";

test("no command of the client has an option that means something else for its connection", () => {
  const ofConnection: readonly string[] = Object.keys(connectionFlags);
  const shadowing = Object.values(commands).flatMap(({ name, flags }) =>
    Object.keys(flags)
      .filter((flag) => ofConnection.includes(flag))
      .map((flag) => `${name} ${flag}`),
  );
  expect(shadowing).toEqual([]);
});

test("a letter takes a value in all commands or in none, so that -ojson is understood before its command", () => {
  const tables: readonly FlagTable[] = [
    connectionFlags,
    ...Object.values(commands).map(({ flags }) => flags),
  ];
  const letters = tables.flatMap((flags) =>
    Object.values(flags).flatMap(({ alias, value }) =>
      alias === undefined ? [] : [`${alias} ${value === "" ? "switch" : "value"}`],
    ),
  );
  const distinct = [...new Set(letters)].map((text) => text.split(" ")[0]);
  expect(distinct).toHaveLength(new Set(distinct).size);
});
