import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { group } from "../../src/api/names.ts";
import type { ScopeRule } from "../../src/api/scope.ts";
import {
  directToken,
  type FrontWay,
  frontWays,
  requestTextOf,
  type WayFixture,
} from "../support/front-ways.ts";
import { emptyScope } from "../support/empty-scope.ts";
import { keyOf } from "../support/gateway-fixture.ts";
import { askRaw, rawConnection } from "../support/raw-client.ts";
import { headers, rawSession, type RawSession } from "../support/raw-http2.ts";
import { requestFieldsOf } from "./raw-frames.ts";

const anyRule: ScopeRule = {
  verbs: [],
  resources: [],
  resourceNames: [],
  namespaces: [],
  nonResourceURLs: [],
  requestTargets: [],
  cluster: "",
  virtualClusters: [],
};
const on = (...names: string[]) => ({ resources: [{ group: "", resources: names }] });
const verbs = (...all: string[]) => ({ verbs: all });
/** A rule for verbs on resources of the core group, such as `get pods,pods/status`. */
function may(text: string, more: Partial<ScopeRule> = {}): Partial<ScopeRule> {
  const [all = "", names = ""] = text.split(" ");
  return { ...verbs(...all.split(",")), ...on(...names.split(",")), ...more };
}
const web = "/api/v1/namespaces/web";
const body = { fields: ["Content-Type: application/json", "Content-Length: 2"], body: "{}" };
const upgrade = { fields: ["Connection: Upgrade", "Upgrade: websocket"] };
const spdy = { fields: ["Connection: Upgrade", "Upgrade: SPDY/3.1"] };

/** A request, a scope that fits it, scopes that are one field off, and more of the request. */
type ScopeCase = [
  line: string,
  fits: Partial<ScopeRule>,
  off: readonly Partial<ScopeRule>[],
  request?: { readonly fields?: readonly string[]; readonly body?: string },
];

const onePod: readonly Partial<ScopeRule>[] = [
  verbs("list"),
  { resources: [{ group: "apps", resources: ["pods"] }] },
  on("pods/log"),
  { namespaces: ["pay"] },
  { resourceNames: ["b"] },
  { requestTargets: ["ProjectSpace"] },
];
const cases: readonly ScopeCase[] = [
  [`GET ${web}/pods/a`, may("get pods", { namespaces: ["web"], resourceNames: ["a"] }), onePod],
  [
    `GET ${web}/pods`,
    may("list pods", { namespaces: ["web"] }),
    [verbs("get"), { namespaces: [""] }],
  ],
  [`GET ${web}/pods?watch=1`, may("watch pods"), [verbs("list"), verbs("get")]],
  ["GET /api/v1/pods", may("list pods"), [{ namespaces: ["web"] }]],
  [
    `POST ${web}/pods`,
    may("create pods"),
    [verbs("update", "patch", "get", "list", "watch", "delete")],
    body,
  ],
  [`PUT ${web}/pods/a/status`, may("update pods,pods/status"), [verbs("patch"), on("pods")], body],
  [`DELETE ${web}/pods`, may("deletecollection pods"), [verbs("delete")]],
  [
    `GET ${web}/pods/a/log?follow=1`,
    may("get pods,pods/log"),
    [on("pods"), on("pods", "pods/exec")],
  ],
  [
    `GET ${web}/pods/a/exec?command=sh`,
    may("get,create pods,pods/exec"),
    [verbs("get"), verbs("create"), on("pods", "pods/attach")],
    upgrade,
  ],
  [`POST ${web}/pods/a/portforward`, may("create pods,pods/portforward"), [verbs("get")], spdy],
  [
    `GET ${web}/services/a/proxy/x`,
    may("get,create services/proxy"),
    [verbs("get"), verbs("create")],
    upgrade,
  ],
  [
    `GET ${web}/secrets/a`,
    may("get secrets"),
    [{ resources: [] }, { resources: [{ group: "*", resources: ["*"] }] }],
  ],
  [
    "GET /metrics",
    { ...verbs("get"), nonResourceURLs: ["/metrics"] },
    [{ nonResourceURLs: ["/logs"] }, { nonResourceURLs: [], ...on("pods") }],
  ],
];

describe.each(frontWays)("at the $name", (way) => {
  const textOf = requestTextOf(way);
  let front: WayFixture;
  beforeAll(async () => {
    front = await way.start();
  });
  beforeEach(() => front.recorder.forget());
  afterAll(() => front.close());

  /** A request with another credential of this way. */
  const asking = (credential: string, ...parts: Parameters<typeof textOf>) =>
    askRaw(front, textOf(...parts).replace(way.alice, credential));

  it.each<[string, string, readonly string[]]>([
    ["a user with a blank at its end", "alice ", ["devs"]],
    ["a user with a blank at its beginning", " alice", ["devs"]],
    ["a user with a line feed", "alice\nimpersonate-group: root", ["devs"]],
    ["a user with NUL", "alice\u0000", ["devs"]],
    ["a group with a blank at its end", "alice", ["devs", "admins "]],
    ["a group with a tab", "alice", ["admins\t"]],
    ["a group with a carriage return", "alice", ["a\rb"]],
  ])("%s is 403, and acts as no user", async (_what, user, groups) => {
    const credential = await credentialOf(way, front, { user, groups });
    const { statuses, text } = await asking(credential, "GET /api");
    expect([statuses, front.recorder.requests]).toEqual([[403], []]);
    expect(text).toContain("cannot be sent in a header");
  });

  it.each<[string, string, readonly string[]]>([
    ["the administrator", "system:admin", []],
    ["a service account", "system:serviceaccount:kube-system:default", []],
    ["a node", "system:node:a", ["system:nodes"]],
    ["the masters", "alice", ["system:masters"]],
  ])("%s is 401 like no credential", async (_what, user, groups) => {
    const credential = await credentialOf(way, front, { user, groups });
    const refused = await asking(credential, "GET /api");
    const none = await asking("none", "GET /api");
    const withoutDate = ({ text }: typeof none) => text.replace(/^date: .*\r\n/im, "");
    expect([refused.statuses, front.recorder.requests]).toEqual([[401], []]);
    expect(withoutDate(refused)).toBe(withoutDate(none));
  });

  it.each([
    ["umlauts", "jürgen", "schön"],
    ["Latin-1 that is UTF-8 of another name", "Ã¼", "Ã¼"],
    ["other scripts", "日本", "группа"],
    ["a blank inside", "alice smith", "dev team"],
    ["a header's separators", "a: b, c; d", 'e="f"'],
  ])("names with %s arrive as their bytes of UTF-8", async (_what, user, name) => {
    const credential = await credentialOf(way, front, { user, groups: [name] });
    expect((await asking(credential, "GET /api")).statuses).toEqual([200]);
    const sent = (front.recorder.requests[0]?.fields ?? []).map(([field, value]) => [
      field,
      Buffer.from(value, "latin1").toString("utf8"),
    ]);
    expect(sent.filter(([field]) => /^impersonate-(?:user|group)$/.test(field ?? ""))).toEqual([
      ["impersonate-user", user],
      ["impersonate-group", name],
    ]);
  });

  it.each(cases)(
    "the scope decides about %s",
    async (line, fits, off, { fields, body: sent } = {}) => {
      const statusWith = async (change: Partial<ScopeRule>): Promise<number | undefined> => {
        const rule = { ...anyRule, ...fits, ...change };
        const credential = await front.scoped({ ...emptyScope, rules: [rule] });
        return (await asking(credential, line, fields, sent)).statuses[0];
      };
      expect(await statusWith({})).toBe(200);
      expect(front.recorder.requests).toHaveLength(1);
      const statuses = await Promise.all(off.map(statusWith));
      expect(statuses).toEqual(off.map(() => 403));
      expect(front.recorder.requests).toHaveLength(1);
    },
  );
});

describe.each(frontWays)("streams at the $name", (way) => {
  const requestFields = requestFieldsOf(way);
  const watch = `${way.prefix}/api/v1/pods?watch=1`;

  /** Opens so many watches over connections of 125, and waits until all are under way. */
  async function openWatches(
    front: WayFixture,
    credential: string,
    count: number,
  ): Promise<readonly RawSession[]> {
    const fields = requestFieldsOf({ ...way, alice: credential })([], { path: watch });
    const before = front.inFlight.count("stream");
    const sessions: RawSession[] = [];
    for (let opened = 0; opened < count; opened += 125) {
      const session = await rawSession(front);
      sessions.push(session);
      const some = Math.min(125, count - opened);
      for (let stream = 0; stream < some; stream += 1)
        session.write(headers(2 * stream + 1, fields));
    }
    await sessions[0]?.until(() => front.inFlight.count("stream") === before + count);
    return sessions;
  }

  async function statusOf(front: WayFixture, credential: string): Promise<string> {
    const connection = await rawConnection(front);
    connection.write(requestTextOf(way)("GET /api/v1/pods?watch=1").replace(way.alice, credential));
    const isUnderWay = front.inFlight.count("stream") + 1;
    const { statuses, text } = await connection.until(
      (answer) => answer.statuses.length > 0 || front.inFlight.count("stream") === isUnderWay,
    );
    connection.destroy();
    return statuses.length === 0 ? "open" : `${statuses[0]} ${text.split("\r\n\r\n")[1] ?? ""}`;
  }

  it("are at most 256 with one credential, and 512 of one user with several", async () => {
    const front = await way.start();
    front.recorder.respond = () => {};
    const second = await anotherOf(way, front, "second");
    const third = await anotherOf(way, front, "third");
    const open = [...(await openWatches(front, way.alice, 256))];
    const noun = way.name === "gateway" ? "access key" : "direct token";
    expect(await statusOf(front, way.alice)).toMatch(
      new RegExp(`^429 .*at most 256 with one ${noun}\\)`),
    );
    expect(await statusOf(front, second)).toBe("open");
    await open[0]?.until(() => front.inFlight.count("stream") === 256);
    open.push(...(await openWatches(front, second, 256)));
    expect(await statusOf(front, third)).toMatch(/^429 .*at most 512 of one user\)/);
    expect(await statusOf(front, way.bob)).toBe("open");
    const [session] = open;
    const short = requestFields([], { path: `${way.prefix}/api` });
    front.recorder.respond = (_request, socket) =>
      void socket.write("HTTP/1.1 204 No Content\r\n\r\n");
    session?.write(headers(1001, short));
    await session?.until(() => session.stream(1001).status !== undefined);
    expect(session?.stream(1001).resetCode).toBeUndefined();
    for (const each of open) each.destroy();
    await session?.until(() => front.inFlight.count("stream") === 0);
    expect(front.inFlight.count("stream")).toBe(0);
    await front.close();
  });
});

/** A credential of a user in groups, which the front knows. */
async function credentialOf(
  way: FrontWay,
  front: WayFixture,
  { user, groups }: { readonly user: string; readonly groups: readonly string[] },
): Promise<string> {
  if (way.name === "direct endpoint")
    return directToken({ sub: user, groups, jti: "uid-of-another", [group]: { name: "another" } });
  front.keys.set("key-of-another-user", keyOf(user, { groups }));
  return "key-of-another-user";
}

/** Another credential of alice. */
async function anotherOf(way: FrontWay, front: WayFixture, name: string): Promise<string> {
  if (way.name === "direct endpoint") return directToken({ jti: name });
  const { key, ...others } = keyOf("alice");
  const metadata = { ...key.metadata, uid: name };
  front.keys.set(`key-of-alice-${name}`, { ...others, key: { ...key, metadata } });
  return `key-of-alice-${name}`;
}
