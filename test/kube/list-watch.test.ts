import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { createListWatch, type Selection, splitLines, type WatchEvent } from "../../src/kube/list-watch.ts";
import type { Answer, Call, StreamedAnswer } from "../../src/kube/transport.ts";
import { settled, TestClock } from "../runtime/test-clock.ts";

const everything: Selection = { resource: resources.secrets };
const labelled: Selection = { resource: resources.secrets, namespace: "ns", labelSelector: "!a/b", fieldSelector: "metadata.name=x", metadataOnly: true };

async function* chunksOf(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

function over({ answers = [], stream }: { answers?: readonly string[]; stream?: (call: Call) => Promise<StreamedAnswer> }) {
  const calls: Call[] = [];
  const clock = new TestClock();
  const left = [...answers];
  const transport = {
    async request(call: Call): Promise<Answer> {
      calls.push(call);
      return { status: 200, text: left.shift() ?? "" };
    },
    stream(call: Call): Promise<StreamedAnswer> {
      calls.push(call);
      return stream?.(call) ?? Promise.reject(new Error("no stream"));
    },
    close: async () => {},
  };
  return { calls, clock, listWatch: createListWatch(transport, clock) };
}

function watching(chunks: (call: Call) => AsyncIterable<Uint8Array>, status = 200, timeoutSeconds = 3_600) {
  const stop = new AbortController();
  const around = over({ stream: async (call) => ({ status, chunks: chunks(call) }) });
  const batches: (readonly WatchEvent[])[] = [];
  const ended = around.listWatch.watch(everything, { resourceVersion: "7", timeoutSeconds, openMs: 5_000, signal: stop.signal, onOpen: () => {} }, (events) => void batches.push(events));
  return { ...around, stop, batches, ended };
}

const event = (name: string) => JSON.stringify({ type: "ADDED", object: { metadata: { name } } });

describe("lines", () => {
  test("are the same however the bytes arrive, in the middle of a character too", async () => {
    const line = fc.string({ unit: fc.constantFrom("a", "ü", "€", "😀", '"', "\r") });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 6 }), fc.array(fc.nat({ max: 9 })), fc.boolean(), async (lines, sizes, open) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join("") + (open ? "rest" : ""));
        const split = await all(splitLines(cutAt(bytes, sizes)));
        expect(split.flat()).toEqual(lines);
      }),
    );
  });

  async function* cutAt(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
    let from = 0;
    for (const size of sizes) {
      yield bytes.subarray(from, from + size);
      from += size;
    }
    yield bytes.subarray(from);
  }

  test("come in the batches in which they arrive", async () => {
    expect(await all(splitLines(chunksOf("a\nb\nc", "d", "\ne\n")))).toEqual([["a", "b"], ["cd", "e"]]);
  });
});

describe("a list", () => {
  test("hands over page after page, each with the list's resourceVersion and when the last is done with", async () => {
    const first = { metadata: { continue: "next", resourceVersion: "7" }, items: [{ a: 1 }] };
    const { calls, listWatch } = over({ answers: [JSON.stringify(first), JSON.stringify({ metadata: { continue: "", resourceVersion: "7" }, items: [{ a: 2 }] })] });
    const pages: unknown[] = [];
    await listWatch.list(everything, async (page) => {
      await Promise.resolve();
      pages.push(page, calls.length);
    });
    expect(pages).toEqual([{ items: [{ a: 1 }], resourceVersion: "7" }, 1, { items: [{ a: 2 }], resourceVersion: "7" }, 2]);
    expect(calls.map(({ path }) => path)).toEqual(["/api/v1/secrets?limit=500", "/api/v1/secrets?limit=500&continue=next"]);
  });

  test("asks for what is selected, and for metadata alone where that is enough", async () => {
    const { calls, listWatch } = over({ answers: ["{}"] });
    const pages: unknown[] = [];
    await listWatch.list(labelled, async (page) => void pages.push(page));
    expect(pages).toEqual([{ items: [], resourceVersion: "" }]);
    expect(calls).toEqual([
      {
        method: "GET",
        path: "/api/v1/namespaces/ns/secrets?labelSelector=%21a%2Fb&fieldSelector=metadata.name%3Dx&limit=500",
        accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
      },
    ]);
  });
});

describe("a watch", () => {
  test("begins at a resourceVersion, with bookmarks, and hands over batches until the server ends it", async () => {
    const { calls, batches, ended } = watching(() => chunksOf(`${event("a")}\n${event("b")}\n`, `${event("c")}\n`));
    await ended;
    expect(calls[0]).toMatchObject({ accept: "application/json", path: "/api/v1/secrets?watch=1&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=3600" });
    expect(batches.map((batch) => batch.map(({ type }) => type))).toEqual([["ADDED", "ADDED"], ["ADDED"]]);
  });

  test.for<[string, string, string]>([
    ["an ERROR event", '{"type":"ERROR","object":{"code":410,"reason":"Expired"}}', "Gone"],
    ["an event that is no JSON", "canary", "Network"],
  ])("fails at %s, after the events before it", async ([, line, code]) => {
    const { batches, ended } = watching(() => chunksOf(`${event("a")}\n`, `${line}\n`));
    await expect(ended).rejects.toMatchObject({ code, message: expect.not.stringContaining("canary") });
    expect(batches).toHaveLength(1);
  });

  test.for<[string, number, string, string]>([
    ["is refused", 410, '{"reason":"Expired"}', "Gone"],
    ["is refused without an explanation", 500, "", "ServerError"],
    ["is answered with something else", 204, "{}", "Network"],
  ])("%s", async ([, status, text, code]) => {
    await expect(watching(() => chunksOf(text), status).ended).rejects.toMatchObject({ code, status });
  });

  test("that breaks off is over, and may be resumed", async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${event("a")}\n`);
      throw new Error("ECONNRESET");
    }
    const { batches, ended } = watching(broken);
    await ended;
    expect(batches).toHaveLength(1);
  });

  /** Yields a line whenever told to, and fails as undici does when its signal aborts. */
  function talking() {
    let say: (() => void) | undefined;
    async function* chunks({ signal }: Call): AsyncGenerator<Uint8Array> {
      for (;;) {
        await new Promise<void>((resolve, reject) => {
          say = resolve;
          signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
        });
        yield Buffer.from(`${event("a")}\n`);
      }
    }
    return { chunks, say: () => say?.() };
  }

  test("that falls silent for two and a half minutes is given up, and one that talks is not", async () => {
    const { chunks, say } = talking();
    const { clock, ended, batches } = watching(chunks);
    const isOver = watchOver(ended);
    for (let minute = 0; minute < 10; minute++) {
      await clock.run(60_000);
      say();
      await settled();
    }
    expect(batches).toHaveLength(10);
    await clock.run(149_999);
    expect(isOver()).toBe(false);
    await clock.run(1);
    expect(isOver()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("that the API server does not end in time is given up 5 s later, however much it talks", async () => {
    const { chunks, say } = talking();
    const { clock, ended } = watching(chunks, 200, 20);
    const isOver = watchOver(ended);
    for (let second = 0; second < 24; second++) {
      await clock.run(1_000);
      say();
    }
    await clock.run(999);
    expect(isOver()).toBe(false);
    await clock.run(1);
    expect([isOver(), clock.pending]).toEqual([true, 0]);
  });

  test("that is not answered is given up in time", async () => {
    const unanswered = (call: Call): Promise<StreamedAnswer> => new Promise((_, reject) => call.signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true }));
    const { clock, listWatch } = over({ stream: unanswered });
    const isOver = watchOver(listWatch.watch(everything, { resourceVersion: "7", timeoutSeconds: 20, openMs: 5_000, signal: new AbortController().signal, onOpen: () => {} }, () => {}));
    await clock.run(4_999);
    expect(isOver()).toBe(false);
    await clock.run(1);
    expect([isOver(), clock.pending]).toEqual([true, 0]);
  });

  test("does not begin when it was told to end before", async () => {
    const stop = new AbortController();
    stop.abort();
    const { calls, clock, listWatch } = over({ stream: () => new Promise(() => {}) });
    await listWatch.watch(everything, { resourceVersion: "7", timeoutSeconds: 300, openMs: 5_000, signal: stop.signal, onOpen: () => {} }, () => {});
    expect([calls, clock.pending]).toEqual([[], 0]);
  });

  test("ends when told to, and leaves no timer behind", async () => {
    const { chunks } = talking();
    const { clock, stop, ended } = watching(chunks);
    await settled();
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
  });

  function watchOver(promise: Promise<void>): () => boolean {
    let isOver = false;
    void promise.then(() => (isOver = true));
    return () => isOver;
  }
});
