import { fetch, Agent } from "undici";
import { jwtVerify } from "jose";
import { createPublicKey, type KeyObject } from "node:crypto";
import { isRecord, listAt, stringAt } from "../../src/api/parse.ts";
import type { PassiveClock } from "../../src/runtime/clock.ts";

/**
 * A verifier that keeps the published keys as long as it may, and fetches them for no other reason:
 * an unknown kid is a refusal.
 */
export class StrictVerifier {
  readonly #url: string;
  readonly #clock: PassiveClock;
  readonly #dispatcher: Agent;
  #keys = new Map<string, KeyObject>();
  #until = -Infinity;

  constructor({ url, ca }: { readonly url: string; readonly ca: string }, clock: PassiveClock) {
    this.#url = `${url}/openid/v1/jwks`;
    this.#clock = clock;
    this.#dispatcher = new Agent({ connect: { ca } });
  }

  /** Whether the token is valid; the clock is that of the verifier. */
  async accepts(token: string): Promise<boolean> {
    if (this.#clock.monotonic() >= this.#until) await this.#fetch();
    const find = ({ kid = "" }: { readonly kid?: string }): KeyObject => {
      const key = this.#keys.get(kid);
      if (key === undefined) throw new Error("unknown kid");
      return key;
    };
    const currentDate = new Date(this.#clock.now());
    return jwtVerify(token, find, { algorithms: ["ES256"], currentDate, clockTolerance: 1 }).then(
      () => true,
      () => false,
    );
  }

  stop(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  async #fetch(): Promise<void> {
    const at = this.#clock.monotonic();
    const response = await fetch(this.#url, { dispatcher: this.#dispatcher });
    const maxAge = Number(/max-age=(\d+)/.exec(response.headers.get("cache-control") ?? "")?.[1]);
    const age = Number(response.headers.get("age") ?? 0);
    const keys = listAt(await response.json(), "keys").filter(isRecord);
    this.#keys = new Map(
      keys.map((key) => [
        stringAt(key, "kid") ?? "",
        createPublicKey({ key: { ...key }, format: "jwk" }),
      ]),
    );
    this.#until = at + (maxAge - age) * 1000;
  }
}
