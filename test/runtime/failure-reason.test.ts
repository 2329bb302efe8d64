import { connect } from "node:net";
import { expect, test } from "vitest";
import { reasonOf } from "../../src/runtime/failure-reason.ts";

const coded = (message: string, code: unknown) => Object.assign(new Error(message), { code });

test.each<[string, unknown, string]>([
  ["a code", coded("connect ECONNREFUSED 10.0.0.1:443", "ECONNREFUSED"), "ECONNREFUSED"],
  ["a message", new Error("no answer in 300 ms"), "no answer in 300 ms"],
  ["an empty code", coded("broken", ""), "broken"],
  ["a code that is a number", coded("broken", 20), "broken"],
  ["a name alone", new TypeError(""), "TypeError"],
  ["blanks", new Error(" \n"), "Error"],
  [
    "several addresses",
    new AggregateError([coded("", "EHOSTUNREACH"), coded("", "ETIMEDOUT"), coded("", "ETIMEDOUT")]),
    "EHOSTUNREACH, ETIMEDOUT",
  ],
  ["several without any", new AggregateError([]), "AggregateError"],
  ["an end by a signal", AbortSignal.abort().reason, "AbortError"],
  ["what is no error", undefined, "no response"],
  ["a text", "text", "no response"],
])("the reason of %s", (_what, error, reason) => {
  expect(reasonOf(error)).toBe(reason);
});

test("a name with several addresses, none of which answers, has a reason", async () => {
  const { promise, resolve: fulfil } = Promise.withResolvers<unknown>();
  connect({
    host: "east.example",
    port: 1,
    lookup: (_host, _options, found) =>
      found(null, [
        { address: "127.0.0.1", family: 4 },
        { address: "127.0.0.2", family: 4 },
      ]),
  }).on("error", fulfil);
  const error = await promise;
  expect(error).toMatchObject({ message: "" });
  expect(reasonOf(error)).toBe("ECONNREFUSED");
});
