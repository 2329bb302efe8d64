import { recordAt, stringMapAt } from "../../src/api/parse.ts";
import {
  parseRevocationSeq,
  type RevocationSeq,
} from "../../src/domain/endpoint-token/revocation-seq.ts";
import { IssuerKeys } from "../../src/published/issuer-keys.ts";
import { PersistedState } from "../../src/published/persisted-state.ts";
import { FollowedList } from "../../src/published/followed-list.ts";
import { PersistedList } from "../../src/published/persisted-list.ts";
import type { Issued, PublishedList } from "../../src/published/published-list.ts";
import { RevokedTokens, revokedTokensList } from "../../src/published/revoked-tokens.ts";
import type { Client } from "../../src/kube/client/client.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import {
  type FetchedDocument,
  type FetchOptions,
  HttpsDocumentError,
} from "../../src/kube/client/https-document.ts";
import {
  type RevokedListOptions,
  type RevokedToken,
  revokedToken,
  signRevokedList,
} from "../../src/tokens/revoked-list.ts";
import { type ObservedSigningKeys, publicJwks } from "../../src/tokens/signing-keys.ts";
import { eventually } from "./eventually.ts";
import { recordingLog } from "./recording-log.ts";
import type { TestClock } from "./test-clock.ts";

/** The issuer of all lists, unless a test says otherwise. */
export const listIssuer = "https://latchkey.example";

/** Where the list is. */
export const listUrl = `${listIssuer}/openid/v1/revoked`;

const hourMs = 3_600_000;

/** The seq of this text. */
export function seqOf(text: string): RevocationSeq {
  const seq = parseRevocationSeq(text);
  if (seq === undefined) throw new TypeError(`${text} is not a seq`);
  return seq;
}

/** Tokens that expire in an hour. */
export function revokedUntil(now: number, jtis: readonly string[]): readonly RevokedToken[] {
  return jtis.map((jti) => revokedToken(jti, now + hourMs));
}

/** An issuer whose keys and list a test sets; it answers polls as the real one does. */
export class FakeIssuer {
  readonly clock: TestClock;
  /** The parameter `after` of each poll. */
  readonly polls: (string | undefined)[] = [];
  keys: ObservedSigningKeys;
  /** Instead of a list: an error, or the bytes of an answer. */
  answer: HttpsDocumentError | Uint8Array | undefined;
  #published: { readonly seq: string; readonly text: string } | undefined;
  #waiting = new Set<() => void>();
  /** Polls that have no answer yet; never more than one of an endpoint. */
  open = 0;

  constructor(clock: TestClock, keys: ObservedSigningKeys) {
    this.clock = clock;
    this.keys = keys;
  }

  /** Publishes a list with these tokens. */
  async publish(
    seq: string,
    jtis: readonly string[] = [],
    changes: Partial<RevokedListOptions> = {},
  ): Promise<string> {
    const now = this.clock.now();
    const revoked = revokedUntil(now, jtis);
    const terms = { issuer: listIssuer, now, seq: seqOf(seq), revoked, ...changes };
    const text = await signRevokedList(terms, this.keys);
    this.publishText(seq, text);
    return text;
  }

  /** Publishes any text as the list with this seq. */
  publishText(seq: string, text: string): void {
    this.#published = { seq, text };
    this.wake();
  }

  /** Answers the polls that wait. */
  wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Answers a poll: at once with the list, or with 304 after 50 s if the client has it. */
  async poll({ query, signal }: FetchOptions = {}): Promise<FetchedDocument> {
    this.polls.push(query?.["after"]);
    this.open += 1;
    try {
      const hasList = query !== undefined && query["after"] === this.#published?.seq;
      if (hasList && this.answer === undefined) await this.#next(signal);
    } finally {
      this.open -= 1;
    }
    if (signal?.aborted === true) throw new HttpsDocumentError("AbortError");
    if (this.answer instanceof HttpsDocumentError) throw this.answer;
    if (this.answer !== undefined) return { bytes: this.answer, etag: undefined };
    if (this.#published === undefined) throw new HttpsDocumentError("status 503");
    const { seq, text } = this.#published;
    const isKnown = query?.["after"] === seq;
    return { bytes: isKnown ? undefined : Buffer.from(text), etag: undefined };
  }

  #next(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      this.clock.wakeAfter(50_000, resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}

/** The Secret `latchkey-direct-endpoint-keys`, with the API server's checks of a merge patch. */
export class FakeStateSecret {
  data: Readonly<Record<string, string>> = {};
  writes = 0;
  /** Thrown by each request. */
  error: KubeError | undefined;
  /** Called before each write. */
  beforeWrite: () => void = () => {};
  #version = 1;

  readonly client: Pick<Client, "get" | "patch"> = {
    get: async () => {
      if (this.error !== undefined) throw this.error;
      const name = "latchkey-direct-endpoint-keys";
      const creationTimestamp = "2026-01-01T00:00:00Z";
      const metadata = { namespace: "latchkey-system", name, uid: "u", creationTimestamp };
      return { metadata: { ...metadata, resourceVersion: `${this.#version}` }, data: this.data };
    },
    patch: async (_resource, _ref, { body }) => {
      const beforeWrite = this.beforeWrite;
      this.beforeWrite = () => {};
      beforeWrite();
      if (this.error !== undefined) throw this.error;
      if (body.metadata.resourceVersion !== `${this.#version}`)
        throw new KubeError("changed", { code: "Conflict", status: 409 });
      this.writes += 1;
      this.set(recordAt(body, "data"));
    },
  };

  /** Changes data as another writer. */
  set(changes: Readonly<Record<string, unknown>>): void {
    this.#version += 1;
    const merged = Object.entries({ ...this.data, ...changes });
    this.data = stringMapAt(
      { data: Object.fromEntries(merged.filter(([, value]) => value !== null)) },
      "data",
    );
  }
}

/** What a test may set of an endpoint. */
export interface FollowingOptions {
  readonly maximumAge?: number;
  readonly issuer?: string;
}

/** The revoked tokens as a replica of a direct endpoint follows them. */
export function followRevoked(
  issuer: FakeIssuer,
  secret: FakeStateSecret,
  options: FollowingOptions = {},
) {
  const replica = followPublished(revokedTokensList, { issuer, secret, url: listUrl }, options);
  const { followed, until } = replica;
  const tokens = new RevokedTokens(followed);
  return {
    ...replica,
    revoked: {
      has: (jti: string) => tokens.has(jti),
      isKnown: () => tokens.isKnown(),
      problems: () => followed.problems(),
      warnings: () => followed.warnings(),
      confirmedAt: () => followed.confirmedAt(),
    },
    /** Resolves when a list with this seq is kept. */
    kept: (seq: string) => until(() => persistedSeqIn(secret) === seq, `list ${seq} in the Secret`),
  };
}

/** Where a list is, and where it is persisted. */
interface PublishedAt {
  readonly issuer: FakeIssuer;
  readonly secret: FakeStateSecret;
  readonly url: string;
}

/** A list as a replica of a direct endpoint follows it. */
export function followPublished<T extends Issued>(
  published: PublishedList<T>,
  { issuer, secret, url }: PublishedAt,
  { maximumAge, issuer: name = listIssuer }: FollowingOptions = {},
) {
  const { clock } = issuer;
  const [log, stop] = [recordingLog(), new AbortController()];
  const state = { changes: 0, keyFetches: 0 };
  const refused: string[] = [];
  const persistedState = new PersistedState(
    { client: secret.client, log },
    { namespace: "latchkey-system", name: "latchkey-direct-endpoint-keys" },
  );
  const keys = new IssuerKeys(
    {
      clock,
      log,
      state: persistedState,
      onKeys: () => {},
      document: {
        async fetch() {
          state.keyFetches += 1;
          const bytes = Buffer.from(JSON.stringify(publicJwks(issuer.keys)));
          return { bytes, etag: undefined };
        },
      },
    },
    `${listIssuer}/openid/v1/jwks`,
  );
  const persisted = new PersistedList({ published, state: persistedState, clock }, name);
  const followed = new FollowedList(
    {
      published,
      clock,
      log,
      keys,
      persisted,
      random: () => 1,
      document: { fetch: (options) => issuer.poll(options) },
      onChange: () => void (state.changes += 1),
      onRefused: (reason) => void refused.push(reason),
    },
    { issuer: name, url, maximumAge },
  );
  const running = Promise.all([keys, followed, persisted].map((part) => part.run(stop.signal)));
  const until = (look: () => boolean | Promise<boolean>, what: string): Promise<boolean> =>
    eventually(look, { every: 2, what });
  return {
    clock,
    log,
    state,
    refused,
    followed,
    secret,
    issuer,
    until,
    stop: async (): Promise<void> => {
      stop.abort();
      await running;
    },
  };
}

/** The seq of the list in the Secret. */
export function persistedSeqIn({ data }: FakeStateSecret): string | undefined {
  const facts = Buffer.from(data["revoked.json"] ?? "", "base64").toString();
  return /"seq":"([^"]*)"/.exec(facts)?.[1];
}
