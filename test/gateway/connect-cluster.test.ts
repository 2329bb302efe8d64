import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../src/api/scope.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { connectedPolicies } from "../../src/domain/gateway/connected-policy.ts";
import { connectCluster, largeAnswers } from "../../src/gateway/connect-cluster.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { shippedPolicy } from "../support/connected-policies.ts";
import { type EndlessBody, mostBuffered, writeEndlessly } from "../support/endless-body.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { type ReceivedRequest, startPeer } from "../kube/socket-peer.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** The ways of one gateway to clusters. */
function gateway(clock = new TestClock()) {
  const [log, large] = [recordingLog(), largeAnswers()];
  return {
    clock,
    shares: large,
    lines: log.lines,
    connect: async (onRequest?: (arrival: ReceivedRequest) => void) => {
      const peer = await startPeer(onRequest);
      const credential = { kind: "token", token: new SecretText("t") } as const;
      const cluster = connectCluster(
        { kind: "access", server: peer.url, ca: "", serverName: undefined, credential },
        { target: "Cluster", cluster: "east" },
        {
          clock,
          log,
          large,
          random: () => 0.5,
          yielder: new Yielder(clock),
          onChange() {},
          proxyOf: () => undefined,
        },
      );
      closing.push(
        () => peer.close(),
        () => cluster.close(),
      );
      return { peer, cluster };
    },
  };
}

type Gateway = ReturnType<typeof gateway>;

const mib = 1024 * 1024;
const start =
  '{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"g"},"versions":[{"version":"v1","resources":[';
const end = "]}]}]}";
const empty = `${start}${end}`;
const resources = (count: number): string =>
  Array.from({ length: count }, (_, at) => `{"resource":"r${at}"}`).join(",");

/** A document of more than 256 KiB, with the resource `things`. */
const largeDocument = `${start}{"resource":"things"}${end}${" ".repeat(300_000)}`;

describe("the discovery of a connected cluster", () => {
  const tooLarge = "the response is larger than 4194304 bytes";

  test.each<[string, (answer: ReceivedRequest["answer"]) => EndlessBody | undefined, string]>([
    [
      "a document without an end",
      (answer) => {
        answer.write(start);
        return writeEndlessly(answer, '{"resource":"r"},');
      },
      tooLarge,
    ],
    [
      "a document that says to have 900 MB",
      (answer) => {
        answer.writeHead(200, { "content-length": "900000000" }).flushHeaders();
        return undefined;
      },
      tooLarge,
    ],
    [
      "a million resources",
      (answer) => void answer.end(start + resources(1_000_000) + end),
      tooLarge,
    ],
    [
      "100,000 resources in 2 MB",
      (answer) => void answer.end(start + resources(100_000) + end),
      "the response has more than 10000 resources",
    ],
    [
      "an error without an end",
      (answer) => {
        answer.writeHead(500);
        return writeEndlessly(answer, "x");
      },
      tooLarge,
    ],
  ])("fails for %s, which is read no further", async (_what, respond, problem) => {
    const { connect, lines } = gateway();
    const bodies: EndlessBody[] = [];
    const { cluster, peer } = await connect(({ url, answer }) => {
      if (url === "/api") return void answer.end(empty);
      const body = respond(answer);
      if (body !== undefined) bodies.push(body);
    });
    await expect(cluster.discovery.find("g", "r")).rejects.toThrow(`GET /apis: ${problem}`);
    for (const { closed, written } of bodies) {
      await closed;
      expect(written()).toBeLessThan(4 * mib + mostBuffered);
    }
    expect(lines).toMatchObject([{ level: "warn", fields: { server: peer.url, seconds: 5 } }]);
  });

  test("that goes on failing is one warning, and details", async () => {
    const { connect, clock, lines } = gateway();
    const { cluster, peer } = await connect(({ answer }) => void answer.writeHead(503).end());
    for (const pauseMs of [5_000, 10_000, 20_000]) {
      await expect(cluster.discovery.find("g", "r")).rejects.toThrow("503");
      await clock.run(pauseMs);
    }
    expect(lines.map(({ level, fields: { seconds } }) => `${level} ${String(seconds)}`)).toEqual([
      ...["warn 5", "debug 10", "debug 20"],
    ]);
    expect(lines[0]?.fields).toMatchObject({ server: peer.url });
  });

  test("that trickles fails after 10 s, and the cluster is asked no more for 5 s", async () => {
    const { connect, clock } = gateway();
    const { cluster, peer } = await connect(({ answer }) => void answer.write(start));
    const found = cluster.discovery.find("g", "r").catch((error: unknown) => error);
    await peer.arrived(2);
    for (let second = 0; second < 10; second += 1) {
      for (const { answer } of peer.arrivals) answer.write(" ");
      await clock.run(1_000);
    }
    expect(await found).toMatchObject({ name: "KubeError", code: "Network" });
    await clock.run(4_999);
    await expect(cluster.discovery.find("g", "r")).rejects.toBe(await found);
    expect(peer.arrivals).toHaveLength(2);
  });

  test("of 10,000 resources is kept", async () => {
    const { connect } = gateway();
    const { cluster } = await connect(({ url, answer }) =>
      answer.end(url === "/api" ? empty : start + resources(10_000) + end),
    );
    expect(await cluster.discovery.find("g", "r9999")).toBe("Namespaced");
  });
});

describe("clusters whose large documents trickle", () => {
  /** Clusters with both documents over 256 KiB and without an end; `waiting` of them get no slot. */
  async function trickling(count: number, waiting: number, { connect, shares }: Gateway) {
    for (let made = 0; made < count; made += 1) {
      const { cluster, peer } = await connect(({ answer }) => void answer.write(largeDocument));
      cluster.discovery.find("g", "r").catch(() => {});
      await peer.arrived(2);
    }
    while (shares.waiting < waiting) await settled();
  }

  const good = ({ url, answer }: ReceivedRequest): void =>
    void answer.end(url === "/api" ? empty : largeDocument);

  test("delay no other one while they are four", async () => {
    const all = gateway();
    await trickling(4, 1, all);
    const { cluster } = await all.connect(good);
    expect(await cluster.discovery.find("g", "things")).toBe("Namespaced");
  });

  test("delay no small document, however many they are", async () => {
    const all = gateway();
    await trickling(6, 4, all);
    const { cluster } = await all.connect(({ answer }) =>
      answer.end(`${start}{"resource":"things"}${end}`),
    );
    expect(await cluster.discovery.find("g", "things")).toBe("Namespaced");
  });

  test("delay a large one until their time is over", async () => {
    const all = gateway();
    await trickling(6, 4, all);
    expect(all.shares.used).toBe(8);
    await all.clock.run(5_000);
    const { cluster } = await all.connect(good);
    let isFound = false;
    const found = cluster.discovery.find("g", "things").finally(() => (isFound = true));
    while (all.shares.waiting === 4) await settled();
    expect(isFound).toBe(false);
    await all.clock.run(5_000);
    expect(await found).toBe("Namespaced");
  });
});

test("the policy of a connected cluster is not read beyond 256 KiB", async () => {
  const { connect, shares } = gateway();
  const bodies: EndlessBody[] = [];
  const { cluster } = await connect(({ answer }) => {
    answer.write('{"spec":"');
    bodies.push(writeEndlessly(answer, "x"));
  });
  expect(await cluster.secrets?.problem()).toMatchObject({ kind: "unknown" });
  for (const { closed, written } of bodies) {
    await closed;
    expect(written()).toBeLessThan(mostBuffered);
  }
  expect(shares.waiting).toBe(0);
});

test("a policy of more than 256 KiB is unknown", async () => {
  const { connect } = gateway();
  const { cluster } = await connect(({ answer }) => answer.end(" ".repeat(256 * 1024 - 1) + "{}"));
  expect(await cluster.secrets?.problem()).toMatchObject({ kind: "unknown" });
});

test.each([
  [200, '{"gitVersion":"v1.36.2"}', true],
  [403, '{"kind":"Status"}', true],
  [401, '{"kind":"Status"}', false],
  [503, '{"kind":"Status"}', false],
  [200, "<html>", false],
  [200, "null", false],
  [302, "", false],
  [404, "<html>", false],
])("a cluster that answers with %d and %s is reachable: %s", async (status, body, isReachable) => {
  const { connect } = gateway();
  const { cluster } = await connect(({ answer }) => {
    answer.statusCode = status;
    answer.end(body);
  });
  expect(await cluster.isReachable()).toBe(isReachable);
});

test("a cluster that does not answer is not reachable after 10 s", async () => {
  const { connect, clock } = gateway();
  const { cluster } = await connect(() => {});
  const answered = cluster.isReachable();
  await settled();
  await clock.run(10_000);
  expect(await answered).toBe(false);
});

test("the log says why a cluster is not reachable, once until that changes", async () => {
  const { connect, lines } = gateway();
  let status: number | undefined;
  const { cluster } = await connect(({ answer }) => {
    if (status === undefined) return void answer.destroy();
    answer.statusCode = status;
    answer.end(status === 200 ? '{"gitVersion":"v1.36.2"}' : '{"kind":"Status","message":"no"}');
  });
  for (status of [401, 401, 200, 401, 503, undefined, undefined]) await cluster.isReachable();
  const said = lines.filter(({ message }) => message === "connected cluster cannot be reached");
  expect(said.map(({ fields }) => fields["why"])).toEqual([
    ...["401 no", "401 no", "503 no", "UND_ERR_SOCKET"].map((why) => `GET /version: ${why}`),
  ]);
});

/** A clock that goes on by a millisecond whenever it is read, while it is slow. */
class SlowClock extends TestClock {
  isSlow = false;

  override monotonic(): number {
    if (this.isSlow) this.advance(1);
    return super.monotonic();
  }
}

describe("events of a connected cluster", () => {
  const { policy, binding } = shippedPolicy(
    connectedPolicies.projectAssignment.name,
    "2025-01-01T00:00:00Z",
  );
  const limit = parseScopeLimit({ projects: [{ project: "web" }] });
  const eventOf = (annotations: string): string =>
    `{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u","resourceVersion":"1","annotations":${annotations}}}}\n`;

  /** Has the namespaces of a cluster followed that sends them so. */
  async function following(clock: TestClock, send: (answer: ReceivedRequest["answer"]) => void) {
    const all = gateway(clock);
    const { cluster } = await all.connect(({ url, answer }) => {
      if (url.includes("/namespaces?")) return send(answer);
      const object = url.includes("bindings/") ? binding : policy;
      return void answer.end(JSON.stringify(object));
    });
    void cluster.locations.decided([limit]);
    return { cluster, lines: all.lines };
  }

  test.each([
    ["more than 50000 values", `[${"{},".repeat(50_000)}{}]`],
    ["more than 32 levels", `${"[".repeat(300_000)}${"]".repeat(300_000)}`],
  ])("with %s are not parsed, and labels do not count", async (excess, annotations) => {
    const { cluster, lines } = await following(new TestClock(), (answer) => {
      answer.write(eventOf(annotations));
    });
    const said = (): boolean =>
      JSON.stringify(lines).includes(`an event of the watch has ${excess}`);
    while (!said()) await settled();
    expect([cluster.locations.areTrusted, cluster.isThrottled]).toEqual([false, false]);
  });

  test("without end wait when a tenth of the time is used up", async () => {
    const clock = new SlowClock();
    const bodies: EndlessBody[] = [];
    const { cluster } = await following(clock, (answer) => {
      clock.isSlow = true;
      bodies.push(writeEndlessly(answer, eventOf("{}")));
    });
    while (!cluster.isThrottled) await clock.run(10);
    clock.isSlow = false;
    expect(clock.monotonic()).toBeGreaterThan(30_000);
    const [body] = bodies;
    let before = -1;
    while (before !== body?.written()) {
      before = body?.written() ?? 0;
      await setTimeout(100);
    }
    expect(before).toBeLessThan(8 * mib + mostBuffered);
    // A tenth of the time pays for what it took.
    await clock.run(60_000 + 10 * clock.monotonic());
    expect(cluster.isThrottled).toBe(false);
  });
});
