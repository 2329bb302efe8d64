import { type ClientHttp2Session, connect } from "node:http2";
import { afterEach, describe, expect, it } from "vitest";
import { emptyScope } from "../support/empty-scope.ts";
import { eventually } from "../support/eventually.ts";
import { frontWays, type WayFixture } from "../support/front-ways.ts";
import type { GatewayFixtureOptions } from "../support/gateway-fixture.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { answerText, type RecordedRequest } from "../support/upstream-recorder.ts";

const own = "/apis/management.service/v1/ownedaccesskeys";
const userOf = ({ fields }: RecordedRequest): string =>
  new Map(fields).get("impersonate-user") ?? "";
const mebibyte = 1024 * 1024;

interface Sent {
  /** Undefined until there is an answer. */
  status(): number | undefined;
  /** Ends the body. */
  end(): void;
  leave(): void;
}

describe.each(frontWays)("one user cannot stop another through the $name", (way) => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  async function started(options: GatewayFixtureOptions = {}) {
    const clock = new TestClock();
    const gateway = await way.start({ clock, ...options });
    closing.push(() => gateway.close());
    /** The users whose requests have arrived at the API server, in order; only honest ones are answered. */
    const arrived: string[] = [];
    gateway.recorder.respond = (request, socket) => {
      arrived.push(userOf(request));
      if (userOf(request).startsWith("honest")) socket.write(answerText(200));
    };
    return { gateway, clock, arrived };
  }

  /** A client of a user. */
  const clientOf = async (gateway: WayFixture, user: string, uid = user) =>
    client(gateway, await gateway.credential(user, uid));

  /** A client with a credential, and a connection of its own. */
  function client(gateway: WayFixture, key: string) {
    const session: ClientHttp2Session = connect(`https://127.0.0.1:${gateway.port}`, {
      ca: gateway.ca,
      servername: "localhost",
    });
    session.on("error", () => {});
    closing.push(() => session.destroy());
    return {
      send(path: string, body?: { readonly bytes: number; readonly sent?: number }): Sent {
        let status: number | undefined;
        const stream = session.request(
          {
            ":method": body === undefined ? "GET" : "POST",
            ":path": way.prefix + path,
            authorization: `Bearer ${key}`,
            ...(body === undefined
              ? {}
              : { "content-type": "application/json", "content-length": body.bytes }),
          },
          { endStream: body === undefined },
        );
        stream.on("response", (head) => (status = head[":status"])).resume();
        stream.on("error", () => {});
        if (body?.sent !== undefined) stream.write(Buffer.alloc(body.sent, " "));
        return {
          status: () => status,
          end: () => void stream.end(`{}${" ".repeat((body?.bytes ?? 2) - (body?.sent ?? 0) - 2)}`),
          leave: () => stream.close(8),
        };
      },
    };
  }

  const answered = (sent: Sent, status = 200): Promise<true> =>
    eventually(() => sent.status() === status, {
      what: `status ${status}, not ${sent.status()}`,
      every: 2,
    });

  it("by requests that are not answered: of each other user, one starts before", async () => {
    const { gateway, arrived } = await started({ connections: 16 });
    const floods = ["flood-1", "flood-2", "flood-3"];
    for (const user of floods) {
      const flood = await clientOf(gateway, user);
      for (let count = 0; count < 40; count += 1) flood.send("/api");
    }
    await eventually(() => gateway.inFlight.count("answer") === 120 && arrived.length === 14, {
      what: "shares of 8, 4 and 2",
    });
    const honest = await clientOf(gateway, "honest");
    const before = arrived.length;
    const requests = Array.from({ length: 20 }, () => honest.send("/api"));
    for (const request of requests) await answered(request);
    const between = arrived.slice(before, arrived.indexOf("honest"));
    expect(new Set(between).size).toBe(between.length);
    expect(arrived.filter((user) => user !== "honest").length).toBeLessThanOrEqual(16);
  });

  it("by as many as a replica takes: its newest waiting ones end", async () => {
    const { gateway, arrived } = await started({
      connections: 8,
      inFlightLimits: { answers: { all: 60, user: 40, key: 20 } },
    });
    const sent: Sent[] = [];
    for (const user of ["flood-1", "flood-2"])
      for (const key of ["a", "b"]) {
        const flood = await clientOf(gateway, user, `${user}-${key}`);
        for (let count = 0; count < 20; count += 1) sent.push(flood.send("/api"));
      }
    const refused = () => sent.filter((one) => one.status() !== undefined).length;
    await eventually(() => gateway.inFlight.count("answer") === 60 && refused() === 20, {
      what: "both to have equal shares",
    });
    const honest = await clientOf(gateway, "honest");
    for (let count = 0; count < 10; count += 1) await answered(honest.send("/api"));
    expect(gateway.cuts).toContain("displaced");
    expect(arrived.filter((user) => user === "honest")).toHaveLength(10);
  });

  it("by requests that wait for a decision: they count, and end when their client leaves", async () => {
    const { gateway } = await started({
      inFlightLimits: { answers: { all: 100, user: 20, key: 10 } },
    });
    gateway.discovery.isSlow = true;
    const flood = client(
      gateway,
      await gateway.scoped({
        ...emptyScope,
        roles: [{ role: "serviceCLI", projects: [], virtualClusters: [] }],
      }),
    );
    const sent = Array.from({ length: 11 }, () => flood.send("/apis/unknown.example/v1/things"));
    await eventually(() => sent.filter((one) => one.status() === 429).length === 1, {
      what: "the eleventh to be refused",
    });
    expect([gateway.inFlight.count("answer"), gateway.discovery.waiting]).toEqual([10, 10]);
    for (const one of sent) one.leave();
    await eventually(() => gateway.inFlight.count("answer") === 0, { what: "none to count" });
    expect(gateway.discovery.waiting).toBe(0);
    gateway.discovery.isSlow = false;
    await answered((await clientOf(gateway, "honest")).send("/api"));
  });

  const bodies = [
    ["small", 1_000],
    ["large", 3 * mebibyte],
  ] as const;
  it.each(way.name === "gateway" ? bodies : [])(
    "by bodies that it does not send: a %s one is read",
    async (_what, bytes) => {
      const { gateway, clock } = await started();
      for (let user = 0; user < 5; user += 1)
        for (const key of ["a", "b"]) {
          const flood = await clientOf(gateway, `flood-${user}`, `flood-${user}-${key}`);
          for (let count = 0; count < 20; count += 1) {
            flood.send(own, { bytes: 3 * mebibyte, sent: 1 });
            flood.send(own, { bytes: 64_000, sent: 1 });
          }
        }
      await eventually(
        () => gateway.inFlight.count("answer") >= 200 && gateway.bodies.large.used > 0,
        {
          what: "the bodies",
        },
      );
      const honest = (await clientOf(gateway, "honest")).send(own, { bytes, sent: 0 });
      honest.end();
      for (let time = 0; time < 3 && honest.status() === undefined; time += 1) {
        await clock.run(5_000);
        await settled();
      }
      await answered(honest);
      expect(gateway.bodies.large.used).toBeLessThanOrEqual(48 * mebibyte);
      expect(gateway.bodies.small.used).toBeLessThanOrEqual(16 * mebibyte);
      // Nobody holds a share by sending nothing: those with one are refused, and the next have theirs.
      for (let time = 0; time < 12; time += 1) {
        await clock.run(10_000);
        await settled();
      }
      await eventually(() => gateway.inFlight.count("answer") === 0, { what: "all to end" });
      expect([gateway.bodies.large.used, gateway.bodies.small.used]).toEqual([0, 0]);
    },
  );

  it("by streams: the newest of the user with the most ends", async () => {
    const { gateway } = await started({
      inFlightLimits: { streams: { all: 40, user: 20, key: 10 } },
    });
    gateway.recorder.respond = (_request, socket) =>
      void socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}\n");
    for (const user of ["flood-1", "flood-2"])
      for (const key of ["a", "b"]) {
        const flood = await clientOf(gateway, user, `${user}-${key}`);
        for (let count = 0; count < 10; count += 1) flood.send("/api/v1/pods?watch=1");
      }
    await eventually(() => gateway.inFlight.count("stream") === 40, { what: "all streams" });
    const honest = await clientOf(gateway, "honest", "honest");
    for (let count = 0; count < 10; count += 1) await answered(honest.send("/api/v1/pods?watch=1"));
    expect([gateway.inFlight.count("stream"), gateway.cuts.length]).toEqual([40, 10]);
  });
});
