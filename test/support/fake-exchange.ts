import { PassThrough } from "node:stream";
import { type Exchange, type ExchangeHead, withLowerNames } from "../../src/runtime/exchange.ts";
import { aliceKey, managementPath } from "./gateway-fixture.ts";

/** A request as a test has it, over HTTP/1.1. */
export interface FakeRequest {
  readonly method?: string;
  /** Below the central cluster. */
  readonly path?: string;
  /** Header names and values in turn, beside host and credential. */
  readonly fields?: readonly string[];
  /** Null for a request without a credential. */
  readonly key?: string | null;
  readonly isUpgrade?: boolean;
}

/** The head of such a request. */
export function headOf({
  method = "GET",
  path = "/api/v1/namespaces/web/pods",
  fields = [],
  key = aliceKey,
  isUpgrade = false,
}: FakeRequest): ExchangeHead {
  const credential = key === null ? [] : ["Authorization", `Bearer ${key}`];
  return {
    method,
    target: managementPath + path,
    rawHeaders: withLowerNames(["host", "gateway", ...credential, ...fields]),
    httpVersion: "1.1",
    isUpgrade,
    peerAddress: "192.0.2.1",
  };
}

/** An exchange without a socket, which records what its client gets. */
export class FakeExchange implements Exchange {
  readonly head: ExchangeHead;
  readonly body = new PassThrough();
  /** The status and the headers of the answer. */
  answer: { readonly status: number; readonly headers: readonly string[] } | undefined;
  text = "";
  isEnded = false;
  isAborted = false;
  isLastRequest = false;
  /** Whether the client takes what it gets. */
  reads = true;
  isCut = false;
  bodiesAccepted = 0;
  /** The users whose credentials were accepted. */
  readonly users: string[] = [];
  readonly #drains: (() => void)[] = [];
  readonly #closes: (() => void)[] = [];
  #isClosed = false;

  constructor(request: FakeRequest = {}) {
    this.head = headOf(request);
  }

  get hasResponded(): boolean {
    return this.answer !== undefined;
  }

  /** The Status object of a refusal. */
  get status(): unknown {
    const status: unknown = JSON.parse(this.text);
    return status;
  }

  isBodyCut(): boolean {
    return this.isCut;
  }

  accepted(user: string): void {
    this.users.push(user);
  }

  acceptBody(): void {
    this.bodiesAccepted += 1;
  }

  closeAfterResponse(): void {
    this.isLastRequest = true;
  }

  respond(status: number, headers: readonly string[]): void {
    if (this.answer !== undefined) throw new Error("the head was sent twice");
    this.answer = { status, headers };
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.isEnded) throw new Error("written after the end");
    this.text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    return this.reads;
  }

  end(): void {
    this.isEnded = true;
    if (this.reads) this.close();
  }

  abort(): void {
    this.isAborted = true;
    this.close();
  }

  onDrain(listener: () => void): void {
    this.#drains.push(listener);
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#closes.push(listener);
  }

  /** The client is ready for more. */
  drain(): void {
    for (const listener of this.#drains) listener();
  }

  /** The exchange is over. */
  close(): void {
    this.#isClosed = true;
    for (const listener of this.#closes.splice(0)) listener();
  }
}
