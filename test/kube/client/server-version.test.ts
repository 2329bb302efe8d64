import { expect, test } from "vitest";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { minorOf, serverVersion, ServerProbe } from "../../../src/kube/client/server-version.ts";
import type { RoundTripper } from "../../../src/kube/client/transport.ts";
import { settled, TestClock } from "../../support/test-clock.ts";

const transport = (status: number, text: string) => ({ request: async () => ({ status, text }) });

test.each([
  ['{"major":"1","minor":"36","gitVersion":"v1.36.2"}', "v1.36.2"],
  ['{"kind":"Something","major":"1"}', ""],
])("the version in %s is %j", async (text, version) => {
  expect(await serverVersion(transport(200, text))).toBe(version);
});

test.each([
  [403, "Forbidden", '{"kind":"Status","reason":"Forbidden"}'],
  [200, "Network", "<html>"],
  [200, "Network", '{"major":"1"}'],
])("a response with status %i rejects with %s", async (status, code, text) => {
  await expect(serverVersion(transport(status, text))).rejects.toMatchObject({ code });
});

test.each([
  ["v1.36.2", 36],
  ["v1.35.9-eks-1a2b", 35],
  ["v1.37.0+k3s1", 37],
  ["v2.0.0", undefined],
  ["", undefined],
])("the minor version of %j is %j", (version, minor) => {
  expect(minorOf(version)).toBe(minor);
});

async function probeOf(answers: (number | undefined)[]) {
  const clock = new TestClock();
  const stop = new AbortController();
  const paths: string[] = [];
  const transport: RoundTripper = {
    async request({ path }) {
      paths.push(path);
      const status = answers.length > 1 ? answers.shift() : answers[0];
      if (status === undefined) throw new KubeError("no answer", { code: "Network", status: 0 });
      return { status, text: status === 200 ? '{"gitVersion":"v1.36.2"}' : '{"kind":"Status"}' };
    },
  };
  const probe = new ServerProbe(transport, clock);
  const running = probe.run(stop.signal);
  await settled();
  return {
    clock,
    probe,
    paths,
    end: async () => {
      stop.abort();
      await running;
    },
  };
}

const notYet = ["the API server has not answered yet"];

test.each<[string, number | undefined, readonly string[]]>([
  ["that answers", 200, []],
  ["that refuses the account its version", 403, []],
  ["that cannot serve", 503, notYet],
  ["that does not answer", undefined, notYet],
])("an API server %s (%s) has the problems %j", async (_what, status, problems) => {
  const { probe, end } = await probeOf([status]);
  expect(probe.problems()).toEqual(problems);
  await end();
});

test("an API server that stops answering is a problem after 30 s, until it answers again", async () => {
  const answers: (number | undefined)[] = [200, undefined];
  const { probe, clock, end } = await probeOf(answers);
  await clock.run(29_999);
  expect(probe.problems()).toEqual([]);
  await clock.run(1);
  expect(probe.problems()).toEqual([
    "no response from the API server for 30 s; check the connection",
  ]);
  answers[0] = 200;
  await clock.run(1_000);
  expect(probe.problems()).toEqual([]);
  await end();
});

test("an API server that answers is asked every 10 s", async () => {
  const { clock, paths, end } = await probeOf([200]);
  await clock.run(30_000);
  expect(paths).toEqual(["/version", "/version", "/version", "/version"]);
  await end();
});
