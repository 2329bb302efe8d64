import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { requestUpgrade } from "../../../src/kube/forward/request-upgrade.ts";
import { fakeCredentials } from "../../support/fake-credentials.ts";
import { probed } from "../../support/tcp-timers.ts";
import { TestClock } from "../../support/test-clock.ts";
import {
  answerText,
  startUpstreamRecorder,
  type UpstreamRecorder,
} from "../../support/upstream-recorder.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const switching =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const headers = ["connection", "Upgrade", "upgrade", "websocket", "x-a", "\u00fc"];

interface Outcome {
  readonly outcomes: readonly string[];
  socket: Duplex | undefined;
  received: string;
  answer: IncomingMessage | undefined;
  readonly clock: TestClock;
  readonly cancel: () => void;
}

async function recording(): Promise<UpstreamRecorder> {
  const recorder = await startUpstreamRecorder();
  closing.push(() => recorder.close());
  return recorder;
}

function upgrade(server: string, request: { isProxied?: boolean } = {}): Outcome {
  const [clock, outcomes] = [new TestClock(), new Array<string>()];
  const outcome: Outcome = {
    outcomes,
    clock,
    socket: undefined,
    received: "",
    answer: undefined,
    cancel: () => sending.abort(),
  };
  const { credentials } = fakeCredentials(server);
  const sending = requestUpgrade(
    { method: "GET", target: "/exec?a=%2F", headers, isProxied: false, ...request },
    {
      onUpgrade(_answer, socket, received) {
        outcomes.push("upgrade");
        socket.on("error", () => {});
        outcome.socket = socket;
        outcome.received = Buffer.from(received).toString();
      },
      onAnswer(answer) {
        outcomes.push(`answer ${answer.statusCode}`);
        outcome.answer = answer;
      },
      onError: (failure) => void outcomes.push(failure),
    },
    { credentials, headTimeoutMs: 75_000, clock },
  );
  closing.push(() => {
    outcome.cancel();
    outcome.socket?.destroy();
  });
  return outcome;
}

async function until(isDone: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !isDone(); turn += 1) await pause(2);
}

describe("a request for an upgrade", () => {
  it("is sent byte for byte, below the path of the server, over a connection of its own", async () => {
    const recorder = await recording();
    const all = [upgrade(`${recorder.url}/one/`), upgrade(`${recorder.url}/one/`)];
    await recorder.arrived(2);
    expect(recorder.connections).toHaveLength(2);
    const [request] = recorder.requests;
    expect([request?.target, request?.body.length]).toEqual(["/one/exec?a=%2F", 0]);
    expect(request?.fields).toEqual([
      ["host", `127.0.0.1:${recorder.port}`],
      ["authorization", "Bearer own-0"],
      ["connection", "Upgrade"],
      ["upgrade", "websocket"],
      ["x-a", "\u00fc"],
    ]);
    expect(all.map(({ clock }) => clock.pending).length).toBe(2);
  });

  it("becomes bytes when the API server says so, from the first one on", async () => {
    const recorder = await recording();
    recorder.respond = ({ connection }, socket) => {
      connection.becomeTunnel();
      socket.write(`${switching}first`);
    };
    const outcome = upgrade(recorder.url);
    await until(() => outcome.outcomes.length > 0);
    expect([outcome.outcomes, outcome.received, outcome.clock.pending]).toEqual([
      ...[["upgrade"], "first", 0],
    ]);
    outcome.socket?.write("there");
    const [connection] = recorder.connections;
    await until(() => connection?.tunnelled().length === 5);
    expect(connection?.tunnelled().toString()).toBe("there");
  });

  it("has its connection probed every 30 seconds while it is silent", async () => {
    const recorder = await recording();
    recorder.respond = (_request, socket) => void socket.write(switching);
    upgrade(recorder.url);
    await recorder.arrived(1);
    await expect(probed(recorder.port, 1)).resolves.toBeUndefined();
  });

  it("is an answer with any other status, behind interim ones", async () => {
    const recorder = await recording();
    recorder.respond = (_request, socket) =>
      void socket.write(`HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${answerText(403)}`);
    const outcome = upgrade(recorder.url);
    await until(() => outcome.outcomes.length > 0);
    outcome.answer?.resume();
    expect([outcome.outcomes, outcome.clock.pending]).toEqual([["answer 403"], 0]);
  });

  it("is sent once more with another credential if the API server rejects the first", async () => {
    const recorder = await recording();
    recorder.respond = (_request, socket) =>
      void socket.write(recorder.requests.length === 1 ? answerText(401) : switching);
    const outcome = upgrade(recorder.url);
    await until(() => outcome.outcomes.length > 0);
    expect([outcome.outcomes, outcome.clock.pending]).toEqual([["upgrade"], 0]);
    const sent = recorder.requests.flatMap(({ fields }) =>
      fields.flatMap(([name, value]) => (name === "authorization" ? [value] : [])),
    );
    expect(sent).toEqual(["Bearer own-0", "Bearer own-1"]);
  });

  it.each<[string, boolean, readonly string[], number]>([
    ["of the API server ends it at the second time", false, ["unauthorized"], 2],
    ["that may be a backend's is the answer", true, ["answer 401"], 1],
  ])("a 401 %s", async (_what, isProxied, outcomes, count) => {
    const recorder = await recording();
    recorder.respond = (_request, socket) => void socket.write(answerText(401));
    const outcome = upgrade(recorder.url, { isProxied });
    await until(() => outcome.outcomes.length > 0);
    outcome.answer?.resume();
    expect([outcome.outcomes, recorder.requests.length]).toEqual([outcomes, count]);
  });

  it("times out after 75 seconds without an answer", async () => {
    const recorder = await recording();
    recorder.respond = () => {};
    const outcome = upgrade(recorder.url);
    await recorder.arrived(1);
    await outcome.clock.run(74_999);
    expect(outcome.outcomes).toEqual([]);
    await outcome.clock.run(1);
    const [connection] = recorder.connections;
    await until(() => connection?.isClosed() === true);
    expect([outcome.outcomes, connection?.isClosed()]).toEqual([["timeout"], true]);
  });

  it.each<[string, string]>([
    ["the connection ends", ""],
    ["the answer is no HTTP", "SSH-2.0\r\n\r\n"],
  ])("fails when %s, and is sent once", async (_what, bytes) => {
    const recorder = await recording();
    recorder.respond = (_request, socket) => void socket.end(bytes);
    const outcome = upgrade(recorder.url);
    await until(() => outcome.outcomes.length > 0);
    expect([outcome.outcomes, recorder.requests.length]).toEqual([["unreachable"], 1]);
  });

  it("fails when no process listens", async () => {
    const recorder = await startUpstreamRecorder();
    await recorder.close();
    const outcome = upgrade(recorder.url);
    await until(() => outcome.outcomes.length > 0);
    expect([outcome.outcomes, outcome.clock.pending]).toEqual([["unreachable"], 0]);
  });

  it("ends its connection when it is given up", async () => {
    const recorder = await recording();
    recorder.respond = () => {};
    const outcome = upgrade(recorder.url);
    await recorder.arrived(1);
    outcome.cancel();
    const [connection] = recorder.connections;
    await until(() => connection?.isClosed() === true);
    expect([outcome.outcomes, connection?.isClosed(), outcome.clock.pending]).toEqual([
      ...[["aborted"], true, 0],
    ]);
  });
});
