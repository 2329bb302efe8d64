import { seqOrder } from "../domain/endpoint-token/revocation-seq.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import {
  hasList,
  isKept,
  type KeptList,
  keptListData,
  keptSeq,
  readKeptList,
  type SignedRevokedList,
} from "./kept-revoked-list.ts";
import type { KeptSecret } from "./kept-secret.ts";

/** Dependencies of {@link RevokedListKeeper}. */
interface RevokedListKeeperDeps {
  readonly secret: Pick<KeptSecret, "read" | "update">;
  readonly clock: Pick<Clock, "now" | "wakeAfter">;
}

/** The Secret may have 1 MiB, and each replica writes it. */
const spacingMs = 5_000;
const retryMs = 15_000;

/**
 * Keeps the newest list in the Secret, so that a restart needs no issuer. Several replicas write the
 * same Secret: none replaces a newer list by an older one.
 */
export class RevokedListKeeper {
  readonly #deps: RevokedListKeeperDeps;
  readonly #issuer: string;
  /** The list that is not kept yet. */
  #wanted: SignedRevokedList | undefined;
  #wake = (): void => {};
  /** Size of the list in use if no Secret can have it. */
  #tooLarge: number | undefined;

  constructor(deps: RevokedListKeeperDeps, { issuer }: { readonly issuer: string }) {
    this.#deps = deps;
    this.#issuer = issuer;
  }

  /** What a restart will lack, in one sentence. */
  warnings(): readonly string[] {
    return this.#tooLarge === undefined
      ? []
      : [
          `the list of revoked tokens (${this.#tooLarge} bytes) is too large for a Secret and is not kept; a restart needs the issuer`,
        ];
  }

  /** Reads the kept list; undefined if there is none of this issuer. */
  async restore(): Promise<KeptList | undefined> {
    const raw = await this.#deps.secret.read();
    return readKeptList(raw, { issuer: this.#issuer, now: this.#deps.clock.now() });
  }

  /** Lets {@link run} keep the list, instead of one that it has not kept yet. */
  keep(list: SignedRevokedList): void {
    this.#wanted = list;
    this.#wake();
  }

  /** Keeps each list until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    while (!signal.aborted) {
      const list = this.#wanted;
      if (list === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const isDone = await this.#write(list);
      if (isDone && this.#wanted === list) this.#wanted = undefined;
      await sleep(isDone ? spacingMs : retryMs, { clock: this.#deps.clock, signal });
    }
  }

  /** Whether the Secret has the list, or a newer one. */
  async #write(list: SignedRevokedList): Promise<boolean> {
    const data = await keptListData(list, this.#issuer);
    this.#tooLarge = hasList(data) ? undefined : list.text.length;
    return this.#deps.secret.update((raw) => {
      const isNewerKept = seqOrder(keptSeq(raw, this.#issuer), list.seq) === "older";
      return isNewerKept || isKept(raw, data) ? undefined : data;
    });
  }
}
