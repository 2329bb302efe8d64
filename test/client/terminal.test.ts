import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { ask, readWhole, stopSignal } from "../../src/client/terminal.ts";
import { settled } from "../support/test-clock.ts";

async function* chunks(text: string, count: number) {
  for (let left = count; left > 0; left -= 1) yield text;
}

test("an input is read until its end", async () => {
  expect((await readWhole(chunks("ab", 3))).toString()).toBe("ababab");
});

test("an input without an end is refused", async () => {
  await expect(readWhole(chunks("x".repeat(65_536), Infinity))).rejects.toThrow(
    "the standard input is larger than 16777216 bytes",
  );
});

function fakeProcess() {
  const [events, stdout, exits] = [new EventEmitter(), new EventEmitter(), new Array<number>()];
  const process = Object.assign(events, { stdout });
  return { process, exits, signal: stopSignal(process, (code) => void exits.push(code)) };
}

test.each(["SIGINT", "SIGTERM", "SIGHUP"])(
  "%s ends the command, and the second one the process",
  (name) => {
    const { process, exits, signal } = fakeProcess();
    expect(signal.aborted).toBe(false);
    process.emit(name);
    expect([signal.aborted, exits]).toEqual([true, []]);
    process.emit(name);
    expect(exits).toEqual([1]);
  },
);

test.each(["error", "close"])("the %s of the standard output ends the command", (event) => {
  const { process, signal } = fakeProcess();
  process.stdout.emit(event);
  expect(signal.aborted).toBe(true);
});

/** A terminal whose user types a line, and in which order what happens to it. */
function askingTerminal() {
  const order: string[] = [];
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode(isRaw: boolean) {
      order.push(isRaw ? "raw" : "cooked");
      return stdin;
    },
  });
  const stderr = new PassThrough();
  stderr.on("data", (text) => order.push(String(text)));
  return { order, stdin, stderr };
}

test("a secret is asked for once the terminal has no echo", async () => {
  const { order, ...streams } = askingTerminal();
  const answer = ask("Key: ", { ...streams, hasEcho: false });
  streams.stdin.write("s3cr3t\n");
  expect(await answer).toBe("s3cr3t");
  await settled();
  expect(order).toEqual(["raw", "Key: ", "cooked", "\n"]);
});

test("the answer to a question is shown while it is typed", async () => {
  const { order, ...streams } = askingTerminal();
  const answer = ask("Sure? ", { ...streams, hasEcho: true });
  streams.stdin.write("yes\n");
  expect(await answer).toBe("yes");
  await settled();
  expect(order[0]).toBe("raw");
  expect(order.join("")).toContain("Sure? ");
  expect(order.join("")).toContain("yes");
});

test("the end of the input is no answer", async () => {
  const { order: _, ...streams } = askingTerminal();
  const answer = ask("Sure? ", { ...streams, hasEcho: true });
  streams.stdin.end();
  expect(await answer).toBe("");
});
