import { expect, test } from "vitest";
import { commands } from "../../src/client/commands.ts";
import { connectionOptions } from "../../src/client/connection/connection-options.ts";
import type { CommandOptions } from "../../src/cli/command.ts";

test("no command of the client has an option that means something else for its connection", () => {
  const ofConnection: readonly string[] = Object.keys(connectionOptions);
  const shadowing = Object.values(commands).flatMap(({ name, options }) =>
    Object.keys(options)
      .filter((flag) => ofConnection.includes(flag))
      .map((flag) => `${name} ${flag}`),
  );
  expect(shadowing).toEqual([]);
});

test("a letter takes a value in all commands or in none, so that -ojson is understood before its command", () => {
  const tables: readonly CommandOptions[] = [
    connectionOptions,
    ...Object.values(commands).map(({ options }) => options),
  ];
  const letters = tables.flatMap((flags) =>
    Object.values(flags).flatMap(({ alias, value }) =>
      alias === undefined ? [] : [`${alias} ${value === "" ? "switch" : "value"}`],
    ),
  );
  const distinct = [...new Set(letters)].map((text) => text.split(" ")[0]);
  expect(distinct).toHaveLength(new Set(distinct).size);
});
