import { describe, expect, test } from "vitest";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { IssuerKeys } from "../../src/published/issuer-keys.ts";
import { PersistedState, type PersistedStateDeps } from "../../src/published/persisted-state.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { HttpsDocumentError } from "../../src/kube/client/https-document.ts";
import { es256KeyOf, newEs256Jwk } from "../../src/tokens/es256-key.ts";
import { parseSigningKeys, publicJwks } from "../../src/tokens/signing-keys.ts";
import { rawSigningKeys } from "../support/fake-informers.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const keys = parseSigningKeys(rawSigningKeys());
const document = JSON.stringify(publicJwks(keys));
const observed = {
  namespace: "latchkey-system",
  name: "latchkey-direct-endpoint-keys",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const encoded = (text: string) => Buffer.from(text).toString("base64");

/** The keys of an issuer whose answers a test sets, and the Secret in which they are kept. */
function following({ kept, isKept = true }: { kept?: string; isKept?: boolean } = {}) {
  const [clock, log, stop] = [new TestClock(), recordingLog(), new AbortController()];
  const state = { answer: document as string | Error, fetches: 0, tags: new Array<unknown>() };
  const secret = { data: kept === undefined ? {} : { "jwks.json": encoded(kept) } };
  const used: number[] = [];
  const writes: string[] = [];
  const client: PersistedStateDeps["client"] = {
    async get() {
      if (!isKept) throw new KubeError("none", { code: "NotFound", status: 404 });
      return { ...secret, metadata: observed };
    },
    async patch(_resource, _ref, { body }) {
      writes.push(stringAt(recordAt(body, "data"), "jwks.json") ?? "");
    },
  };
  const issuerKeys = new IssuerKeys(
    {
      state: new PersistedState(
        { client, log },
        { namespace: observed.namespace, name: observed.name },
      ),
      clock,
      log,
      document: {
        async fetch({ etag } = {}) {
          state.fetches += 1;
          state.tags.push(etag);
          if (state.answer instanceof Error) throw state.answer;
          return etag === state.answer
            ? { bytes: undefined, etag }
            : { bytes: Buffer.from(state.answer), etag: state.answer };
        },
      },
      onKeys: (known) => void used.push(known.size),
    },
    "https://issuer/openid/v1/jwks",
  );
  void issuerKeys.run(stop.signal);
  return { clock, log, state, issuerKeys, used, writes };
}

describe("the keys of the issuer", () => {
  test("are fetched every minute, kept once, and asked for with their tag", async () => {
    const { clock, state, issuerKeys, writes } = following();
    await settled();
    expect([issuerKeys.has(keys.signing.kid), issuerKeys.problems()]).toEqual([true, []]);
    await clock.run(120_000);
    expect([state.fetches, state.tags]).toEqual([3, [undefined, document, document]]);
    expect(writes).toEqual([encoded(document)]);
  });

  test("are those of the Secret while the issuer does not answer, which is a warning", async () => {
    const setup = following({ kept: document });
    setup.state.answer = new HttpsDocumentError("ECONNREFUSED");
    await settled();
    await setup.clock.run(60_000);
    expect([setup.issuerKeys.problems(), setup.writes]).toEqual([[], []]);
    expect(setup.issuerKeys.warnings()).toEqual([
      "the signing keys at https://issuer/openid/v1/jwks cannot be read: ECONNREFUSED",
    ]);
    expect(setup.issuerKeys.has(keys.signing.kid)).toBe(true);
  });

  test("are a problem as long as none were ever read, and then asked for every 5 s", async () => {
    const setup = following({ isKept: false });
    setup.state.answer = new HttpsDocumentError("status 404");
    await settled();
    await setup.clock.run(10_000);
    expect(setup.issuerKeys.problems()).toEqual([
      "no signing keys from https://issuer/openid/v1/jwks: status 404; check the connection",
    ]);
    expect(setup.state.fetches).toBe(3);
    expect(setup.issuerKeys.has(keys.signing.kid)).toBe(false);
    setup.state.answer = document;
    await setup.clock.run(5_000);
    expect(setup.issuerKeys.problems()).toEqual([]);
  });

  test("are asked for every 5 s after a failure, which is logged once for each cause", async () => {
    const setup = following();
    const said = () => setup.log.lines.splice(0).map(({ message }) => message);
    await settled();
    expect(said()).toEqual(["signing keys of the issuer read"]);
    await setup.clock.run(60_000);
    expect(said()).toEqual([]);
    const failed = "signing keys of the issuer cannot be read";
    setup.state.answer = new HttpsDocumentError("ECONNREFUSED");
    await setup.clock.run(60_000);
    expect(said()).toEqual([failed]);
    const { fetches } = setup.state;
    await setup.clock.run(10_000);
    expect([setup.state.fetches - fetches, said()]).toEqual([2, []]);
    setup.state.answer = new HttpsDocumentError("status 500");
    await setup.clock.run(10_000);
    expect(said()).toEqual([failed]);
    setup.state.answer = document;
    await setup.clock.run(5_000);
    expect(said()).toEqual(["signing keys of the issuer read"]);
  });

  test.each(["{}", "not JSON", '{"keys":[]}'])(
    "stay as they are when the document is %s",
    async (wrong) => {
      const setup = following();
      await settled();
      setup.state.answer = wrong;
      await setup.clock.run(60_000);
      expect(setup.issuerKeys.has(keys.signing.kid)).toBe(true);
      expect(setup.issuerKeys.warnings()).toHaveLength(1);
      expect(setup.writes).toHaveLength(1);
    },
  );

  test("are replaced when the document changes, and a removed key is not accepted", async () => {
    const setup = following();
    await settled();
    const other = es256KeyOf(newEs256Jwk().privateJwk);
    if (other === undefined) throw new Error("no key");
    setup.state.answer = JSON.stringify(publicJwks({ keys: [other] }));
    await setup.clock.run(60_000);
    expect([keys.signing.kid, other.kid].map((kid) => setup.issuerKeys.has(kid))).toEqual([
      false,
      true,
    ]);
    expect(setup.writes).toHaveLength(2);
  });
});

describe("an unknown kid", () => {
  test("fetches at once, but at most every 10 s", async () => {
    const { clock, state, issuerKeys } = following();
    await settled();
    expect(await issuerKeys.refresh()).toBe(false);
    await clock.run(10_000);
    expect(await issuerKeys.refresh()).toBe(true);
    expect(await issuerKeys.refresh()).toBe(false);
    expect(state.fetches).toBe(2);
  });

  test("of several tokens at a time fetches once", async () => {
    const { clock, state, issuerKeys } = following();
    await settled();
    await clock.run(10_000);
    const all = await Promise.all([1, 2, 3].map(() => issuerKeys.refresh()));
    expect([all, state.fetches]).toEqual([[true, true, true], 2]);
  });
});
