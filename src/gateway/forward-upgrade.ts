import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { forwardedHeaders } from "../domain/gateway/forwarded-headers.ts";
import { displaced, isProxied } from "../domain/gateway/in-flight-limits.ts";
import type { Refusal } from "../domain/gateway/refusal.ts";
import { upgradeProtocol } from "../domain/gateway/request-head.ts";
import { upstreamTarget } from "../domain/gateway/request-target.ts";
import { responseHeaders } from "../domain/gateway/response-headers.ts";
import type { ForwardFailure, Sending } from "../kube/forward/forwarder.ts";
import { requestUpgrade, type UpgradeHandler } from "../kube/forward/request-upgrade.ts";
import { type UpgradeExchange, withLowerNames } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type ForwardDeps, OpenForward, redirected, refusalOfFailure } from "./forward-state.ts";
import { sendUpgradeRefusal } from "./send-refusal.ts";
import { closeAnswered, endedMs, headText, sendPlainAnswer } from "./upgrade-answer.ts";

/** Milliseconds to the head of an answer; kube-apiserver gives up after 60 s. */
export const headTimeoutMs = 75_000;

/** Forwards an upgrade: HTTP until the API server changes the protocol, and bytes from then on. */
export class ForwardedUpgrade extends OpenForward implements UpgradeHandler {
  readonly #exchange: UpgradeExchange;
  #sending: Sending | undefined;
  #upstreamSocket: Duplex | undefined;

  constructor(exchange: UpgradeExchange, admitted: AdmittedRequest, deps: ForwardDeps) {
    super(admitted, deps);
    this.#exchange = exchange;
    const { socket } = exchange;
    socket.on("error", () => {});
    socket.once("close", () => this.closed());
    if (socket.destroyed) this.closed();
  }

  protected override answer(refused: Refusal): void {
    sendUpgradeRefusal(this.#exchange, refused, this.deps.clock);
  }

  protected override breakOff(): void {
    this.#exchange.socket.destroy();
  }

  protected override release(): void {
    this.#sending?.abort();
    this.#upstreamSocket?.destroy();
  }

  /** Sends the request. */
  start(): void {
    const { rawHeaders } = this.#exchange.head;
    const { method, target, request, server } = this.admitted;
    const protocol = upgradeProtocol(rawHeaders) ?? "";
    const headers = forwardedHeaders(this.#exchange.head, this.admitted);
    this.#sending = requestUpgrade(
      {
        method,
        target: upstreamTarget(target),
        isProxied: isProxied(request),
        headers: [...headers, "connection", "Upgrade", "upgrade", protocol],
      },
      this,
      { credentials: server.credentials, headTimeoutMs, clock: this.deps.clock },
    );
  }

  /** Ends both connections of a gateway that stops. */
  end(): void {
    this.abort("cut");
  }

  /** Makes room for another user. */
  giveWay(): boolean {
    if (this.#sending?.isWaiting ?? true) this.refuse(displaced);
    else this.end();
    return true;
  }

  onUpgrade(answer: IncomingMessage, socket: Duplex, received: Uint8Array): void {
    if (this.isOver) return void socket.destroy();
    const client = this.#exchange.socket;
    this.#upstreamSocket = socket;
    this.status = 101;
    // The protocol of the connection is agreed upon again, hop by hop.
    const agreed = ["connection", "Upgrade", "upgrade", answer.headers.upgrade ?? ""];
    client.write(headText(101, [...agreed, ...(this.#headersOf(answer) ?? [])]));
    if (received.length > 0) client.write(received);
    if (this.#exchange.received.length > 0) socket.write(this.#exchange.received);
    // What the API server sent before an error is the client's; the protocol says where it ends.
    socket.on("error", () => this.#end(endedMs));
    socket.once("close", () => this.#end(endedMs));
    client.pipe(socket);
    socket.pipe(client);
  }

  onAnswer(answer: IncomingMessage): void {
    if (this.isOver) return void answer.destroy();
    const headers = this.#headersOf(answer);
    if (headers === undefined) {
      answer.destroy();
      return this.refuse(redirected);
    }
    const client = this.#exchange.socket;
    this.status = answer.statusCode ?? 502;
    answer.on("error", () => this.abort("upstream"));
    // Only who reads learns that the client has left; what it says is for nobody.
    client.once("end", () => this.isEnded || client.destroy()).resume();
    sendPlainAnswer(this.#exchange, answer, { headers, onEnd: () => this.#end() });
  }

  onError(failure: ForwardFailure): void {
    this.refuse(refusalOfFailure(failure));
  }

  #headersOf({ rawHeaders }: IncomingMessage): readonly string[] | undefined {
    const { target, request } = this.admitted;
    return responseHeaders(withLowerNames(rawHeaders), {
      prefix: target.prefix,
      isProxied: isProxied(request),
    });
  }

  /** The upgrade is over when the client's connection is. */
  #end(mostMs?: number): void {
    if (this.isOver || this.isEnded) return;
    this.isEnded = true;
    closeAnswered(this.#exchange.socket, this.deps.clock, mostMs);
  }
}
