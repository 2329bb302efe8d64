import { gunzip, gzip } from "node:zlib";
import { recordAt, stringAt } from "../api/parse.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { VerificationKeys } from "../tokens/compact-jws.ts";
import { publicJwks } from "../tokens/signing-keys.ts";
import { strictJson } from "../tokens/strict-json.ts";
import { parseVerificationKeys } from "../tokens/verification-keys.ts";
import type { PersistedState } from "./persisted-state.ts";
import type { Issued, PublishedList } from "./published-list.ts";

/** Dependencies of a {@link PersistedList}. */
interface PersistedListDeps<T extends Issued> {
  readonly state: PersistedState;
  readonly clock: Clock;
  readonly published: PublishedList<T>;
}

/** A list as it was verified. */
interface VerifiedText<T> {
  /** The JWT. */
  readonly text: string;
  readonly list: T;
  /** The keys of the issuer when the list was verified. */
  readonly keys: VerificationKeys;
}

/** A restored list; `list` is undefined if it was too large, or is invalid. */
interface RestoredList<T> {
  /** That of the newest list that was verified, which no later list may precede. */
  readonly version: string;
  readonly list: T | undefined;
}

/** The data of a merge patch of the Secret: base64, or null to remove the key. */
type ListData = Readonly<Record<string, string | null>>;

/** The Secret may have 1 MiB, and each replica writes it. */
const spacingMs = 5_000;
const retryMs = 15_000;

/**
 * The newest list of an issuer in the persisted state, so that a restart needs no issuer. Several
 * replicas write the same Secret: none replaces a newer list by an older one.
 *
 * The Secret has the JWT, compressed if it is large, and beside it the issuer, the version and the
 * public keys that it was verified with. These keys are trusted for this list alone: the key that
 * signed it may have left the JWK Set since then. That gives nobody more power: the JWK Set in the
 * same Secret makes any token valid, so that every account that can write the Secret is trusted
 * with all tokens. A list that is too large even when compressed is not persisted, and removes an
 * older one, which would forget what was revoked since then; its version is persisted, so that no
 * older list is taken after a restart.
 */
export class PersistedList<T extends Issued> {
  readonly #deps: PersistedListDeps<T>;
  readonly #issuer: string;
  readonly #dataKeys: { readonly plain: string; readonly zipped: string; readonly facts: string };
  /** The list that is not persisted yet. */
  #wanted: VerifiedText<T> | undefined;
  #wake = (): void => {};
  /** Size of the list in use if no Secret can have it. */
  #tooLarge: number | undefined;

  constructor(deps: PersistedListDeps<T>, issuer: string) {
    this.#deps = deps;
    this.#issuer = issuer;
    const { name } = deps.published;
    this.#dataKeys = { plain: `${name}.jwt`, zipped: `${name}.jwt.gz`, facts: `${name}.json` };
  }

  /** What a restart will lack, in one sentence. */
  warnings(): readonly string[] {
    return this.#tooLarge === undefined
      ? []
      : [
          `the ${this.#deps.published.noun} (${this.#tooLarge} bytes) is too large for a Secret ` +
            "and is not kept; a restart needs the issuer",
        ];
  }

  /** Reads the list, without what has expired in it; undefined if there is none. */
  async restore(): Promise<RestoredList<T> | undefined> {
    const { state, clock, published } = this.#deps;
    const raw = await state.read();
    const version = this.#versionIn(raw);
    if (version === undefined) return undefined;
    const text = await this.#textIn(recordAt(raw, "data"));
    const parsed = parseVerificationKeys(Buffer.from(JSON.stringify(this.#factsIn(raw))));
    if (text === undefined || !parsed.ok) return { version, list: undefined };
    const against = { keys: parsed.keys, issuer: this.#issuer, now: clock.now() };
    const verified = await published.verify(text, against);
    const isOfVersion = verified.ok && published.versionOf(verified.list) === version;
    return { version, list: isOfVersion ? verified.list : undefined };
  }

  /** Lets {@link run} persist the list, instead of one that it has not persisted yet. */
  persist(list: VerifiedText<T>): void {
    this.#wanted = list;
    this.#wake();
  }

  /** Persists each list until the signal aborts. */
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
  async #write(verified: VerifiedText<T>): Promise<boolean> {
    const { published, state } = this.#deps;
    const data = await this.#dataOf(verified);
    const hasList = data[this.#dataKeys.plain] !== null || data[this.#dataKeys.zipped] !== null;
    this.#tooLarge = hasList ? undefined : verified.text.length;
    return state.update((raw) => {
      const isNewerPersisted = published.order(this.#versionIn(raw), verified.list) === "older";
      return isNewerPersisted || hasData(raw, data) ? undefined : data;
    });
  }

  async #dataOf({ text, list, keys }: VerifiedText<T>): Promise<ListData> {
    const { plain, zipped, facts } = this.#dataKeys;
    const { versionOf, mostPersistedCharacters } = this.#deps.published;
    const jwks = publicJwks({ keys: [...keys.values()] });
    const known = JSON.stringify({ issuer: this.#issuer, seq: versionOf(list), ...jwks });
    const data = { [plain]: null, [zipped]: null, [facts]: base64(Buffer.from(known)) };
    const whole = base64(Buffer.from(text));
    if (whole.length <= mostPersistedCharacters) return { ...data, [plain]: whole };
    const smaller = base64(await compressed(text));
    return smaller.length <= mostPersistedCharacters ? { ...data, [zipped]: smaller } : data;
  }

  /** The version of the newest list of this issuer in the Secret; undefined if there is none. */
  #versionIn(raw: unknown): string | undefined {
    const facts = this.#factsIn(raw);
    const version = stringAt(facts, "seq") ?? "";
    const isKnown = stringAt(facts, "issuer") === this.#issuer;
    return isKnown && this.#deps.published.isVersion(version) ? version : undefined;
  }

  #factsIn(raw: unknown): unknown {
    const encoded = stringAt(recordAt(raw, "data"), this.#dataKeys.facts);
    return encoded === undefined ? undefined : strictJson(Buffer.from(encoded, "base64"));
  }

  async #textIn(data: unknown): Promise<string | undefined> {
    const { plain, zipped } = this.#dataKeys;
    const [text, gzipped] = [stringAt(data, plain), stringAt(data, zipped)];
    if (text !== undefined) return Buffer.from(text, "base64").toString("latin1");
    if (gzipped === undefined) return undefined;
    const { mostBytes } = this.#deps.published;
    return (await decompressed(Buffer.from(gzipped, "base64"), mostBytes))?.toString("latin1");
  }
}

function hasData(raw: unknown, data: ListData): boolean {
  const stored = recordAt(raw, "data");
  return Object.entries(data).every(([key, value]) => (stringAt(stored, key) ?? null) === value);
}

function compressed(text: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gzip(text, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
  });
}

/** Undefined for bytes that are not gzip, or are more than a list may have. */
function decompressed(bytes: Buffer, mostBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    gunzip(bytes, { maxOutputLength: mostBytes }, (error, text) =>
      resolve(error === null ? text : undefined),
    );
  });
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
