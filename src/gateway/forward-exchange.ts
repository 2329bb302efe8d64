import { type Refusal, refusal, statusObject } from "../domain/gateway/refusal.ts";
import { responseHeaders } from "../domain/gateway/response-headers.ts";
import { upstreamTarget } from "../domain/gateway/request-target.ts";
import { isProxied, isStream } from "../domain/gateway/transfer.ts";
import type {
  ForwardedRequest,
  ForwardFailure,
  ForwardHandler,
  Forwarding,
} from "../kube/forwarder.ts";
import type { Cancel } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type Decision, refusalOf } from "./credential.ts";
import {
  type ForwardDeps,
  type ForwardResult,
  headersFor,
  refusalOfFailure,
} from "./forward-terms.ts";
import { completesBody, type OwnBody, readOwnBody } from "./own-body.ts";
import { bodyOf, bodyTooSlow } from "./request-body.ts";
import { sendRefusal } from "./respond.ts";

/** Forwards an admitted request and its answer, byte for byte. */
export class ForwardedExchange implements ForwardHandler {
  readonly #exchange: Exchange;
  readonly #admitted: AdmittedRequest;
  readonly #deps: ForwardDeps;
  #forwarding: Forwarding | undefined;
  #status = 0;
  #isOver = false;
  #mayRetry = true;
  #isJson = false;
  #isBodyLate = false;
  /** Whether the answer was sent as a whole. */
  #isEnded = false;
  #ownBody: OwnBody | undefined;
  #cancelReading: Cancel = () => {};
  /** Whether the client has whole lines of JSON only, so that another may follow. */
  #isAtLineEnd = false;

  constructor(exchange: Exchange, admitted: AdmittedRequest, deps: ForwardDeps) {
    [this.#exchange, this.#admitted, this.#deps] = [exchange, admitted, deps];
    exchange.onDrain(() => {
      this.#cancelReading();
      this.#forwarding?.resume();
    });
    exchange.onClose(() => this.#finish(this.#isEnded ? "answered" : "client"));
  }

  /** Sends the request; a failure to read the gateway's own credential is an answer, too. */
  async start(): Promise<void> {
    const { upstream } = this.#deps;
    const body = await this.#requestBody();
    if (body === "refused") return;
    let authorization: string | undefined;
    try {
      authorization = await upstream.credentials.authorization();
    } catch {
      return this.#fail("the gateway has no credential for the API server");
    }
    if (this.#isOver) return;
    this.#send(authorization, body);
  }

  /** Ends the request because its key or scope allows it no more. */
  cut(decision: Decision): void {
    if (this.#isOver) return;
    const refused = refusalOf(decision, this.#admitted.credential);
    if (!this.#exchange.hasResponded) sendRefusal(this.#exchange, refused);
    else if (this.#isAtLineEnd && !this.#isEnded) {
      this.#exchange.write(`${JSON.stringify({ type: "ERROR", object: statusObject(refused) })}\n`);
      this.#exchange.end();
    } else this.#exchange.abort();
    this.#finish("cut");
  }

  /** Ends a stream of a gateway that stops; only a watch between two lines looks whole. */
  end(): void {
    if (this.#isOver) return;
    if (this.#isAtLineEnd && !this.#isEnded) this.#exchange.end();
    else this.#exchange.abort();
    this.#finish("cut");
  }

  onHead(status: number, rawHeaders: readonly string[]): void {
    if (this.#isOver) return;
    const { target } = this.#admitted;
    const isOfBackend = isProxied(this.#admitted.request);
    if (status === 401) {
      this.#deps.upstream.credentials.forget();
      // Nothing tells the 401 of a backend from that of kube-apiserver, and it is sent only once.
      if (!isOfBackend) return this.#upstreamUnauthorized();
    }
    const headers = responseHeaders(rawHeaders, { prefix: target.prefix, isProxied: isOfBackend });
    if (headers === undefined) return this.#fail("the API server redirected to another server");
    this.#status = status;
    this.#isAtLineEnd = status === 200 && this.#isJsonWatch(headers);
    this.#exchange.respond(status, headers);
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#isOver) return true;
    if (this.#isJson) this.#isAtLineEnd = chunk.at(-1) === newline;
    const isTaken = this.#exchange.write(chunk);
    if (!isTaken && !this.#isStream) this.#limitReading();
    return isTaken;
  }

  /** The exchange is over when the client has the answer. */
  onEnd(): void {
    if (this.#isOver) return;
    this.#isEnded = true;
    this.#exchange.end();
  }

  onError(failure: ForwardFailure): void {
    if (this.#isOver || failure === "aborted") return;
    if (this.#exchange.hasResponded) {
      this.#exchange.abort();
      return this.#finish("upstream");
    }
    if (this.#isBodyLate) return this.#refuse(bodyTooSlow);
    this.#refuse(refusalOfFailure(failure));
  }

  get #isStream(): boolean {
    return isStream(this.#admitted.request, this.#admitted.target.query);
  }

  /** A client that does not read its answer keeps a connection from others. */
  #limitReading(): void {
    this.#cancelReading();
    this.#cancelReading = this.#deps.clock.wakeAfter(longestPauseMs, () => {
      this.#exchange.abort();
      this.#finish("timeout");
    });
  }

  #isJsonWatch(headers: readonly string[]): boolean {
    const valueOf = (name: string): string => headers[headers.indexOf(name) + 1] ?? "";
    this.#isJson =
      this.#admitted.request.verb === "watch" &&
      headers.includes("content-type") &&
      valueOf("content-type").startsWith("application/json") &&
      !headers.includes("content-encoding");
    return this.#isJson;
  }

  /** An own object is read as a whole and completed; all other bodies pass. */
  async #requestBody(): Promise<ForwardedRequest["body"] | "refused"> {
    const deps = { ...this.#deps, onLate: () => void (this.#isBodyLate = true) };
    if (this.#admitted.framing.kind === "none") return undefined;
    if (!completesBody(this.#admitted, this.#exchange)) return bodyOf(this.#exchange, deps);
    const body = await readOwnBody(this.#exchange, this.#admitted, deps).catch(() =>
      this.#isBodyLate ? bodyTooSlow : refusal(400, "malformed", "the body did not arrive"),
    );
    if (body.kind === "refusal") {
      this.#refuse(body);
      return "refused";
    }
    this.#ownBody = body;
    if (this.#isOver) body.release();
    return body.content;
  }

  #send(authorization: string | undefined, body: ForwardedRequest["body"]): void {
    const { upstream } = this.#deps;
    const { method, framing, target } = this.#admitted;
    const headers = headersFor(this.#exchange, this.#admitted, { upstream, authorization });
    const isPassed = framing.kind === "body" && !Buffer.isBuffer(body);
    const length =
      isPassed && framing.length !== undefined ? ["content-length", String(framing.length)] : [];
    this.#forwarding = upstream.forwarder.forward(
      {
        method,
        target: upstreamTarget(target),
        headers: [...headers, ...length],
        body,
        kind: this.#isStream ? "stream" : "answer",
      },
      this,
    );
  }

  /** A 401 of kube-apiserver is about the gateway's own credential, and never the client's. */
  #upstreamUnauthorized(): void {
    const isRepeatable = this.#mayRetry && this.#admitted.framing.kind === "none";
    this.#mayRetry = false;
    this.#forwarding?.abort();
    this.#forwarding = undefined;
    if (isRepeatable) void this.start();
    else this.#fail("the API server rejected the gateway's credential; retry");
  }

  #fail(message: string): void {
    this.#refuse(refusal(502, "upstream", message));
  }

  #refuse(refused: Refusal): void {
    if (this.#isOver) return;
    this.#status = refused.status;
    sendRefusal(this.#exchange, refused);
    this.#finish(refused.status === 502 ? "upstream" : "timeout");
  }

  #finish(cause: ForwardResult["cause"]): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelReading();
    this.#forwarding?.abort();
    this.#ownBody?.release();
    this.#deps.onEnd({ status: this.#status, cause });
  }
}

const newline = 0x0a;
/** Longest time that a client may read nothing of an answer that is no stream. */
const longestPauseMs = 60_000;
