import { stringAt } from "../api/parse.ts";
import { readingBounds } from "../api/reading-bounds.ts";
import type { IssuerEntry } from "../domain/oidc/issuer-entries.ts";
import { knownIssuer } from "../domain/oidc/known-issuers.ts";
import { HttpsDocument, HttpsDocumentError } from "../kube/client/https-document.ts";
import type { ProxyOf } from "../kube/credentials/proxies.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { type OidcKey, type OidcKeySet, parseOidcKeys, sameKeys } from "../tokens/oidc-keys.ts";
import { strictJson } from "../tokens/strict-json.ts";

/** What {@link FollowedKeySet} needs. */
export interface KeySetDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly proxyOf: ProxyOf;
  /** Called when keys are added or removed. */
  readonly onKeys: () => void;
}

type Keys = ReadonlyMap<string, OidcKey>;

const noKeys: Keys = new Map();

/** Issuers publish a new key a day or more before they use it. */
const everyMs = 10 * 60_000;
/** After a failure. */
const retryMs = 30_000;
/** Anybody can send a token with an unknown kid. */
const unknownKidMs = 60_000;
/** An issuer that has been away for so long may have dropped a key that leaked. */
const mostAgeMs = 24 * 60 * 60_000;
const timeoutMs = 10_000;
const discoveryPath = "/.well-known/openid-configuration";

/**
 * The keys of an issuer: those of its entry, or of its discovery document (OpenID Connect Discovery
 * 1.0, section 4), which is read every 10 minutes, and at once for an unknown kid. No redirect is
 * followed. While it cannot be read, the last keys count for 24 hours.
 */
export class FollowedKeySet {
  readonly entry: IssuerEntry;
  readonly #deps: KeySetDeps;
  readonly #documents = new Map<string, HttpsDocument>();
  #keys: Keys | undefined;
  #readAt = -Infinity;
  #askedAt = -Infinity;
  #problem: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(entry: IssuerEntry, deps: KeySetDeps) {
    this.entry = entry;
    this.#deps = deps;
    if (entry.jwks !== undefined) this.#use(Buffer.from(entry.jwks, "utf8"));
  }

  /** The keys of now; undefined if none were ever read. */
  current(): Keys | undefined {
    return this.#isTooOld() ? noKeys : this.#keys;
  }

  /** When the keys were last read, in milliseconds since the epoch; 0 for never. */
  get readAt(): number {
    const { clock } = this.#deps;
    return Math.max(clock.now() - (clock.monotonic() - this.#readAt), 0);
  }

  /** What is wrong with the keys, in one sentence; undefined if nothing is. */
  warning(): string | undefined {
    if (this.#problem === undefined) return undefined;
    const effect =
      this.#keys === undefined
        ? "its tokens are refused"
        : this.#isTooOld()
          ? "its tokens are refused after 24 hours without it"
          : "the last keys count for 24 hours";
    return `the keys of the issuer ${this.entry.url} cannot be read: ${this.#problem}; ${effect}`;
  }

  /** Reads the keys again and again until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted && this.entry.jwks === undefined) {
      await this.#read();
      await sleep(this.#problem === undefined ? everyMs : retryMs, { clock, signal });
    }
    await Promise.all([...this.#documents.values()].map((document) => document.close()));
  }

  /** Reads the keys for an unknown kid, unless they were read for one in the last minute. */
  async refresh(): Promise<void> {
    const now = this.#deps.clock.monotonic();
    if (this.entry.jwks !== undefined) return;
    if (this.#reading === undefined && now - this.#askedAt < unknownKidMs) return;
    this.#askedAt = now;
    await this.#read();
  }

  #isTooOld(): boolean {
    const isFixed = this.entry.jwks !== undefined;
    return (
      !isFixed &&
      this.#keys !== undefined &&
      this.#deps.clock.monotonic() - this.#readAt > mostAgeMs
    );
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    try {
      const { url, discoveryUrl } = this.entry;
      const at = discoveryUrl ?? `${url.replace(/\/$/, "")}${discoveryPath}`;
      const discovery = strictJson(await this.#fetch(at));
      const jwksUrl = stringAt(discovery, "jwks_uri") ?? "";
      const problem =
        stringAt(discovery, "issuer") === url
          ? this.#locationProblem(jwksUrl)
          : "its discovery document is that of another issuer, or none";
      if (problem === undefined) this.#use(await this.#fetch(jwksUrl));
      else this.#report(problem);
    } catch (error) {
      if (!(error instanceof HttpsDocumentError)) throw error;
      this.#report(error.message);
    }
  }

  /** Why keys are not read from a URL of the discovery document; undefined if they are. */
  #locationProblem(jwksUrl: string): string | undefined {
    const { url, discoveryUrl = url } = this.entry;
    const hosts = [url, discoveryUrl].map((each) => new URL(each).host);
    const location = URL.canParse(jwksUrl) ? new URL(jwksUrl) : undefined;
    if (location?.protocol !== "https:") return "its discovery document names no https jwks_uri";
    return [...hosts, knownIssuer(url)?.keysHost].includes(location.host)
      ? undefined
      : "its discovery document names a jwks_uri of another host";
  }

  async #fetch(url: string): Promise<Uint8Array> {
    const { clock, proxyOf } = this.#deps;
    const { ca } = this.entry;
    let document = this.#documents.get(url);
    if (document === undefined) {
      // A jwks_uri that changes with each reading would add one each time.
      if (this.#documents.size >= 4) await this.#forgetDocuments();
      const { bytes: mostBytes } = readingBounds.foreignKeys;
      const trusted = ca === undefined ? undefined : () => ca;
      document = new HttpsDocument({ url, ca: trusted, mostBytes, timeoutMs, clock, proxyOf });
      this.#documents.set(url, document);
    }
    const { bytes } = await document.fetch();
    return bytes ?? new Uint8Array();
  }

  async #forgetDocuments(): Promise<void> {
    const former = [...this.#documents.values()];
    this.#documents.clear();
    await Promise.all(former.map((document) => document.close()));
  }

  #use(bytes: Uint8Array): void {
    const result: OidcKeySet = parseOidcKeys(bytes);
    if (result.kind === "refused") return this.#report(`its key set is refused: ${result.problem}`);
    this.#readAt = this.#deps.clock.monotonic();
    const former = this.#keys;
    this.#keys = sameKeys(result.keys, former ?? noKeys);
    this.#report(undefined);
    if (this.#keys === former) return;
    const { log, onKeys } = this.#deps;
    const { url } = this.entry;
    log.info({ url, count: this.#keys.size }, "keys of an issuer read");
    for (const why of result.left) log.warn({ url, why }, "a key of an issuer does not count");
    onKeys();
  }

  #report(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#problem)
      this.#deps.log.warn(
        { url: this.entry.url, why: problem },
        "keys of an issuer cannot be read",
      );
    this.#problem = problem;
  }
}
