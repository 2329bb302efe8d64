import { displaced } from "../domain/gateway/in-flight-limits.ts";
import { forwardedHeaders } from "../domain/gateway/forwarded-headers.ts";
import { fieldsNamed, valuesOfField } from "../domain/gateway/raw-headers.ts";
import { gatewayStops, type Refusal, refusal } from "../domain/gateway/refusal.ts";
import { responseHeaders } from "../domain/gateway/response-headers.ts";
import type { ForwardedRequest, Forwarding } from "../kube/forward/forwarder.ts";
import { ByteCollector } from "../runtime/byte-collector.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type ForwardDeps, OpenForward, refusalOfFailure, requestIsOver } from "./forward-state.ts";
import { OwnBodyReader } from "./own-body.ts";
import { sendRefusal } from "./send-refusal.ts";

/** A whole answer of the API server, or of the gateway. */
export interface WholeAnswer {
  readonly kind: "answer";
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A request to the API server in the name of the client. */
interface WholeRequest extends Pick<ForwardedRequest, "method" | "target"> {
  readonly user?: AdmittedRequest["user"];
  readonly accept?: string;
  readonly body?: Buffer;
  readonly contentType?: string;
}

/** Maximum size of an answer; an object with its token has some 10 KiB. */
const mostAnswerBytes = 4 * 1024 * 1024;
/** Maximum time of a whole answer, in milliseconds. */
const longestAnswerMs = 75_000;

const answerTooLarge = refusal(
  502,
  "upstream",
  `the answer of the API server is larger than ${mostAnswerBytes} bytes`,
);

/**
 * An admitted request that the gateway answers itself, out of whole answers of the API server, and
 * whose body it reads as a whole.
 */
export abstract class WholeExchange extends OpenForward {
  protected readonly exchange: Exchange;
  /** Aborts when the request is over, whatever is still waited for. */
  protected readonly left = new AbortController();
  protected readonly body: OwnBodyReader;
  /** Whether the API server may have done what the client asks. */
  protected mayBeDone = false;
  #forwarding: Forwarding | undefined;

  constructor(exchange: Exchange, admitted: AdmittedRequest, deps: ForwardDeps) {
    super(admitted, deps);
    this.exchange = exchange;
    this.body = new OwnBodyReader(admitted, deps);
    exchange.onClose(() => this.closed());
  }

  protected override answer(refused: Refusal): void {
    sendRefusal(this.exchange, refused);
  }

  protected override breakOff(): void {
    this.exchange.abort();
  }

  protected override release(): void {
    this.left.abort(requestIsOver);
    this.#forwarding?.abort();
    this.body.end();
  }

  /** The answer to the request. */
  protected abstract reply(): Promise<WholeAnswer | Refusal>;

  /** Reads the request and answers it. */
  async start(): Promise<void> {
    try {
      const reply = await this.reply();
      if (reply.kind === "refusal") this.refuse(reply);
      else this.#respond(reply);
    } catch (error) {
      const refused = error instanceof NoAnswer ? error.refused : refusalOfFailure("unreachable");
      this.refuse(refused);
    }
  }

  /** Ends the wait of a gateway that stops. */
  end(): void {
    this.refuse(gatewayStops, "cut");
  }

  /** Makes room for another user, unless something may be done. */
  giveWay(): boolean {
    if (this.mayBeDone || !(this.#forwarding?.isWaiting ?? true)) return false;
    this.refuse(displaced);
    return true;
  }

  /** Sends a request, and reads its answer whole, within its bounds. */
  protected collect({
    method,
    target,
    user = this.admitted.user,
    accept = "application/json",
    body,
    contentType,
  }: WholeRequest): Promise<WholeAnswer> {
    const { sharer } = this.admitted;
    const sent = forwardedHeaders(this.exchange.head, { ...this.admitted, user });
    const own = ["accept", "accept-encoding", "content-type"];
    const headers = fieldsNamed(sent, (name) => !own.includes(name));
    const type = contentType ?? valuesOfField(sent, "content-type")[0] ?? "application/json";
    return this.#exchangeWhole({
      method,
      target,
      body,
      sharer,
      kind: "answer",
      isProxied: false,
      headers: [
        ...headers,
        ...["accept", accept],
        ...(body === undefined ? [] : ["content-type", type]),
      ],
    });
  }

  #exchangeWhole(request: ForwardedRequest): Promise<WholeAnswer> {
    const { clock } = this.deps;
    const { promise, resolve, reject } = Promise.withResolvers<WholeAnswer>();
    if (this.isOver) return Promise.reject(new Error("over"));
    let [status, rawHeaders]: [number, readonly string[]] = [0, []];
    const body = new ByteCollector(mostAnswerBytes);
    const giveUp = (refused: Refusal): void => {
      reject(new NoAnswer(refused));
      forwarding.abort();
    };
    const cancel = clock.wakeAfter(longestAnswerMs, () => giveUp(refusalOfFailure("timeout")));
    const forwarding = this.admitted.server.forwarder.forward(request, {
      onHead: (code, raw) => void ([status, rawHeaders] = [code, raw]),
      onData(chunk) {
        if (!body.add(chunk)) giveUp(answerTooLarge);
        return true;
      },
      onEnd: () => resolve({ kind: "answer", status, rawHeaders, body: body.take() }),
      onError: (failure) => reject(new NoAnswer(refusalOfFailure(failure))),
    });
    this.#forwarding = forwarding;
    return promise.finally(cancel);
  }

  #respond({ status, rawHeaders, body }: WholeAnswer): void {
    if (this.isOver) return;
    const headers = responseHeaders(rawHeaders, { ...this.admitted.target, isProxied: false });
    const others = fieldsNamed(headers ?? [], (name) => name !== "content-length");
    this.status = status;
    this.exchange.respond(status, [...others, "content-length", String(body.length)]);
    this.isEnded = true;
    this.exchange.write(body);
    this.exchange.end();
  }
}

/** A request that got no whole answer. */
class NoAnswer extends Error {
  readonly refused: Refusal;

  constructor(refused: Refusal) {
    super(refused.message);
    this.refused = refused;
  }
}
