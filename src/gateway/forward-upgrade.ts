import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { displaced, isProxied } from "../domain/gateway/in-flight-limits.ts";
import { type Refusal, refusal } from "../domain/gateway/refusal.ts";
import { upgradeProtocol } from "../domain/gateway/request-head.ts";
import { upstreamTarget } from "../domain/gateway/request-target.ts";
import { responseHeaders } from "../domain/gateway/response-headers.ts";
import type { ForwardFailure } from "../kube/forward/forwarder.ts";
import { requestUpgrade, type UpgradeHandler } from "../kube/forward/request-upgrade.ts";
import type { UpgradeExchange } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type Decision, refusalOf } from "./credential.ts";
import {
  type ForwardDeps,
  type ForwardResult,
  headersFor,
  refusalOfFailure,
} from "./forwarding.ts";
import { closeAnswered, headText, sendPlainAnswer, sendUpgradeRefusal } from "./upgrade-answer.ts";

/** Milliseconds to the head of an answer; kube-apiserver gives up after 60 s. */
export const headTimeoutMs = 75_000;

/** The part of an admitted request that an upgrade needs. */
export type UpgradedRequest = Pick<
  AdmittedRequest,
  "method" | "target" | "request" | "user" | "subprotocols" | "credential"
>;

/** Forwards an upgrade: HTTP until the API server changes the protocol, and bytes from then on. */
export class ForwardedUpgrade implements UpgradeHandler {
  readonly #exchange: UpgradeExchange;
  readonly #admitted: UpgradedRequest;
  readonly #deps: ForwardDeps;
  #cancel: (() => void) | undefined;
  #upstreamSocket: Duplex | undefined;
  #status = 0;
  #isOver = false;
  #mayRetry = true;
  /** Whether the client got everything, so that its connection ends in order. */
  #isEnded = false;

  constructor(exchange: UpgradeExchange, admitted: UpgradedRequest, deps: ForwardDeps) {
    [this.#exchange, this.#admitted, this.#deps] = [exchange, admitted, deps];
    exchange.socket.once("close", () => this.#left());
    exchange.socket.on("error", () => this.#finish("client"));
    if (exchange.socket.destroyed) this.#finish("client");
  }

  /** Sends the request. */
  async start(): Promise<void> {
    const { upstream } = this.#deps;
    try {
      const authorization = await upstream.credentials.authorization();
      if (!this.#isOver) this.#send(authorization);
    } catch {
      this.#refuse(refusal(502, "upstream", "the gateway has no credential for the API server"));
    }
  }

  /** Ends both connections because key or scope allow it no more. */
  cut(decision: Decision): void {
    if (this.#isOver) return;
    if (this.#status === 0)
      return this.#refuse(refusalOf(decision, this.#admitted.credential), "cut");
    this.end();
  }

  /** Ends both connections of a gateway that stops. */
  end(): void {
    this.#isEnded = false;
    this.#finish("cut");
  }

  /** Makes room for another user. */
  giveWay(): boolean {
    if (this.#cancel === undefined) this.#refuse(displaced);
    else this.end();
    return true;
  }

  onUpgrade(answer: IncomingMessage, socket: Duplex, received: Uint8Array): void {
    if (this.#isOver) return void socket.destroy();
    const client = this.#exchange.socket;
    this.#upstreamSocket = socket;
    this.#status = 101;
    // The protocol of the connection is agreed upon again, hop by hop.
    const agreed = ["connection", "Upgrade", "upgrade", answer.headers.upgrade ?? ""];
    client.write(headText(101, [...agreed, ...(this.#headersOf(answer) ?? [])]));
    if (received.length > 0) client.write(received);
    if (this.#exchange.received.length > 0) socket.write(this.#exchange.received);
    // What the API server sent before an error is the client's; the protocol says where it ends.
    socket.on("error", () => this.#end());
    socket.once("close", () => this.#end());
    client.pipe(socket);
    socket.pipe(client);
  }

  onAnswer(answer: IncomingMessage): void {
    if (this.#isOver) return void answer.destroy();
    const headers = this.#headersOf(answer);
    const { statusCode = 502 } = answer;
    if (statusCode === 401) {
      this.#deps.upstream.credentials.forget();
      // Nothing tells the 401 of a backend from that of kube-apiserver, and it is sent only once.
      if (!isProxied(this.#admitted.request)) return this.#upstreamUnauthorized(answer);
    }
    if (headers === undefined) {
      answer.destroy();
      return this.#refuse(refusal(502, "upstream", "the API server redirected to another server"));
    }
    this.#status = statusCode;
    answer.on("error", () => this.#finish("upstream"));
    // Only who reads learns that the client has left; what it says is for nobody.
    this.#exchange.socket.once("end", () => this.#left()).resume();
    sendPlainAnswer(this.#exchange, answer, { headers, onEnd: () => this.#end() });
  }

  /** A 401 of kube-apiserver is about the gateway's own credential, and never the client's. */
  #upstreamUnauthorized(answer: IncomingMessage): void {
    answer.destroy();
    const isRepeatable = this.#mayRetry;
    this.#mayRetry = false;
    if (isRepeatable) return void this.start();
    this.#refuse(
      refusal(502, "upstream", "the API server rejected the gateway's credential; retry"),
    );
  }

  onError(failure: ForwardFailure): void {
    if (this.#isOver) return;
    this.#refuse(refusalOfFailure(failure));
  }

  #send(authorization: string | undefined): void {
    const { upstream, clock } = this.#deps;
    const { head } = this.#exchange;
    const { method, target } = this.#admitted;
    const headers = headersFor(this.#exchange, this.#admitted, { upstream, authorization });
    const protocol = upgradeProtocol(head.rawHeaders) ?? "";
    this.#cancel = requestUpgrade(
      {
        method,
        target: upstreamTarget(target),
        headers: [...headers, "connection", "Upgrade", "upgrade", protocol],
      },
      this,
      { credentials: upstream.credentials, headTimeoutMs, clock },
    );
  }

  #headersOf({ rawHeaders }: IncomingMessage): readonly string[] | undefined {
    const { target, request } = this.#admitted;
    return responseHeaders(rawHeaders, { prefix: target.prefix, isProxied: isProxied(request) });
  }

  #refuse(refused: Refusal, cause: ForwardResult["cause"] = "upstream"): void {
    this.#status = refused.status;
    if (this.#isOver) return;
    sendUpgradeRefusal(this.#exchange, refused, this.#deps.clock);
    this.#isEnded = true;
    this.#finish(cause);
  }

  #left(): void {
    this.#finish(this.#isEnded ? "answered" : "client");
  }

  /** The upgrade is over when the client's connection is. */
  #end(): void {
    if (this.#isOver || this.#isEnded) return;
    this.#isEnded = true;
    closeAnswered(this.#exchange.socket, this.#deps.clock);
  }

  #finish(cause: ForwardResult["cause"]): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancel?.();
    this.#upstreamSocket?.destroy();
    // An answer or a stream that ends in the middle must not look whole.
    if (!this.#isEnded) this.#exchange.socket.destroy();
    this.#deps.onEnd({ status: this.#status, cause });
  }
}
