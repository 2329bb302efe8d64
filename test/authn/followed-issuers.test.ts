import { afterEach, beforeEach, expect, test } from "vitest";
import { FollowedIssuers } from "../../src/authn/followed-issuers.ts";
import type { IssuerEntry } from "../../src/domain/oidc/issuer-entries.ts";
import { eventually } from "../support/eventually.ts";
import { issuerEntry } from "../support/oidc-fixture.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";
import { newIssuerKey, startTokenIssuer, type TokenIssuer } from "../support/token-issuer.ts";

const key = newIssuerKey("one");
let issuer: TokenIssuer;
let stop: AbortController;
beforeEach(async () => {
  [issuer, stop] = [await startTokenIssuer(key), new AbortController()];
});
afterEach(async () => {
  stop.abort();
  await issuer.stop();
});

function followedIssuers() {
  const [clock, changes] = [new TestClock(), { count: 0 }];
  const issuers = new FollowedIssuers({
    clock,
    log: recordingLog(),
    proxyOf: () => undefined,
    onKeys: () => (changes.count += 1),
  });
  const running = issuers.run(stop.signal);
  const use = (...entries: readonly IssuerEntry[]): void =>
    issuers.use(new Map(entries.map((entry) => [entry.url, entry])));
  const isRead = () =>
    eventually(() => issuers.of(issuer.url)?.current() !== undefined, {
      what: "the keys to be read",
      every: 5,
    });
  return { issuers, clock, changes, running, use, isRead };
}

const entryOf = (more: Partial<IssuerEntry> = {}): IssuerEntry =>
  issuerEntry([], { url: issuer.url, ca: issuer.ca, jwks: undefined, ...more });

test("issuers are followed as long as their entries stay the same", async () => {
  const { issuers, clock, changes, use, isRead } = followedIssuers();
  const [entry, inline] = [entryOf(), issuerEntry([key])];
  use(entry, inline);
  await isRead();
  const followed = issuers.of(issuer.url);
  expect(changes.count).toBe(2);
  use(entry);
  expect(issuers.of(issuer.url)).toBe(followed);
  expect(issuers.of(inline.url)).toBeUndefined();
  use(entryOf({ audiences: ["other"] }));
  expect(issuers.of(issuer.url)).not.toBe(followed);
  await isRead();
  const asked = issuer.asked.length;
  await clock.run(10 * 60_000);
  // The former one is not followed any more.
  await eventually(() => issuer.asked.length === asked + 2, { what: "one reading", every: 5 });
});

test("an issuer that is removed is not asked any more", async () => {
  const { issuers, clock, use, isRead } = followedIssuers();
  use(entryOf());
  await isRead();
  use();
  const asked = issuer.asked.length;
  await clock.run(30 * 60_000);
  expect([issuer.asked.length, issuers.of(issuer.url)]).toEqual([asked, undefined]);
});

test("readings are those of issuers that have to be asked", async () => {
  const { issuers, clock, use, isRead } = followedIssuers();
  use(entryOf(), issuerEntry([key]), entryOf({ url: "https://127.0.0.1:1" }));
  await isRead();
  expect(issuers.readings()).toEqual([
    { url: issuer.url, readAt: clock.now() },
    { url: "https://127.0.0.1:1", readAt: 0 },
  ]);
  await eventually(() => issuers.warnings().length === 1, { what: "a warning", every: 5 });
  expect(issuers.warnings()[0]).toContain("https://127.0.0.1:1");
});

test("nothing is asked before it runs, and after its end", async () => {
  const { clock, use, running, isRead } = followedIssuers();
  use(entryOf());
  await isRead();
  stop.abort();
  await running;
  const asked = issuer.asked.length;
  await clock.run(30 * 60_000);
  expect(issuer.asked).toHaveLength(asked);
});
