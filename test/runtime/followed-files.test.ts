import { expect, test } from "vitest";
import { FollowedFiles } from "../../src/runtime/followed-files.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

/** Files whose content, or failure, is that of `state`. */
function followed(state: { content: string | Error; isFinal?: boolean }) {
  const [clock, log] = [new TestClock(), recordingLog()];
  let reads = 0;
  const files = new FollowedFiles(
    {
      name: "a file",
      read() {
        reads += 1;
        if (state.content instanceof Error) throw state.content;
        return { text: state.content };
      },
      check({ text }) {
        if (text === "") throw new Error("the file is empty");
      },
      isFinal: () => state.isFinal === true,
    },
    { clock, log },
  );
  return { files, clock, log, reads: () => reads };
}

test("files are read again when they are used and two seconds have passed, not earlier", () => {
  const state = { content: "one" };
  const { files, clock, reads } = followed(state);
  const first = files.current();
  state.content = "two";
  clock.advance(1_999);
  expect(files.current()).toBe(first);
  clock.advance(1);
  expect(files.current()).toEqual({ text: "two" });
  expect([reads(), files.changedAt]).toEqual([2, 2_000]);
});

test("files that say the same are the same object, and did not change", () => {
  const { files, clock } = followed({ content: "one" });
  const first = files.current();
  clock.advance(60_000);
  expect(files.current()).toBe(first);
  expect(files.changedAt).toBe(0);
});

test("expired files are read at the next use", () => {
  const state = { content: "one" };
  const { files, reads } = followed(state);
  state.content = "two";
  files.expire();
  expect([files.current(), files.current()]).toEqual([{ text: "two" }, { text: "two" }]);
  expect(reads()).toBe(2);
});

test.each<[string, string | Error, string]>([
  ["cannot be read", new Error("it is gone"), "it is gone"],
  ["cannot be used", "", "the file is empty"],
])("a file that %s changes nothing, and is said until it can", (_, content, why) => {
  const state: { content: string | Error } = { content: "one" };
  const { files, clock, log } = followed(state);
  const first = files.current();
  state.content = content;
  for (let looks = 0; looks < 3; looks += 1) {
    clock.advance(2_000);
    expect(files.current()).toBe(first);
  }
  expect(files.problem).toBe(why);
  expect(files.warnings()).toEqual([`${why}; the former content stays in use`]);
  expect(log.lines).toMatchObject([{ level: "warn", fields: { why } }]);
  state.content = "two";
  clock.advance(2_000);
  expect(files.current()).toEqual({ text: "two" });
  expect([files.problem, files.warnings()]).toEqual([undefined, []]);
  expect(log.lines.at(-1)).toMatchObject({ level: "info", fields: { files: "a file" } });
});

test("what can be read only once, such as a pipe, is not read again", () => {
  const state = { content: "one", isFinal: true };
  const { files, clock, reads } = followed(state);
  clock.advance(60_000);
  files.expire();
  expect([files.current(), reads()]).toEqual([{ text: "one" }, 1]);
});

test("files that cannot be read at the start are an error", () => {
  expect(() => followed({ content: new Error("it is gone") })).toThrow("it is gone");
});
