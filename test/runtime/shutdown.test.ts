import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { shutdownSignal } from "../../src/runtime/shutdown.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

function started(): {
  process: EventEmitter;
  clock: TestClock;
  exits: number[];
  signal: AbortSignal;
} {
  const [process, clock, exits]: [EventEmitter, TestClock, number[]] = [
    new EventEmitter(),
    new TestClock(),
    [],
  ];
  const signal = shutdownSignal({
    process,
    clock,
    log: recordingLog(),
    exitHard: (code) => exits.push(code),
  });
  return { process, clock, exits, signal };
}

test.for(["SIGTERM", "SIGINT"])("%s requests a shutdown and does not exit", (name) => {
  const { process, exits, signal } = started();
  expect(signal.aborted).toBe(false);
  process.emit(name);
  expect(signal.aborted).toBe(true);
  expect(exits).toEqual([]);
});

test("a second signal exits at once, with the conventional exit code", () => {
  const { process, clock, exits } = started();
  process.emit("SIGTERM");
  clock.advance(500);
  process.emit("SIGINT");
  expect(exits).toEqual([130]);
});

test("a Ctrl-C that is delivered twice counts as one", () => {
  const { process, clock, exits } = started();
  process.emit("SIGINT");
  clock.advance(100);
  process.emit("SIGINT");
  expect(exits).toEqual([]);
});
