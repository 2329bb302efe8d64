import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordAt, stringAt } from "../../../src/api/parse.ts";
import { resources } from "../../../src/api/resources.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { createListWatch } from "../../../src/kube/informer/list-watch.ts";
import type { ListOptions } from "../../../src/kube/informer/list-options.ts";
import { splitLines, type WatchEvent } from "../../../src/kube/informer/watch-stream.ts";
import type {
  ApiResponse,
  ApiRequest,
  StreamingResponse,
} from "../../../src/kube/client/transport.ts";
import { settled, TestClock } from "../../support/test-clock.ts";

const everything: ListOptions = { resource: resources.secrets };
const labelled: ListOptions = {
  resource: resources.secrets,
  namespace: "ns",
  labelSelector: "!a/b",
  fieldSelector: "metadata.name=x",
  metadataOnly: true,
};

async function* chunksOf(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

function over({
  answers = [],
  stream,
}: {
  answers?: readonly (string | ApiResponse | KubeError)[];
  stream?: (call: ApiRequest) => Promise<StreamingResponse | ApiResponse>;
}) {
  const calls: ApiRequest[] = [];
  const clock = new TestClock();
  const left = [...answers];
  const transport = {
    async request(call: ApiRequest): Promise<ApiResponse> {
      calls.push(call);
      const answer = left.shift() ?? "";
      if (answer instanceof KubeError) throw answer;
      return typeof answer === "string" ? { status: 200, text: answer } : answer;
    },
    stream(call: ApiRequest): Promise<StreamingResponse | ApiResponse> {
      calls.push(call);
      return stream?.(call) ?? Promise.reject(new Error("no stream"));
    },
    close: async () => {},
  };
  return { calls, clock, listWatch: createListWatch(transport, clock) };
}

/** Fails like undici when its signal aborts. */
const unanswered = ({ signal }: ApiRequest): Promise<never> =>
  new Promise((_, reject) =>
    signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true }),
  );

/** A stream, or the response that refuses it. */
async function streamed(
  status: number,
  chunks: AsyncIterable<Uint8Array>,
): Promise<StreamingResponse | ApiResponse> {
  if (status === 200) return { status, chunks };
  return { status, text: Buffer.concat(await all(chunks)).toString("utf8") };
}

const toWatch = { resourceVersion: "7", openMs: 5_000, onOpen: () => {} };

function watching(
  chunks: (call: ApiRequest) => AsyncIterable<Uint8Array>,
  status = 200,
  timeoutSeconds = 3_600,
) {
  const stop = new AbortController();
  const setup = over({ stream: (call) => streamed(status, chunks(call)) });
  const batches: (readonly WatchEvent[])[] = [];
  const ended = setup.listWatch.watch(
    everything,
    { ...toWatch, timeoutSeconds, signal: stop.signal },
    (events) => void batches.push(events),
  );
  return { ...setup, stop, batches, ended };
}

const event = (name: string) => JSON.stringify({ type: "ADDED", object: { metadata: { name } } });

describe("splitLines", () => {
  test("returns the same lines however the bytes are chunked, also within a character", async () => {
    const line = fc.string({ unit: fc.constantFrom("a", "ü", "€", "😀", '"', "\r") });
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat({ max: 9 })),
        fc.boolean(),
        async (lines, sizes, open) => {
          const bytes = Buffer.from(
            lines.map((text) => `${text}\n`).join("") + (open ? "rest" : ""),
          );
          const split = await all(splitLines(cutAt(bytes, sizes)));
          expect(split.flat()).toEqual(lines);
        },
      ),
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

  test("returns lines in the batches in which they arrive", async () => {
    expect(await all(splitLines(chunksOf("a\nb\nc", "d", "\ne\n")))).toEqual([
      ["a", "b"],
      ["cd", "e"],
    ]);
  });
});

const initialEnd = (resourceVersion: string) =>
  JSON.stringify({
    type: "BOOKMARK",
    object: { metadata: { resourceVersion, annotations: { "k8s.io/initial-events-end": "true" } } },
  });
const unknownParameter =
  '{"kind":"Status","reason":"Invalid","message":"sendInitialEvents: Forbidden"}';

describe("a list", () => {
  async function listing({
    chunks = async () => chunksOf(),
    status = 200,
    answers = [],
    selection = everything,
  }: {
    chunks?: (call: ApiRequest) => Promise<AsyncIterable<Uint8Array>>;
    status?: number;
    answers?: readonly (string | ApiResponse | KubeError)[];
    selection?: ListOptions;
  }) {
    const setup = over({
      answers,
      stream: async (call) => streamed(status, await chunks(call)),
    });
    const [stop, names] = [new AbortController(), new Array<string>()];
    const list = () =>
      setup.listWatch.list(selection, stop.signal, async (events) => {
        await Promise.resolve();
        names.push(
          ...events.map(
            ({ type, object }) => `${type} ${stringAt(recordAt(object, "metadata"), "name") ?? ""}`,
          ),
        );
      });
    return { ...setup, stop, names, list };
  }

  test("is streamed: all objects, then the resourceVersion", async () => {
    const { calls, names, list, clock } = await listing({
      chunks: async () =>
        chunksOf(`${event("a")}\n`, `${event("b")}\n${initialEnd("7")}\n${event("later")}\n`),
    });
    expect(await list()).toBe("7");
    expect(names).toEqual(["ADDED a", "ADDED b"]);
    expect(calls.map(({ path }) => path)).toEqual([
      "/api/v1/secrets?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=3600",
    ]);
    expect([calls[0]?.signal?.aborted, clock.pending]).toEqual([true, 0]);
  });

  test("delivers changes during the list, but no bookmarks", async () => {
    const deleted = JSON.stringify({ type: "DELETED", object: { metadata: { name: "a" } } });
    const bookmark = JSON.stringify({
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: "6" } },
    });
    const { names, list } = await listing({
      chunks: async () => chunksOf(`${event("a")}\n${bookmark}\n${deleted}\n${initialEnd("7")}\n`),
    });
    await list();
    expect(names).toEqual(["ADDED a", "DELETED a"]);
  });

  test.for<[string, AsyncIterable<Uint8Array>]>([
    ["ends", chunksOf(`${event("a")}\n`)],
    [
      "breaks off",
      (async function* () {
        yield Buffer.from(`${event("a")}\n`);
        throw new Error("ECONNRESET");
      })(),
    ],
  ])("that %s before its last object is rejected", async ([, chunks]) => {
    const { list } = await listing({ chunks: async () => chunks });
    await expect(list()).rejects.toMatchObject({ code: "Network" });
  });

  test("without data is aborted", async () => {
    const { list, clock } = await listing({
      chunks: unanswered,
    });
    const failed = list().catch((error: unknown) => error);
    await clock.run(30_000);
    expect([await failed, clock.pending]).toEqual([
      expect.objectContaining({ code: "Network" }),
      0,
    ]);
  });

  test.for([429, 500, 503])("that is rejected with %s is not repeated in pages", async (status) => {
    const { calls, list } = await listing({
      status,
      chunks: async () => chunksOf('{"kind":"Status"}'),
    });
    await expect(list()).rejects.toMatchObject({ status });
    expect(calls).toHaveLength(1);
  });

  test("sends the selectors, and requests only metadata if that is selected", async () => {
    const { calls, list } = await listing({
      selection: labelled,
      chunks: async () => chunksOf(`${initialEnd("7")}\n`),
    });
    await list();
    expect(calls[0]).toMatchObject({
      path: expect.stringContaining(
        "/api/v1/namespaces/ns/secrets?labelSelector=%21a%2Fb&fieldSelector=metadata.name%3Dx&watch=1",
      ),
      accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    });
  });

  describe("without support for streaming", () => {
    const page = (names: readonly string[], next: string, padding = "") =>
      JSON.stringify({
        kind: "SecretList",
        metadata: { continue: next, resourceVersion: "7" },
        items: names.map((name) => ({ metadata: { name }, padding })),
      });
    const refusing = { status: 422, chunks: async () => chunksOf(unknownParameter) };

    test("is paged, each page after the last one is handled, and is not streamed again", async () => {
      const { calls, names, list } = await listing({
        ...refusing,
        answers: [page(["a"], "next"), page(["b"], ""), page(["c"], "")],
      });
      expect(await list()).toBe("7");
      expect(names).toEqual(["ADDED a", "ADDED b"]);
      await list();
      expect(calls.slice(1).map(({ path, accept }) => [path, accept])).toEqual([
        ["/api/v1/secrets?limit=16", "application/json"],
        ["/api/v1/secrets?limit=128&continue=next", "application/json"],
        ["/api/v1/secrets?limit=16", "application/json"],
      ]);
    });

    test("reads a page that is too large again, with fewer objects", async () => {
      const tooLarge = new KubeError("x", { code: "Network", status: 0, isResponseTooLarge: true });
      const { calls, names, list } = await listing({
        ...refusing,
        answers: [page(["a"], "next"), tooLarge, tooLarge, page(["b"], "")],
      });
      await list();
      expect(names).toEqual(["ADDED a", "ADDED b"]);
      expect(calls.slice(1).map(({ path }) => path)).toEqual([
        "/api/v1/secrets?limit=16",
        "/api/v1/secrets?limit=128&continue=next",
        "/api/v1/secrets?limit=16&continue=next",
        "/api/v1/secrets?limit=2&continue=next",
      ]);
    });

    test("fails for one object that is too large", async () => {
      const tooLarge = new KubeError("x", { code: "Network", status: 0, isResponseTooLarge: true });
      const { calls, list } = await listing({
        ...refusing,
        answers: [tooLarge, tooLarge, tooLarge],
      });
      await expect(list()).rejects.toBe(tooLarge);
      expect(calls).toHaveLength(4);
    });

    test("adapts the page size to the size of the objects", async () => {
      const heavy = Array.from({ length: 16 }, (_, index) => `o${index}`);
      const { calls, list } = await listing({
        ...refusing,
        selection: { ...everything, metadataOnly: true },
        answers: [
          page(heavy, "1", "x".repeat(1_000_000)),
          page(["a", "b"], "2"),
          page(["c"], "3", "x".repeat(9_000_000)),
          page([], ""),
        ],
      });
      await list();
      expect(calls.slice(1).map(({ path }) => /limit=(\d+)/.exec(path)?.[1])).toEqual([
        "16",
        "1",
        "8",
        "1",
      ]);
      expect(calls[1]?.accept).toBe(
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
      );
    });
  });
});

describe("get", () => {
  test.for<[string, ApiResponse, unknown]>([
    ["returns the object", { status: 200, text: '{"kind":"X","a":1}' }, { kind: "X", a: 1 }],
    [
      "returns undefined for a 404 that names the object",
      { status: 404, text: '{"kind":"Status","reason":"NotFound","details":{"name":"x"}}' },
      undefined,
    ],
  ])("%s", async ([, answer, expected]) => {
    const { calls, listWatch } = over({ answers: [answer] });
    expect(await listWatch.get(labelled, { namespace: "ns", name: "x" })).toEqual(expected);
    expect(calls).toEqual([
      {
        method: "GET",
        path: "/api/v1/namespaces/ns/secrets/x",
        accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
      },
    ]);
  });

  test("rejects for a 404 without a name, because the resource is not served", async () => {
    const { listWatch } = over({ answers: [{ status: 404, text: "404 page not found" }] });
    await expect(listWatch.get(everything, { namespace: "ns", name: "x" })).rejects.toMatchObject({
      code: "NotFound",
    });
  });
});

describe("the resourceVersion of a collection", () => {
  test("is read in a list of one object without its data and without a selector of labels", async () => {
    const { calls, listWatch } = over({
      answers: ['{"kind":"List","metadata":{"resourceVersion":"17","continue":"x"},"items":[{}]}'],
    });
    expect(await listWatch.version(labelled)).toBe("17");
    expect(calls).toEqual([
      {
        method: "GET",
        path: "/api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Dx&limit=1",
        accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
      },
    ]);
  });

  test("rejects for an error status", async () => {
    const { listWatch } = over({ answers: [{ status: 503, text: "" }] });
    await expect(listWatch.version(everything)).rejects.toMatchObject({ code: "ServerError" });
  });
});

describe("a watch", () => {
  test("starts at a resourceVersion with bookmarks, and delivers batches until the server ends it", async () => {
    const { calls, batches, ended } = watching(() =>
      chunksOf(`${event("a")}\n${event("b")}\n`, `${event("c")}\n`),
    );
    await ended;
    expect(calls[0]).toMatchObject({
      accept: "application/json",
      path: "/api/v1/secrets?watch=1&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=3600",
    });
    expect(batches.map((batch) => batch.map(({ type }) => type))).toEqual([
      ["ADDED", "ADDED"],
      ["ADDED"],
    ]);
  });

  test.for<[string, string, string]>([
    ["an ERROR event", '{"type":"ERROR","object":{"code":410,"reason":"Expired"}}', "Gone"],
    ["an event that is not JSON", "canary", "Network"],
    ["null", "null", "Network"],
    ["an object that is not an event", '{"message":"canary"}', "Network"],
  ])("rejects at %s, after the events before it", async ([, line, code]) => {
    const { batches, ended } = watching(() => chunksOf(`${event("a")}\n`, `${line}\n`));
    await expect(ended).rejects.toMatchObject({
      code,
      message: expect.not.stringContaining("canary"),
    });
    expect(batches).toHaveLength(1);
  });

  const builtIn = (metadata: object): string =>
    JSON.stringify({
      type: "MODIFIED",
      object: { kind: "Secret", apiVersion: "v1", metadata, data: { a: "Yg==" } },
    });
  const identity = { name: "a.b", namespace: "ns", uid: "u-1", resourceVersion: "17" };
  const { namespace: _, ...withoutNamespace } = identity;

  test.for<[string, string, object | undefined]>([
    [
      "of a built-in kind",
      builtIn({ ...identity, labels: { uid: "x" } }),
      { key: "ns/a.b", uid: "u-1", resourceVersion: "17" },
    ],
    [
      "without a namespace",
      builtIn(withoutNamespace),
      { key: "a.b", uid: "u-1", resourceVersion: "17" },
    ],
    ["of a custom resource", event("a"), undefined],
    ["that was deleted", builtIn(identity).replace("MODIFIED", "DELETED"), undefined],
    ["with fields in another order", builtIn({ labels: {}, ...identity }), undefined],
    ["whose name needs an escape", builtIn({ ...identity, name: 'a","uid":"b' }), undefined],
  ])("shows the head of an object %s as far as it is exact", async ([, line, head]) => {
    const { batches, ended } = watching(() => chunksOf(`${line}\n`));
    await ended;
    const [seen] = batches.flat();
    expect(seen?.head).toEqual(head);
    expect({ type: seen?.type, object: seen?.object }).toEqual(JSON.parse(line));
  });

  test("parses an object whose head is known when it is read", async () => {
    const { batches, ended } = watching(() => chunksOf(`${builtIn(identity).slice(0, -2)}\n`));
    await ended;
    const [seen] = batches.flat();
    expect(seen?.head).toMatchObject({ resourceVersion: "17" });
    expect(() => seen?.object).toThrow("watch event is not JSON");
  });

  test.for<[string, number, string, string]>([
    ["rejects for an error status", 410, '{"kind":"Status","reason":"Expired"}', "Gone"],
    ["rejects for an error status without a body", 500, "", "ServerError"],
    ["rejects for a status other than 200", 204, "{}", "Network"],
  ])("%s", async ([, status, text, code]) => {
    await expect(watching(() => chunksOf(text), status).ended).rejects.toMatchObject({
      code,
      status,
    });
  });

  test("resolves if the connection breaks, so that it can be resumed", async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${event("a")}\n`);
      throw new Error("ECONNRESET");
    }
    const { batches, ended } = watching(broken);
    await ended;
    expect(batches).toHaveLength(1);
  });

  /** Yields a line at each call of `say`, and fails like undici when its signal aborts. */
  function talking() {
    let say: (() => void) | undefined;
    async function* chunks({ signal }: ApiRequest): AsyncGenerator<Uint8Array> {
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

  test("without data is aborted 5 s after its timeout, and not before that", async () => {
    const { chunks, say } = talking();
    const { clock, ended, batches } = watching(chunks, 200, 60);
    const isOver = watchOver(ended);
    for (let second = 0; second < 10; second++) {
      await clock.run(1_000);
      say();
      await settled();
    }
    expect(batches).toHaveLength(10);
    await clock.run(54_999);
    expect(isOver()).toBe(false);
    await clock.run(1);
    expect(isOver()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("that the API server does not end in time is aborted 5 s later, whatever its events", async () => {
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

  test("without a response is aborted in time", async () => {
    const { clock, listWatch } = over({ stream: unanswered });
    const isOver = watchOver(
      listWatch.watch(
        everything,
        { ...toWatch, timeoutSeconds: 20, signal: new AbortController().signal },
        () => {},
      ),
    );
    await clock.run(4_999);
    expect(isOver()).toBe(false);
    await clock.run(1);
    expect([isOver(), clock.pending]).toEqual([true, 0]);
  });

  test("does not start if its signal is aborted already", async () => {
    const stop = new AbortController();
    stop.abort();
    const { calls, clock, listWatch } = over({ stream: () => new Promise(() => {}) });
    await listWatch.watch(
      everything,
      { ...toWatch, timeoutSeconds: 300, signal: stop.signal },
      () => {},
    );
    expect([calls, clock.pending]).toEqual([[], 0]);
  });

  test("ends when its signal aborts, and leaves no timer", async () => {
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
