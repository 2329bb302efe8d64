import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { askSecret, readWhole, stopSignal } from "../../src/client/terminal.ts";

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

test("a secret is asked for once the terminal has no echo", async () => {
  const order: string[] = [];
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode(isRaw: boolean) {
      order.push(isRaw ? "no echo" : "echo");
      return stdin;
    },
  });
  const write = (text: string) => order.push(text);
  const answer = askSecret("Key: ", { stdin, stderr: { write } });
  stdin.write("s3cr3t\n");
  expect(await answer).toBe("s3cr3t");
  expect(order).toEqual(["no echo", "Key: ", "echo", "\n"]);
});
