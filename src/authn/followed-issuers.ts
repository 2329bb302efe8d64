import type { Issuers } from "../domain/oidc/trusted-tokens.ts";
import type { ProcessPart } from "../runtime/run-process.ts";
import { FollowedKeySet, type KeySetDeps } from "./followed-key-set.ts";

interface Following {
  readonly keySet: FollowedKeySet;
  readonly ending: AbortController;
}

/** The keys of the configured issuers, each followed as long as its entry stays the same. */
export class FollowedIssuers implements ProcessPart {
  readonly #deps: KeySetDeps;
  #following: ReadonlyMap<string, Following> = new Map();
  #signal: AbortSignal | undefined;
  readonly #running = new Set<Promise<void>>();

  constructor(deps: KeySetDeps) {
    this.#deps = deps;
  }

  /** The issuer with this URL; undefined for one that is not configured. */
  of(url: string): FollowedKeySet | undefined {
    return this.#following.get(url)?.keySet;
  }

  /** Follows these issuers from now on. */
  use(issuers: Issuers): void {
    const former = this.#following;
    this.#following = new Map(
      [...issuers].map(([url, entry]) => {
        const known = former.get(url);
        if (known?.keySet.entry === entry) return [url, known];
        const begun = {
          keySet: new FollowedKeySet(entry, this.#deps),
          ending: new AbortController(),
        };
        this.#start(begun);
        return [url, begun];
      }),
    );
    for (const [url, known] of former) if (this.#following.get(url) !== known) known.ending.abort();
  }

  /** Follows what is configured until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const following of this.#following.values()) this.#start(following);
    await new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    await Promise.all(this.#running);
  }

  /** What is wrong with the keys of issuers, one sentence each. */
  warnings(): readonly string[] {
    return [...this.#following.values()].flatMap(({ keySet }) => keySet.warning() ?? []);
  }

  /**
   * When the keys of each issuer that has to be asked were last read, in milliseconds since the
   * epoch; 0 for never.
   */
  readings(): readonly { readonly url: string; readonly readAt: number }[] {
    return [...this.#following.values()]
      .filter(({ keySet: { entry } }) => entry.jwks === undefined)
      .map(({ keySet: { entry, readAt } }) => ({ url: entry.url, readAt }));
  }

  #start({ keySet, ending }: Following): void {
    if (this.#signal === undefined) return;
    const running = keySet.run(AbortSignal.any([this.#signal, ending.signal]));
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }
}
