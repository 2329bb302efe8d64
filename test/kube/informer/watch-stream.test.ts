import { afterEach, expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { mostOwnResponseBytes } from "../../../src/kube/client/exchange.ts";
import { createListWatch } from "../../../src/kube/informer/list-watch.ts";
import { createTransport } from "../../../src/kube/client/transport.ts";
import { splitLines } from "../../../src/kube/informer/watch-stream.ts";
import { TimeShare } from "../../../src/runtime/time-share.ts";
import { type EndlessBody, mostBuffered, writeEndlessly } from "../../support/endless-body.ts";
import { settled, TestClock } from "../../support/test-clock.ts";
import { startPeer } from "../socket-peer.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const mib = 1024 * 1024;
const selection = { resource: resources.secrets };

function listWatchOf(server: string, clock: TestClock) {
  const transport = createTransport({
    credentials: {
      server,
      tls: { rejectUnauthorized: true },
      authorization: () => Promise.resolve(undefined),
      forget() {},
    },
    clock,
    connections: 1,
    timeoutMs: 10_000,
    mostBytes: mostOwnResponseBytes,
  });
  return { transport, listWatch: createListWatch(transport, clock) };
}

/** Lists and watches of an API server whose events are these texts, and then one without an end. */
async function over(...events: readonly string[]) {
  const bodies: EndlessBody[] = [];
  const peer = await startPeer(({ answer }) => {
    answer.writeHead(200);
    for (const event of events) answer.write(event);
    bodies.push(writeEndlessly(answer, "x"));
  });
  const clock = new TestClock();
  const { transport, listWatch } = listWatchOf(peer.url, clock);
  closing.push(
    () => peer.close(),
    () => transport.close(),
  );
  const share = new TimeShare({ share: 0.1, savedMs: 250 }, clock);
  const limits = { event: { bytes: mib, values: 40, depth: 20 }, share };
  return {
    bodies,
    clock,
    share,
    listWatch,
    limited: createListWatch(transport, clock, limits),
  };
}

const tooLarge = {
  code: "Network",
  message: `an event of the watch is larger than ${16 * mib} bytes`,
};

test("a watch fails at an event without an end, after the events before it", async () => {
  const event = `{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n`;
  const { bodies, clock, listWatch } = await over(event);
  const types: string[] = [];
  const ended = listWatch.watch(
    selection,
    {
      resourceVersion: "7",
      timeoutSeconds: 60,
      openMs: 5_000,
      onOpen() {},
      signal: new AbortController().signal,
    },
    (events) => void types.push(...events.map(({ type }) => type)),
  );
  await expect(ended).rejects.toMatchObject(tooLarge);
  await bodies[0]?.closed;
  expect([types, clock.pending]).toEqual([["ADDED"], 0]);
  expect(bodies[0]?.written()).toBeLessThan(16 * mib + mostBuffered);
});

test("a list fails at an object without an end", async () => {
  const { bodies, listWatch } = await over();
  const ended = listWatch.list(selection, new AbortController().signal, async () => {});
  await expect(ended).rejects.toMatchObject(tooLarge);
  await bodies[0]?.closed;
  expect(bodies[0]?.written()).toBeLessThan(16 * mib + mostBuffered);
});

/** The lines of these texts, of at most 4 bytes each. */
async function linesOf(...texts: readonly string[]): Promise<readonly string[]> {
  const chunks = texts.map((text) => Buffer.from(text));
  const lines: string[] = [];
  for await (const batch of splitLines(chunks, 4)) lines.push(...batch);
  return lines;
}

test("a line may be as long as the maximum, and no longer", async () => {
  expect(await linesOf("aaaa", "\nb")).toEqual(["aaaa"]);
  await expect(linesOf("aaaa", "a", "\nb")).rejects.toThrow("larger than 4 bytes");
});

test("a watch with limits fails at an event of more values or levels than the maximum", async () => {
  for (const [annotations, excess] of [
    [JSON.stringify(Array.from({ length: 50 }, () => ({}))), "more than 40 values"],
    [`${"[".repeat(21)}${"]".repeat(21)}`, "more than 20 levels"],
  ] as const) {
    const { limited } = await over(`{"type":"ADDED","object":{"metadata":${annotations}}}\n`);
    const ended = limited.list(selection, new AbortController().signal, async () => {});
    await expect(ended).rejects.toMatchObject({
      code: "Network",
      message: `an event of the watch has ${excess}`,
    });
  }
});

test("a watch with limits reads no more than its share, and goes on when it has caught up", async () => {
  const event = `{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n`;
  const { clock, share, limited } = await over(event);
  const batches: number[] = [];
  let isOver = false;
  const ended = limited
    .list(selection, new AbortController().signal, async (events) => {
      batches.push(events.length);
      if (events.length > 0) share.timed(() => clock.advance(350));
    })
    .catch((error: unknown) => error)
    .finally(() => (isOver = true));
  while (batches.length === 0) await settled();
  await clock.run(999);
  expect(isOver).toBe(false);
  // Each further chunk has to be paid for.
  while (!isOver) await clock.run(1);
  expect(await ended).toMatchObject({
    message: `an event of the watch is larger than ${mib} bytes`,
  });
});

test("a list fails for more than 16 informational responses", async () => {
  const peer = await startPeer(({ answer }) => {
    for (let sent = 0; sent < 17; sent += 1) answer.writeProcessing();
    answer.end("");
  });
  const { listWatch, transport } = listWatchOf(peer.url, new TestClock());
  closing.push(
    () => peer.close(),
    () => transport.close(),
  );
  const listed = listWatch.list(selection, new AbortController().signal, async () => {});
  await expect(listed).rejects.toMatchObject({ code: "Network" });
  expect(peer.arrivals).toHaveLength(1);
});

test("chunks of one byte count for the share, whatever they are part of", async () => {
  const clock = new TestClock();
  const share = new TimeShare({ share: 0.1, savedMs: 0.1 }, clock);
  const pace = { share, signal: new AbortController().signal };
  const chunks = Array.from({ length: 100 }, () => Buffer.from("x"));
  const read = (async () => {
    for await (const lines of splitLines(chunks, 1_000, pace)) expect(lines).toEqual([]);
  })();
  // 100 chunks of 20 us each, less what is saved up, at a tenth of the time.
  await clock.run(18);
  expect(clock.pending).toBe(1);
  await clock.run(2);
  await read;
});
