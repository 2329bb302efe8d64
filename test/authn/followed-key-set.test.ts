import type { RequestListener } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FollowedKeySet } from "../../src/authn/followed-key-set.ts";
import type { IssuerEntry } from "../../src/domain/oidc/issuer-entries.ts";
import { eventually } from "../support/eventually.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";
import { newIssuerKey, startTokenIssuer, type TokenIssuer } from "../support/token-issuer.ts";

const [one, two] = [newIssuerKey("one"), newIssuerKey("two")];
let issuer: TokenIssuer;
let stop: AbortController;

beforeEach(async () => {
  issuer = await startTokenIssuer(one);
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await issuer.stop();
});

function followed(entry: Partial<IssuerEntry> = {}) {
  const clock = new TestClock();
  const [log, changes] = [recordingLog(), { count: 0 }];
  const keySet = new FollowedKeySet(
    {
      url: issuer.url,
      discoveryUrl: undefined,
      audiences: ["ci"],
      ca: issuer.ca,
      jwks: undefined,
      required: [],
      ...entry,
    },
    { clock, log, proxyOf: () => undefined, onKeys: () => (changes.count += 1) },
  );
  const kids = () => keySet.current() && [...(keySet.current() ?? new Map()).keys()];
  return { keySet, clock, log, changes, kids };
}

/** Runs it until it has asked the issuer, and answers. */
async function read(entry?: Partial<IssuerEntry>) {
  const following = followed(entry);
  void following.keySet.run(stop.signal);
  await shows(() => expect(following.keySet.warning() ?? following.kids()).toBeDefined());
  return following;
}

/** Waits until an assertion holds. */
async function shows(assert: () => void): Promise<void> {
  const holds = () => {
    assert();
    return true;
  };
  await eventually(holds, { what: "the answer of the issuer", every: 5 });
}

const minutes = (count: number): number => count * 60_000;

describe("the keys of an issuer", () => {
  test("are not known before they were read", () => {
    const { keySet, kids } = followed();
    expect([kids(), keySet.warning(), keySet.readAt]).toEqual([undefined, undefined, 0]);
  });

  test("are those that its discovery document leads to", async () => {
    const { keySet, kids, changes, log } = await read();
    expect([kids(), keySet.warning(), changes.count]).toEqual([["one"], undefined, 1]);
    expect(issuer.asked).toEqual(["/.well-known/openid-configuration", "/keys"]);
    expect(log.lines).toMatchObject([{ message: "keys of an issuer read", fields: { count: 1 } }]);
  });

  test("are those of its entry, which asks nobody", async () => {
    const jwks = JSON.stringify({ keys: [two.publicJwk] });
    const { keySet, kids, clock } = followed({ jwks });
    await keySet.run(stop.signal);
    await keySet.refresh();
    await clock.run(minutes(60 * 48));
    expect([kids(), issuer.asked]).toEqual([["two"], []]);
  });

  test("are read every ten minutes, and keep their objects", async () => {
    const { keySet, clock, kids, changes } = await read();
    const first = keySet.current()?.get("one");
    issuer.keys = [two.publicJwk, one.publicJwk];
    await clock.run(minutes(10) - 1);
    expect(issuer.asked).toHaveLength(2);
    await clock.run(1);
    await shows(() => expect(kids()).toEqual(["two", "one"]));
    expect([keySet.current()?.get("one") === first, changes.count]).toEqual([true, 2]);
    issuer.keys = [two.publicJwk];
    await clock.run(minutes(10));
    await shows(() => expect(kids()).toEqual(["two"]));
  });

  test("are read at once for an unknown kid, and for the next one a minute later", async () => {
    const { keySet, clock, kids } = await read();
    issuer.keys = [two.publicJwk];
    await Promise.all([keySet.refresh(), keySet.refresh(), keySet.refresh()]);
    expect([kids(), issuer.asked.length]).toEqual([["two"], 4]);
    await clock.run(minutes(1) - 1);
    await keySet.refresh();
    expect(issuer.asked).toHaveLength(4);
    await clock.run(1);
    await keySet.refresh();
    expect(issuer.asked).toHaveLength(6);
  });

  test("count for 24 hours while the issuer is away", async () => {
    const { keySet, clock, kids } = await read();
    issuer.answer = (_, response) => response.writeHead(503).end();
    await keySet.refresh();
    expect(keySet.warning()).toMatch(/cannot be read: .*; the last keys count for 24 hours$/);
    await clock.run(minutes(60 * 24) - 1);
    expect(kids()).toEqual(["one"]);
    await clock.run(2);
    expect([kids(), keySet.warning()]).toEqual([
      [],
      expect.stringMatching(/refused after 24 hours without it$/),
    ]);
    issuer.answer = undefined;
    await clock.run(minutes(1));
    await shows(() => expect(kids()).toEqual(["one"]));
    expect(keySet.warning()).toBeUndefined();
  });

  const json =
    (body: unknown): RequestListener =>
    (_, response) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  const canary = "canary-of-the-answer";

  test.each<[what: string, answer: (url: string) => RequestListener, why: RegExp]>([
    ["with another issuer", () => json({ issuer: "https://other", jwks_uri: canary }), /another/],
    ["that is no object", () => json(canary), /another issuer, or none/],
    [
      "with keys over http",
      (url) => json({ issuer: url, jwks_uri: "http://127.0.0.1/keys" }),
      /names no https jwks_uri/,
    ],
    ["without keys", (url) => json({ issuer: url, keys: [one.publicJwk] }), /no https jwks_uri/],
    [
      "with keys of another host",
      (url) => json({ issuer: url, jwks_uri: `https://${canary}.example/keys` }),
      /names a jwks_uri of another host/,
    ],
    [
      "with keys of another port",
      (url) => json({ issuer: url, jwks_uri: "https://127.0.0.1:1/keys" }),
      /names a jwks_uri of another host/,
    ],
    [
      "that redirects",
      (url) => (_, response) => response.writeHead(302, { location: `${url}/keys` }).end(),
      /redirect/,
    ],
    [
      "that is a page",
      () => (_, response) => response.setHeader("content-type", "text/html").end(canary),
      /HTML/,
    ],
    [
      "without an end",
      () => (_, response) => {
        const more = (): void => {
          while (!response.destroyed && response.write("a".repeat(1024)));
          response.once("drain", more);
        };
        more();
      },
      /more than 262144 bytes/,
    ],
    ["that breaks", () => (_, response) => response.destroy(), /./],
  ])("are not read from a document %s", async (_what, answer, why) => {
    issuer.answer = answer(issuer.url);
    const { keySet, kids, log } = await read();
    expect([kids(), keySet.warning()]).toEqual([undefined, expect.stringMatching(why)]);
    expect(keySet.warning()).toMatch(/its tokens are refused$/);
    expect(JSON.stringify([keySet.warning(), log.lines])).not.toContain(canary);
  });

  test("are not those of a set without one that counts", async () => {
    issuer.keys = [{ ...one.publicJwk, ...one.privateKey.export({ format: "jwk" }) }];
    const { keySet, kids } = await read();
    expect([kids(), keySet.warning()]).toEqual([
      undefined,
      expect.stringMatching(/refused: it has no key that counts; the key "one" has its private/),
    ]);
  });

  test("are read although one of them does not count, which is said", async () => {
    issuer.keys = [one.publicJwk, two.publicJwk, two.publicJwk];
    const { kids, log } = await read();
    expect(kids()).toEqual(["one"]);
    expect(log.lines).toMatchObject([{}, { fields: { why: 'the key "two" stands twice' } }]);
  });

  test("are those of the host of a discoveryURL, too", async () => {
    const other = await startTokenIssuer();
    const url = "https://oidc.example/cluster";
    issuer.answer = json({ issuer: url, jwks_uri: `${issuer.url}/keys` });
    const answered = json({ keys: [one.publicJwk] });
    issuer.answer = (request, response) =>
      request.url === "/keys"
        ? answered(request, response)
        : json({ issuer: url, jwks_uri: `${issuer.url}/keys` })(request, response);
    const { kids } = await read({ url, discoveryUrl: `${issuer.url}/found` });
    expect([kids(), issuer.asked]).toEqual([["one"], ["/found", "/keys"]]);
    await other.stop();
  });
});

test("an issuer whose certificate is of another CA is not read", async () => {
  const following = followed({ ca: undefined });
  void following.keySet.run(stop.signal);
  await shows(() => expect(following.keySet.warning()).toBeDefined());
  expect([following.kids(), issuer.asked]).toEqual([undefined, []]);
});
