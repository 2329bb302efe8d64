import { answerPace, bodyPace, streamPace } from "../domain/gateway/body-pace.ts";
import { forwardedHeaders } from "../domain/gateway/forwarded-headers.ts";
import { displaced, isProxied, isStream } from "../domain/gateway/in-flight-limits.ts";
import { type Refusal, statusObject } from "../domain/gateway/refusal.ts";
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
import { type ForwardDeps, OpenForward, redirected, refusalOfFailure } from "./forward-state.ts";
import { OwnBodyReader, readsBody } from "./own-body.ts";
import { ClientPace, pacedBody, bodyTooSlow } from "./request-body.ts";
import { sendRefusal } from "./send-refusal.ts";

/** Forwards an admitted request and its answer, byte for byte. */
export class ForwardedExchange extends OpenForward implements ForwardHandler {
  readonly #exchange: Exchange;
  #forwarding: Forwarding | undefined;
  #isJson = false;
  #isBodyLate = false;
  #ownBody: OwnBodyReader | undefined;
  /** How long the client lets the API server wait with the rest of an answer. */
  readonly #reading: ClientPace;
  /** Whether the client has whole lines of JSON only, so that another may follow. */
  #isAtLineEnd = false;

  constructor(exchange: Exchange, admitted: AdmittedRequest, deps: ForwardDeps) {
    super(admitted, deps);
    this.#exchange = exchange;
    this.#reading = new ClientPace({
      pace: answerPace,
      clock: deps.clock,
      onLate: () => this.abort("timeout"),
    });
    exchange.onDrain(() => {
      this.#reading.stop();
      this.#forwarding?.resume();
    });
    exchange.onClose(() => this.closed());
  }

  protected override answer(refused: Refusal): void {
    sendRefusal(this.#exchange, refused);
  }

  protected override breakOff(): void {
    this.#exchange.abort();
  }

  protected override release(): void {
    this.#reading.stop();
    this.#forwarding?.abort();
    this.#ownBody?.end();
  }

  /** Sends the request. */
  async start(): Promise<void> {
    const body = await this.#requestBody();
    if (body === "refused" || this.isOver) return;
    const { method, framing, target, request, server, sharer } = this.admitted;
    const isPassed = framing.kind === "body" && !Buffer.isBuffer(body);
    const length =
      isPassed && framing.length !== undefined ? ["content-length", String(framing.length)] : [];
    this.#forwarding = server.forwarder.forward(
      {
        method,
        body,
        sharer,
        target: upstreamTarget(target),
        isProxied: isProxied(request),
        headers: [...forwardedHeaders(this.#exchange.head, this.admitted), ...length],
        kind: this.#isStream ? "stream" : "answer",
      },
      this,
    );
  }

  override cut(decision: Decision): void {
    if (!this.#isBetweenLines) return super.cut(decision);
    const object = statusObject(refusalOf(decision, this.admitted.credential));
    this.#exchange.write(`${JSON.stringify({ type: "ERROR", object })}\n`);
    this.end();
  }

  /** Ends a stream of a gateway that stops; only a watch between two lines looks whole. */
  end(): void {
    if (!this.#isBetweenLines) return this.abort("cut");
    this.#exchange.end();
    this.finish("cut");
  }

  /** Makes room for another user: a request of which nothing was sent, or a stream. */
  giveWay(): boolean {
    if (this.#forwarding?.isWaiting ?? true) this.refuse(displaced);
    else if (this.#isStream) this.end();
    else return false;
    return true;
  }

  onHead(status: number, rawHeaders: readonly string[]): void {
    if (this.isOver) return;
    const { request, target } = this.admitted;
    const { prefix } = target;
    const headers = responseHeaders(rawHeaders, { prefix, isProxied: isProxied(request) });
    if (headers === undefined) return this.refuse(redirected);
    this.status = status;
    this.#isAtLineEnd = status === 200 && this.#isJsonWatch(headers);
    this.#exchange.respond(status, headers);
  }

  onData(chunk: Uint8Array): boolean {
    if (this.isOver) return true;
    if (this.#isJson) this.#isAtLineEnd = chunk.at(-1) === newline;
    const isTaken = this.#exchange.write(chunk);
    this.#reading.moved(chunk.length);
    // A client that does not read its answer keeps a connection from others.
    if (!isTaken && !this.#isStream) this.#reading.wait();
    return isTaken;
  }

  /** The exchange is over when the client has the answer. */
  onEnd(): void {
    if (this.isOver) return;
    this.isEnded = true;
    this.#exchange.end();
  }

  onError(failure: ForwardFailure): void {
    this.refuse(this.#isBodyLate ? bodyTooSlow : refusalOfFailure(failure));
  }

  get #isStream(): boolean {
    return isStream(this.admitted.request, this.admitted.target.query);
  }

  get #isBetweenLines(): boolean {
    return this.#isAtLineEnd && !this.isEnded && !this.isOver;
  }

  #isJsonWatch(headers: readonly string[]): boolean {
    const valueOf = (name: string): string => headers[headers.indexOf(name) + 1] ?? "";
    this.#isJson =
      this.admitted.request.verb === "watch" &&
      headers.includes("content-type") &&
      valueOf("content-type").startsWith("application/json") &&
      !headers.includes("content-encoding");
    return this.#isJson;
  }

  /** The body of an own object, or of a patch of one, is read as a whole; all others pass. */
  async #requestBody(): Promise<ForwardedRequest["body"] | "refused"> {
    if (this.admitted.framing.kind === "none") return undefined;
    if (!readsBody(this.admitted))
      return pacedBody(this.#exchange, {
        clock: this.deps.clock,
        pace: this.#isStream ? streamPace : bodyPace,
        onLate: () => void (this.#isBodyLate = true),
      });
    this.#ownBody = new OwnBodyReader(this.admitted, this.deps);
    const body = await this.#ownBody.read(this.#exchange);
    if (body.kind === "body") return body.content;
    this.refuse(body);
    return "refused";
  }
}

const newline = 0x0a;
