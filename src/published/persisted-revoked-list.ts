import { gunzip, gzip } from "node:zlib";
import { recordAt, stringAt } from "../api/parse.ts";
import {
  parseRevocationSeq,
  type RevocationSeq,
  revocationSeqText,
  seqOrder,
} from "../domain/endpoint-token/revocation-seq.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { VerificationKeys } from "../tokens/compact-jws.ts";
import { type RevokedList, verifyRevokedList } from "../tokens/revoked-list.ts";
import { publicJwks } from "../tokens/signing-keys.ts";
import { strictJson } from "../tokens/strict-json.ts";
import { parseVerificationKeys } from "../tokens/verification-keys.ts";
import type { PersistedState } from "./persisted-state.ts";

/** Dependencies of a {@link PersistedRevokedList}. */
interface PersistedRevokedListDeps {
  readonly state: PersistedState;
  readonly clock: Clock;
}

/** A list as it was verified. */
interface SignedRevokedList {
  /** The JWT. */
  readonly text: string;
  readonly seq: RevocationSeq;
  /** The keys of the issuer when the list was verified. */
  readonly keys: VerificationKeys;
}

/** A restored list; `list` is undefined if it was too large, or is invalid. */
interface RestoredList {
  /** The newest list that was verified, which no later list may precede. */
  readonly seq: RevocationSeq;
  readonly list: RevokedList | undefined;
}

const dataKeys = { plain: "revoked.jwt", zipped: "revoked.jwt.gz", facts: "revoked.json" } as const;

/** The data of a merge patch of the Secret: base64, or null to remove the key. */
type ListData = Readonly<Record<(typeof dataKeys)[keyof typeof dataKeys], string | null>>;

/** The Secret may have 1 MiB, and each replica writes it. */
const spacingMs = 5_000;
const retryMs = 15_000;
/** Characters of base64: a Secret has at most 1 MiB, and the keys are in the same Secret. */
const mostCharacters = 900_000;
/** As long as a list may be. */
const mostListBytes = 8 * 1024 * 1024;

/**
 * The newest list of an issuer in the persisted state, so that a restart needs no issuer. Several
 * replicas write the same Secret: none replaces a newer list by an older one.
 *
 * The Secret has the JWT, compressed if it is large, and beside it the issuer, the seq and the
 * public keys that it was verified with. These keys are trusted for this list alone: the key that
 * signed it may have left the JWK Set since then. That gives nobody more power: the JWK Set in the
 * same Secret makes any token valid, so that every account that can write the Secret is trusted
 * with all tokens. A list that is too large even when compressed is not persisted, and removes an
 * older one, which would forget what was revoked since then; its seq is persisted, so that no older
 * list is taken after a restart.
 */
export class PersistedRevokedList {
  readonly #deps: PersistedRevokedListDeps;
  readonly #issuer: string;
  /** The list that is not persisted yet. */
  #wanted: SignedRevokedList | undefined;
  #wake = (): void => {};
  /** Size of the list in use if no Secret can have it. */
  #tooLarge: number | undefined;

  constructor(deps: PersistedRevokedListDeps, issuer: string) {
    this.#deps = deps;
    this.#issuer = issuer;
  }

  /** What a restart will lack, in one sentence. */
  warnings(): readonly string[] {
    return this.#tooLarge === undefined
      ? []
      : [
          `the list of revoked tokens (${this.#tooLarge} bytes) is too large for a Secret ` +
            "and is not kept; a restart needs the issuer",
        ];
  }

  /** Reads the list, without the tokens that have expired; undefined if there is none. */
  async restore(): Promise<RestoredList | undefined> {
    const { state, clock } = this.#deps;
    const raw = await state.read();
    const seq = this.#seqIn(raw);
    if (seq === undefined) return undefined;
    const text = await textIn(recordAt(raw, "data"));
    const parsed = parseVerificationKeys(Buffer.from(JSON.stringify(factsIn(raw))));
    if (text === undefined || !parsed.ok) return { seq, list: undefined };
    const against = { keys: parsed.keys, issuer: this.#issuer, now: clock.now() };
    const verified = await verifyRevokedList(text, against);
    const isOfSeq = verified.ok && seqOrder(verified.list.seq, seq) === "same";
    return { seq, list: isOfSeq ? verified.list : undefined };
  }

  /** Lets {@link run} persist the list, instead of one that it has not persisted yet. */
  persist(list: SignedRevokedList): void {
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
  async #write(list: SignedRevokedList): Promise<boolean> {
    const data = await dataOf(list, this.#issuer);
    const hasList = data[dataKeys.plain] !== null || data[dataKeys.zipped] !== null;
    this.#tooLarge = hasList ? undefined : list.text.length;
    return this.#deps.state.update((raw) => {
      const isNewerPersisted = seqOrder(this.#seqIn(raw), list.seq) === "older";
      return isNewerPersisted || hasData(raw, data) ? undefined : data;
    });
  }

  /** The seq of the newest list of this issuer in the Secret; undefined if there is none. */
  #seqIn(raw: unknown): RevocationSeq | undefined {
    const facts = factsIn(raw);
    return stringAt(facts, "issuer") === this.#issuer
      ? parseRevocationSeq(stringAt(facts, "seq") ?? "")
      : undefined;
  }
}

async function dataOf({ text, seq, keys }: SignedRevokedList, issuer: string): Promise<ListData> {
  const jwks = publicJwks({ keys: [...keys.values()] });
  const facts = JSON.stringify({ issuer, seq: revocationSeqText(seq), ...jwks });
  const none = { [dataKeys.plain]: null, [dataKeys.zipped]: null };
  const data = { ...none, [dataKeys.facts]: base64(Buffer.from(facts)) };
  const plain = base64(Buffer.from(text));
  if (plain.length <= mostCharacters) return { ...data, [dataKeys.plain]: plain };
  const zipped = base64(await compressed(text));
  return zipped.length <= mostCharacters ? { ...data, [dataKeys.zipped]: zipped } : data;
}

function hasData(raw: unknown, data: ListData): boolean {
  const stored = recordAt(raw, "data");
  return Object.values(dataKeys).every((key) => (stringAt(stored, key) ?? null) === data[key]);
}

function factsIn(raw: unknown): unknown {
  const encoded = stringAt(recordAt(raw, "data"), dataKeys.facts);
  return encoded === undefined ? undefined : strictJson(Buffer.from(encoded, "base64"));
}

async function textIn(data: unknown): Promise<string | undefined> {
  const [plain, zipped] = [stringAt(data, dataKeys.plain), stringAt(data, dataKeys.zipped)];
  if (plain !== undefined) return Buffer.from(plain, "base64").toString("latin1");
  if (zipped === undefined) return undefined;
  return (await decompressed(Buffer.from(zipped, "base64")))?.toString("latin1");
}

function compressed(text: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gzip(text, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
  });
}

/** Undefined for bytes that are not gzip, or are more than a list may have. */
function decompressed(bytes: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    gunzip(bytes, { maxOutputLength: mostListBytes }, (error, text) =>
      resolve(error === null ? text : undefined),
    );
  });
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
