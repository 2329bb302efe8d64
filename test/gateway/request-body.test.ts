import { describe, expect, it } from "vitest";
import { bodyPace, streamPace } from "../../src/domain/gateway/body-pace.ts";
import { pacedBody } from "../../src/gateway/request-body.ts";
import { FakeExchange } from "../support/fake-exchange.ts";
import { settled, TestClock } from "../support/test-clock.ts";

function reading(pace = bodyPace) {
  const [clock, exchange] = [new TestClock(), new FakeExchange()];
  const late: number[] = [];
  const onLate = (): void => void late.push(clock.monotonic());
  const body = pacedBody(exchange, { clock, pace, onLate });
  return { clock, exchange, body, late };
}

describe("the body of a request", () => {
  it("is accepted when its first part is asked for, and not before", async () => {
    const { exchange, body } = reading();
    expect(exchange.bodiesAccepted).toBe(0);
    exchange.body.end("hello");
    expect((await body.next()).value?.toString()).toBe("hello");
    expect([(await body.next()).done, exchange.bodiesAccepted]).toEqual([true, 1]);
  });

  it("is late only while a caller waits for a part of it", async () => {
    const { clock, exchange, body, late } = reading();
    exchange.body.write("he");
    await body.next();
    await clock.run(120_000);
    expect([clock.pending, late]).toEqual([0, []]);
    const next = body.next();
    next.catch(() => {});
    await clock.run(9_999);
    expect(late).toEqual([]);
    await clock.run(2);
    await expect(next).rejects.toThrow("too slow");
    expect(late).toHaveLength(1);
  });

  it.each([
    ["a byte every nine seconds is late after 10 s", bodyPace, 9_000, 1, 10_000],
    ["16 KiB a second is late after a minute", bodyPace, 1_000, 16_384, 60_000],
    ["a byte every nine seconds for a backend is not late", streamPace, 9_000, 1, undefined],
    ["silence of a backend's client is late after 30 s", streamPace, 200_000, 1, 30_000],
  ])("of %s", async (_what, pace, everyMs, bytes, lateAt) => {
    const { clock, exchange, body, late } = reading(pace);
    const read = (async () => {
      for await (const _chunk of body);
    })().catch(() => {});
    for (let at = 0; at < 120_000; at += everyMs) {
      await clock.run(everyMs);
      exchange.body.write(Buffer.alloc(bytes));
      await settled();
    }
    expect(late.map((at) => Math.floor(at / 1_000) * 1_000)).toEqual(
      lateAt === undefined ? [] : [lateAt],
    );
    exchange.body.end();
    await read;
  });

  it("that ends although the client cut it off is an error", async () => {
    const { exchange, body } = reading();
    exchange.isCut = true;
    exchange.body.end("hel");
    await body.next();
    await expect(body.next()).rejects.toThrow("the client ended the request");
  });

  it("whose connection ends is an error, and leaves no timer", async () => {
    const { clock, exchange, body } = reading();
    const next = body.next();
    next.catch(() => {});
    await settled();
    exchange.body.destroy(new Error("reset"));
    await expect(next).rejects.toThrow("reset");
    await settled();
    expect(clock.pending).toBe(0);
  });

  it("that is not read to its end leaves its stream to the caller that discards the rest", async () => {
    const { exchange, body } = reading();
    exchange.body.write("he");
    await body.next();
    await body.return(undefined);
    await settled();
    expect([exchange.body.destroyed, exchange.body.listenerCount("readable")]).toEqual([false, 0]);
    exchange.body.resume();
    exchange.body.end("rest");
    await settled();
    expect(exchange.body.readableEnded).toBe(true);
  });
});
