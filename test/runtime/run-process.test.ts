import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { aborted, systemClock } from "../../src/runtime/clock.ts";
import { type AssembledProcess, runProcess } from "../../src/runtime/run-process.ts";
import { freePort } from "../support/free-port.ts";

/** Runs a process of these parts until `stop`; `ready` is what /readyz answers. */
async function started(assembled: Omit<AssembledProcess, "started">) {
  const signals = new EventEmitter();
  const exits: number[] = [];
  const port = await freePort();
  const up = Promise.withResolvers<void>();
  const watched = {
    run(signal: AbortSignal) {
      up.resolve();
      return aborted(signal);
    },
  };
  const ended = runProcess(
    {
      name: "test",
      config: { httpAddress: { host: "127.0.0.1", port }, logLevel: "error" },
      assemble: async () => ({ ...assembled, parts: [...assembled.parts, watched], started: {} }),
    },
    {
      clock: systemClock,
      random: () => 0.5,
      signals,
      exit: (code) => void exits.push(code),
    },
  );
  await up.promise;
  const get = async (path: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return `${response.status} ${(await response.text()).trim()}`;
  };
  return { ended, exits, get, stop: () => void signals.emit("SIGTERM", "SIGTERM") };
}

/** A part that records its calls in order. */
function part(name: string, calls: string[]) {
  return {
    async run(signal: AbortSignal) {
      calls.push(`${name} runs`);
      await aborted(signal);
      calls.push(`${name} ends`);
    },
    drain: async () => void calls.push(`${name} drains`),
    close: () => void calls.push(`${name} closes`),
  };
}

test("a process runs its parts, drains all, ends all and closes them in reverse order", async () => {
  const calls: string[] = [];
  const { ended, stop } = await started({ parts: [part("a", calls), part("b", calls)] });
  expect(calls).toEqual(["a runs", "b runs"]);
  stop();
  await ended;
  expect(calls.slice(2)).toEqual([
    "b drains",
    "a drains",
    "a ends",
    "b ends",
    "b closes",
    "a closes",
  ]);
});

test("a process is ready once no part has a problem, and shows all warnings", async () => {
  const problems = ["the first problem", "the second problem"];
  const handler = () => ({ status: 200, headers: {}, body: "extra" });
  const { ended, get, stop } = await started({
    parts: [
      { problems: () => problems.slice(0, 1), warnings: () => ["one"] },
      { problems: () => problems.slice(1), warnings: () => ["two"] },
    ],
    routes: [{ method: "GET", path: "/extra", handler }],
  });
  expect(await get("/readyz")).toBe(
    "503 not ready\nthe first problem\nthe second problem\nwarning: one\nwarning: two",
  );
  problems.length = 0;
  expect(await get("/readyz")).toBe("200 ok\nwarning: one\nwarning: two");
  expect([await get("/healthz"), await get("/extra")]).toEqual(["200 ok", "200 extra"]);
  stop();
  await ended;
});

test("a process is not live while a part says that only a restart helps", async () => {
  const reasons: string[] = [];
  const part = { restartReasons: () => reasons };
  const { ended, get, stop } = await started({ parts: [part, {}] });
  expect(await get("/healthz")).toBe("200 ok");
  reasons.push("the API server refuses");
  expect(await get("/healthz")).toBe("503 not live\nthe API server refuses");
  reasons.length = 0;
  expect(await get("/healthz")).toBe("200 ok");
  stop();
  await ended;
});

test("a process whose clients have to leave is not ready meanwhile", async () => {
  const left = Promise.withResolvers<void>();
  const { ended, get, stop } = await started({ parts: [{ drain: () => left.promise }] });
  expect(await get("/readyz")).toBe("200 ok");
  stop();
  expect(await get("/readyz")).toBe("503 not ready\nshutting down");
  left.resolve();
  await ended;
});

test.each([
  ["that lost its Lease exits with 1", "lost", [1]],
  ["that gave its Lease back just ends", "released", []],
] as const)("a process %s", async (_what, end, codes) => {
  const { ended, exits } = await started({ parts: [], lead: async () => end });
  await ended;
  expect(exits).toEqual(codes);
});

const failing = async (): Promise<never> => {
  throw new TypeError("a defect");
};

test.each<[string, Omit<AssembledProcess, "started">]>([
  ["a part", { parts: [{ run: failing }] }],
  ["its leading", { parts: [], lead: failing }],
  ["a part that drains", { parts: [{ drain: failing }], lead: async () => "released" }],
  ["a part that closes", { parts: [{ close: failing }], lead: async () => "released" }],
])("a process of which %s fails exits with 1 and answers no more", async (_what, assembled) => {
  const { ended, exits, get } = await started(assembled);
  await ended;
  expect(exits).toEqual([1]);
  await expect(get("/healthz")).rejects.toThrow("fetch failed");
});
