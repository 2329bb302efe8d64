import { expect, test } from "vitest";
import { commands } from "../../src/cli/kubectl/command-table.ts";
import { connectionFlags } from "../../src/cli/kubectl/connection-flags.ts";

test("no command of the client has an option that means something else for its connection", () => {
  const ofConnection: readonly string[] = Object.keys(connectionFlags);
  const shadowing = Object.values(commands).flatMap(({ name, flags }) =>
    Object.keys(flags)
      .filter((flag) => ofConnection.includes(flag))
      .map((flag) => `${name} ${flag}`),
  );
  expect(shadowing).toEqual([]);
});
