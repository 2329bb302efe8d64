import { answerPace, bodyPace, streamPace } from "../domain/gateway/body-pace.ts";
import { displaced, isProxied, isStream } from "../domain/gateway/in-flight-limits.ts";
import { type Refusal, refusal, statusObject } from "../domain/gateway/refusal.ts";
import { upstreamTarget } from "../domain/gateway/request-target.ts";
import { responseHeaders } from "../domain/gateway/response-headers.ts";
import type {
  ForwardedRequest,
  ForwardFailure,
  ForwardHandler,
  Forwarding,
} from "../kube/forward/forwarder.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type Decision, refusalOf } from "./credential.ts";
import {
  type ForwardDeps,
  type ForwardResult,
  headersFor,
  refusalOfFailure,
  sharerOf,
} from "./forwarding.ts";
import { completesBody, OwnBodyReader } from "./own-body.ts";
import { ClientPace, pacedBody, bodyTooSlow } from "./request-body.ts";
import { sendRefusal } from "./send-refusal.ts";

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
  #ownBody: OwnBodyReader | undefined;
  /** How long the client lets the API server wait with the rest of an answer. */
  readonly #reading: ClientPace;
  /** Whether the client has whole lines of JSON only, so that another may follow. */
  #isAtLineEnd = false;

  constructor(exchange: Exchange, admitted: AdmittedRequest, deps: ForwardDeps) {
    [this.#exchange, this.#admitted, this.#deps] = [exchange, admitted, deps];
    this.#reading = new ClientPace(answerPace, {
      clock: deps.clock,
      onLate: () => {
        exchange.abort();
        this.#finish("timeout");
      },
    });
    exchange.onDrain(() => {
      this.#reading.stop();
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
    if (!this.#exchange.hasResponded) return this.#refuse(refused, "cut");
    if (this.#isAtLineEnd && !this.#isEnded) {
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

  /** Makes room for another user: a request of which nothing was sent, or a stream. */
  giveWay(): boolean {
    if (this.#forwarding?.isWaiting ?? true) this.#refuse(displaced);
    else if (this.#isStream) this.end();
    else return false;
    return true;
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
    this.#reading.moved(chunk.length);
    // A client that does not read its answer keeps a connection from others.
    if (!isTaken && !this.#isStream) this.#reading.wait();
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
    if (this.#admitted.framing.kind === "none") return undefined;
    if (!completesBody(this.#admitted, this.#exchange))
      return pacedBody(this.#exchange, {
        clock: this.#deps.clock,
        pace: this.#isStream ? streamPace : bodyPace,
        onLate: () => void (this.#isBodyLate = true),
      });
    this.#ownBody = new OwnBodyReader({ ...this.#deps, sharer: sharerOf(this.#admitted) });
    const body = await this.#ownBody.read(this.#exchange, this.#admitted);
    if (body.kind === "body") return body.content;
    this.#refuse(body);
    return "refused";
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
        sharer: sharerOf(this.#admitted),
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

  #refuse(
    refused: Refusal,
    cause: ForwardResult["cause"] = refused.status === 502 ? "upstream" : "timeout",
  ): void {
    if (this.#isOver) return;
    this.#status = refused.status;
    sendRefusal(this.#exchange, refused);
    this.#finish(cause);
  }

  #finish(cause: ForwardResult["cause"]): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reading.stop();
    this.#forwarding?.abort();
    this.#ownBody?.end();
    this.#deps.onEnd({ status: this.#status, cause });
  }
}

const newline = 0x0a;
